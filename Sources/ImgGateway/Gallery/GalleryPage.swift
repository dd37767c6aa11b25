package import ImgHTTP
import ImgModel

/// The gallery: a page that shows the pictures of a job or of the store, and the files that it needs.
///
/// The page asks for lists and pictures by the paths that other programs use. Its files are at
/// `/assets/VERSION/NAME`.
package struct GalleryPage: Sendable {
  /// The page shows URLs and messages of unknown origins. Should one ever become markup, the browser runs no
  /// script of it and loads nothing from other hosts.
  private static let contentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    + "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

  private let assets = GalleryAssets()

  package init() {}

  /// Answers GET and HEAD.
  ///
  /// - Returns: `nil` if the gallery has nothing at the path of the request.
  package func response(to request: HTTPRequest) -> HTTPResponse? {
    let path = request.target.prefix { $0 != "?" }
    if path == "/" { return page(for: request) }
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 4, parts[1] == "assets", parts[2] == assets.version,
      let file = assets[String(parts[3])]
    else { return nil }
    return response(file, caching: "public, max-age=31536000, immutable")
  }

  /// Leads to the picture in the gallery. What the page shows is the fragment of its address, which no server sees.
  func redirect(to id: PictureID) -> HTTPResponse {
    let job = if case .line(let job, _) = id { "job=\(job)&" } else { "" }
    var response = HTTPResponse(.seeOther, fields: Self.fields(caching: "no-cache"))
    response.fields.add("Location", "/#\(job)picture=\(id)")
    return response
  }

  /// The page has one address in all versions, so a browser asks each time whether it has changed.
  private func page(for request: HTTPRequest) -> HTTPResponse {
    let tag = "\"\(assets.version)\""
    var response: HTTPResponse
    switch Conditions(request.fields).outcome(tag: tag, modifiedAt: nil, at: .now) {
    case .representation: response = self.response(assets.page, caching: "no-cache")
    case .notModified:
      // The server tells the length of the page and leaves the page out (RFC 9110, section 8.6). So there is no
      // type.
      response = HTTPResponse(
        .notModified, fields: Self.fields(caching: "no-cache"), body: .bytes(assets.page.body))
    case .preconditionFailed: return .preconditionFailed
    }
    response.fields.add("ETag", tag)
    return response
  }

  private func response(_ file: GalleryAssets.File, caching: String) -> HTTPResponse {
    var fields = Self.fields(caching: caching)
    fields.add("Content-Type", file.mediaType)
    return HTTPResponse(.ok, fields: fields, body: .bytes(file.body))
  }

  private static func fields(caching: String) -> HTTPFields {
    [
      "Cache-Control": caching, "Content-Security-Policy": contentSecurityPolicy,
      "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
    ]
  }
}
