package import ImgClient
import ImgModel

/// The facts of a picture in a list. In JSON it has the keys of a ``ListEntry``, and `source` and `origin`.
package struct PictureInfo: Hashable, Sendable, Encodable {
  package let entry: ListEntry
  /// The picture that the thumbnail was made from; `nil` if that is not known.
  package let source: LoadedImage.Source?

  init(_ entry: ListEntry, source: LoadedImage.Source?) {
    self.entry = entry
    self.source = source
  }

  /// The scheme, the host and the port of the URL; `nil` for a local picture and for no URL.
  package var origin: String? {
    // A line that is no URL has failed, and its error says so.
    guard let url = try? ImageURL(line: entry.url), !url.isLocal else { return nil }
    return url.origin
  }

  private enum Key: String, CodingKey {
    case source, origin
  }

  private enum SourceKey: String, CodingKey {
    case type, width, height
    case byteCount = "byte_count"
  }

  package func encode(to encoder: any Encoder) throws {
    try entry.encode(to: encoder)
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(origin, forKey: .origin)
    guard let source else {
      try container.encodeNil(forKey: .source)
      return
    }
    var nested = container.nestedContainer(keyedBy: SourceKey.self, forKey: .source)
    try nested.encode(source.type.mediaType, forKey: .type)
    try nested.encode(source.width, forKey: .width)
    try nested.encode(source.height, forKey: .height)
    try nested.encode(source.byteCount, forKey: .byteCount)
  }
}
