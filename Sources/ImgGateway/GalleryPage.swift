import ImgCrypto
package import ImgHTTP
import ImgModel

/// The files of the gallery. They are part of the program.
struct GalleryAssets: Sendable {
  /// A file as it is served.
  struct File: Sendable {
    let mediaType: String
    let body: HTTPBody
  }

  /// The page, with the addresses of the other files.
  let page: File
  /// A hash of all files. It is part of their addresses, so browsers may keep what they have for good.
  let version: String
  private let files: [String: File]

  init() {
    let hash = BLAKE2b.hash(
      PackageResources.index_html + Self.sources.flatMap { Array($0.name.utf8) + $0.bytes },
      byteCount: 16)
    let version = hash.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    self.version = version
    let text = String(decoding: PackageResources.index_html, as: UTF8.self)
    page = File(
      mediaType: "text/html; charset=utf-8",
      body: HTTPBody(Array(text.replacing("{version}", with: version).utf8)))
    files = Dictionary(
      uniqueKeysWithValues: Self.sources.map { name, bytes in
        (name, File(mediaType: Self.mediaType(of: name), body: HTTPBody(bytes)))
      })
  }

  /// A file other than the page; `nil` for an unknown name.
  subscript(name: String) -> File? { files[name] }

  /// Modules of JavaScript import each other by these names.
  private static let sources: [(name: String, bytes: [UInt8])] = [
    ("address.js", PackageResources.address_js),
    ("answers.js", PackageResources.answers_js),
    ("cell.js", PackageResources.cell_js),
    ("elements.js", PackageResources.elements_js),
    ("facts.js", PackageResources.facts_js),
    ("failure-codes.js", PackageResources.failure_codes_js),
    ("filters.js", PackageResources.filters_js),
    ("format.js", PackageResources.format_js),
    ("gallery.css", PackageResources.gallery_css),
    ("gallery.js", PackageResources.gallery_js),
    ("grid.js", PackageResources.grid_js),
    ("icon.svg", PackageResources.icon_svg),
    ("job-events.js", PackageResources.job_events_js),
    ("jobs.js", PackageResources.jobs_js),
    ("list-messages.js", PackageResources.list_messages_js),
    ("notices.js", PackageResources.notices_js),
    ("picture-list.js", PackageResources.picture_list_js),
    ("picture.js", PackageResources.picture_js),
    ("previews.js", PackageResources.previews_js),
    ("requests.js", PackageResources.requests_js),
    ("rows.js", PackageResources.rows_js),
    ("throttle.js", PackageResources.throttle_js),
    ("thumbhash.js", PackageResources.thumbhash_js),
    ("thumbnail.js", PackageResources.thumbnail_js),
    ("viewer.js", PackageResources.viewer_js),
    ("work.js", PackageResources.work_js),
  ]

  private static func mediaType(of name: String) -> String {
    switch name.split(separator: ".").last {
    case "css": "text/css; charset=utf-8"
    case "svg": "image/svg+xml"
    default: "text/javascript; charset=utf-8"
    }
  }
}

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
    return Self.serve(file, caching: "public, max-age=31536000, immutable")
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
    case .representation: response = Self.serve(assets.page, caching: "no-cache")
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

  private static func serve(_ file: GalleryAssets.File, caching: String) -> HTTPResponse {
    var fields = fields(caching: caching)
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
