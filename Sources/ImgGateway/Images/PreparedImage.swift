import ImgClient
import ImgCrypto
import ImgHTTP
import ImgModel

/// A thumbnail as it is sent, but for what depends on the time and on the conditions of a request.
struct PreparedImage: Sendable {
  let image: LoadedImage
  /// A strong validator (RFC 9110, section 8.8.3): a hash of the bytes.
  let entityTag: String
  let storedAt: WallTime?
  let expiresAt: WallTime?
  /// ``storedAt`` and ``expiresAt`` as fields have them.
  let lastModified: String?
  let expires: String?
  let body: HTTPResponse.Body

  init(_ image: LoadedImage) {
    self.image = image
    entityTag = "\"\(Base64URL.encoded(BLAKE2b.hash(image.bytes, byteCount: 16)))\""
    storedAt = image.storedAt.map { WallTime($0) }
    expiresAt = image.expiresAt.map { WallTime($0) }
    lastModified = storedAt.map { HTTPDate($0).text }
    expires = expiresAt.map { HTTPDate($0).text }
    body = .bytes(image.bytes)
  }
}
