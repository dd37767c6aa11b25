import ImgHTTP
import ImgModel

/// The conditions of a request for what a client has already (RFC 9110, section 13).
struct Conditions {
  private let entityTags: String?
  private let modifiedSince: String?

  init(_ fields: HTTPFields) {
    entityTags = fields["If-None-Match"]
    modifiedSince = fields["If-Modified-Since"]
  }

  /// Whether the request has none.
  var isEmpty: Bool { entityTags == nil && modifiedSince == nil }

  /// Whether the client has the image. Entity tags count before dates (section 13.2.2).
  func areMet(by image: PreparedImage, at now: WallTime) -> Bool {
    if let entityTags {
      return EntityTags(entityTags).contain(image.entityTag)
    }
    guard let modifiedSince, let storedAt = image.storedAt,
      let date = HTTPDate(modifiedSince, now: now)
    else { return false }
    return HTTPDate(storedAt).moment <= date.moment
  }
}
