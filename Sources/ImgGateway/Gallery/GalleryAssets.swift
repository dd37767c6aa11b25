import ImgCrypto
import ImgHTTP

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
