import ImgClient
import ImgCrypto
import ImgHTTP
import ImgModel

/// A thumbnail as it is sent, but for what depends on the time and on the conditions of a request.
struct PreparedImage: Sendable {
  let type: ImageType
  /// In pixels.
  let width: Int
  /// That of the picture that it was made from.
  let sourceWidth: Int
  /// Whether that is a drawing (SVG).
  let isDrawing: Bool
  private(set) var origin: LoadedImage.Origin
  /// A strong validator (RFC 9110, section 8.8.3): a hash of the bytes.
  let entityTag: String
  let storedAt: WallTime?
  let expiresAt: WallTime?
  /// ``storedAt`` and ``expiresAt`` as fields have them.
  let lastModified: String?
  let expires: String?
  /// Its bytes, which all answers share.
  let body: HTTPBody

  /// - Returns: `nil` if there is no room for its bytes.
  init?(_ image: LoadedImage, within budget: ByteBudget) {
    guard budget.take(image.bytes.count) else { return nil }
    self.init(image, takenFrom: budget)
  }

  /// - Parameter budget: has taken the bytes. It gets them back when nothing holds them any more.
  init(_ image: LoadedImage, takenFrom budget: ByteBudget) {
    let byteCount = image.bytes.count
    body = HTTPBody(image.bytes) { budget.release(byteCount) }
    type = image.type
    width = image.width
    sourceWidth = image.source.width
    isDrawing = image.source.type == .svg
    origin = image.origin
    entityTag = "\"\(Base64URL.encoded(BLAKE2b.hash(image.bytes, byteCount: 16)))\""
    storedAt = image.storedAt.map { WallTime($0) }
    expiresAt = image.expiresAt.map { WallTime($0) }
    lastModified = storedAt.map { HTTPDate($0).text }
    expires = expiresAt.map { HTTPDate($0).text }
  }

  /// The same thumbnail, from elsewhere.
  func from(_ origin: LoadedImage.Origin) -> PreparedImage {
    var image = self
    image.origin = origin
    return image
  }

  /// Whether a thumbnail that was stored for the same request is this one.
  func isCopy(of image: LoadedImage) -> Bool {
    storedAt == image.storedAt.map { WallTime($0) }
      && expiresAt == image.expiresAt.map { WallTime($0) }
  }

  /// The same for one that was made ready.
  func isCopy(of image: PreparedImage) -> Bool {
    storedAt == image.storedAt && expiresAt == image.expiresAt
  }
}
