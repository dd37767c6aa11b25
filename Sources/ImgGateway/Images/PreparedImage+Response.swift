import ImgClient
import ImgHTTP
import ImgModel

extension PreparedImage {
  /// The answer to a request: the image, that the client has it, or that it wants another one.
  func response(
    to request: HTTPRequest, for query: ImageQuery, at now: WallTime
  ) -> HTTPResponse {
    var fields: HTTPFields = ["ETag": entityTag]
    if let lifetime = CacheLifetime(
      of: self, maximumAge: query.maximumAge, until: query.expiresAt, at: now)
    {
      lifetime.add(to: &fields)
    } else {
      fields.add("Cache-Control", "no-store")
    }
    if query.format == .negotiated { fields.add("Vary", "Accept") }
    if query.isShared { HTTPResponse.addFieldsForAllPages(to: &fields) }
    if let lastModified { fields.add("Last-Modified", lastModified) }
    let conditions = Conditions(request.fields)
    switch conditions.outcome(tag: entityTag, modifiedAt: storedAt, at: now) {
    case .representation: break
    case .notModified:
      // The server tells the length of the body and leaves the body out (RFC 9110, section 8.6).
      return HTTPResponse(.notModified, fields: fields, body: .bytes(body))
    case .preconditionFailed: return .preconditionFailed
    }
    fields.add("Content-Type", type.mediaType)
    fields.add("X-Content-Type-Options", "nosniff")
    fields.add("X-Imgctl-From", origin.rawValue)
    fields.add("Content-Disposition", ContentDisposition(query, type).text)
    if isLimited(for: query) { fields.add("X-Imgctl-Limit", "maximum-side") }
    switch query.service {
    case .weserv where query.request.url.hasPrefix("http"):
      fields.add("Link", "<\(query.request.url.withoutPasswords)>; rel=\"canonical\"")
    case .picsum(let id): fields.add("Picsum-ID", id)
    case .weserv, .imgproxy: break
    }
    return HTTPResponse(.ok, fields: fields, body: .bytes(body))
  }

  /// Whether a picture whose size the request does not name was made to fit the longest side.
  private func isLimited(for query: ImageQuery) -> Bool {
    guard query.box.isOpen, query.request.variant.mode == .ownSize else { return false }
    return Double(width) < (Double(sourceWidth) * min(query.box.density, 1)).rounded(.down)
  }
}
