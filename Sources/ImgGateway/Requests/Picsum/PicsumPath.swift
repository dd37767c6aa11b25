import ImgClient
import ImgHTTP
import ImgModel

/// A path of Picsum below `/id`.
package enum PicsumPath: Hashable, Sendable {
  /// `/id/{id}`, `/id/{id}/{size}`, `/id/{id}/{width}/{height}`, maybe with `.jpg` or `.webp` at the end.
  case picture(PictureQuery)
  /// `/id/{id}/info`; with `?exif` the metadata, too.
  case info(PictureID, hasMetadata: Bool)

  /// - Parameter target: may end with a slash.
  /// - Throws: 400 for a target that cannot be read; 404 for another path and for a text that is no
  ///   ``PictureID``; 422 for an option.
  package init(_ target: RequestTarget) throws(RequestRejection) {
    var segments = target.segments.dropFirst()
    if segments.last?.isEmpty == true { segments.removeLast() }
    let parameters = try target.parameters()
    guard target.segments.first == "id", let text = segments.popFirst(),
      let id = PictureID(String(text)), segments.count <= 2, !segments.contains("")
    else { throw Self.unknown }
    if segments.count == 1, segments.first == "info" {
      try Self.requireNames(["exif"], in: parameters)
      self = .info(id, hasMetadata: parameters["exif"] != nil)
      return
    }
    // `random` tells URLs of the same picture apart, for caches.
    try Self.requireNames(["grayscale", "blur", "random"], in: parameters)
    let (size, format) = try Self.size(segments)
    self = .picture(
      PictureQuery(
        id, size: size, isGrayscale: parameters["grayscale"] != nil,
        blur: try Self.blur(parameters), format: format))
  }

  private static let unknown = RequestRejection.notFound(
    "there is no such picture; /v2/list names those that there are, such as /id/1-0/300/200")

  private static func requireNames(
    _ names: [String], in parameters: QueryParameters
  ) throws(RequestRejection) {
    for parameter in parameters.parameters where !names.contains(parameter.name) {
      throw .unknownOption(parameter.name, among: names)
    }
  }

  /// Reads `300`, or `300` and `200`, with an extension after the last number.
  private static func size(
    _ segments: ArraySlice<Substring>
  ) throws(RequestRejection) -> (PictureQuery.Size?, ImageVariant.Format?) {
    guard let last = segments.last else { return (nil, nil) }
    let parts = last.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    let width = segments.count == 2 ? segments[segments.startIndex] : parts[0]
    let size = PictureQuery.Size(
      width: try side(width, name: "width"), height: try side(parts[0], name: "height"))
    return (size, try parts.count == 2 ? format(parts[1]) : nil)
  }

  private static func side(_ text: Substring, name: String) throws(RequestRejection) -> Int {
    try OptionValue(name: name, text: String(text)).wholeNumber(in: Variant.sideRange)
  }

  private static func format(_ text: Substring) throws(RequestRejection) -> ImageVariant.Format {
    switch text.lowercased() {
    case "jpg": return .jpeg
    case "webp": return .webp
    default: throw OptionValue(name: "extension", text: String(text)).invalid(".jpg or .webp")
    }
  }

  /// Picsum blurs by 5 where the value is no number.
  private static func blur(_ parameters: QueryParameters) throws(RequestRejection) -> Double {
    guard let text = parameters["blur"] else { return 0 }
    let digits = text.utf8.drop { $0 == UInt8(ascii: "-") }
    let isNumber = !digits.isEmpty && digits.allSatisfy(\.isDigit)
    return isNumber ? Double(try OptionValue(name: "blur", text: text).wholeNumber(in: 1...10)) : 5
  }
}
