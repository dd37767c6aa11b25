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
    if let disposition = ContentDisposition(query, type) {
      fields.add("Content-Disposition", disposition.text)
    }
    return HTTPResponse(.ok, fields: fields, body: .bytes(body))
  }
}
