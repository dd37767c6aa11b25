import ImgHTTP
import ImgModel

/// How long clients and proxies may keep an answer (RFC 9111).
struct CacheLifetime {
  /// How old the thumbnail is, in whole seconds.
  private let age: Int64
  /// How old it may become, in whole seconds.
  private let limit: Int64
  /// The end of that time, in the form of a field.
  private let expires: String

  /// - Parameters:
  ///   - maximumAge: how long the answer may be kept at most.
  ///   - end: until when it may be kept at most.
  /// - Returns: `nil` for a thumbnail that is not stored, which nothing may keep.
  init?(of image: PreparedImage, maximumAge: Duration?, until end: WallTime?, at now: WallTime) {
    guard let storedAt = image.storedAt, let expiresAt = image.expiresAt else { return nil }
    let age = max(0, storedAt.duration(to: now).components.seconds)
    let lifetime = max(0, storedAt.duration(to: expiresAt).components.seconds)
    self.age = age
    let rest = [maximumAge, end.map { max(.zero, now.duration(to: $0)) }].compactMap(\.self).min()
    guard let maximumAge = rest, age + maximumAge.components.seconds < lifetime else {
      limit = lifetime
      expires = image.expires ?? HTTPDate(expiresAt).text
      return
    }
    limit = age + maximumAge.components.seconds
    expires = HTTPDate(now.advanced(by: maximumAge)).text
  }

  /// Adds the fields that say so.
  func add(to fields: inout HTTPFields) {
    fields.add("Cache-Control", "public, max-age=\(limit)")
    fields.add("Expires", expires)
    fields.add("Age", "\(age)")
  }
}
