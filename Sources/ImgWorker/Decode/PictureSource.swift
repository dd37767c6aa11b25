import ImgFetch
import ImgModel
import ImgStore
import ImgSystem

/// The bytes of a picture for the decoder, or the place to read them from.
enum PictureSource: Sendable {
  /// A body that came in.
  case body(BodyContent)
  /// The picture that a URL holds.
  case bytes([UInt8])
  /// The original in the store. It is read when its turn comes, so that pictures that wait take no
  /// memory.
  case original(ContentKey)
  /// A file of this machine, at an absolute path; read when its turn comes, like an original.
  case file(String)
  /// What a client uploaded; read when its turn comes, like an original.
  ///
  /// - isStored: whether its bytes are wanted with the result.
  case upload(MemoryFile, byteCount: Int, isStored: Bool)

  /// The file that the URL names, or the picture that it holds.
  ///
  /// - Parameter byteCount: the most that the picture may have.
  /// - Returns: `nil` for a URL that is of an origin.
  /// - Throws: a ``Failure`` with code `invalid_url` or `too_large`.
  init?(_ url: ImageURL, upTo byteCount: Int) throws(Failure) {
    if let path = try FileURL.path(of: url.text) {
      self = .file(path)
      return
    }
    guard let bytes = try DataURL.contents(of: url) else { return nil }
    guard bytes.count <= byteCount else {
      throw Failure(
        stage: .fetch, code: .tooLarge,
        detail: "the data: URL holds \(bytes.count) bytes; \(byteCount) are the most")
    }
    self = .bytes(bytes)
  }
}
