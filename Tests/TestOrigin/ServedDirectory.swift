import FoundationEssentials
import Glibc

/// The files below a directory, as an origin serves them.
///
/// Nothing outside the directory is ever served, whatever the path says and wherever a symbolic
/// link points.
package struct ServedDirectory: Sendable {
  private let root: String

  private static let mediaTypes = [
    "jpg": "image/jpeg", "jpeg": "image/jpeg", "jpe": "image/jpeg", "jfif": "image/jpeg",
    "png": "image/png", "apng": "image/apng", "webp": "image/webp", "gif": "image/gif",
    "tif": "image/tiff", "tiff": "image/tiff", "avif": "image/avif", "heic": "image/heic",
    "heics": "image/heic-sequence", "heif": "image/heif", "jxl": "image/jxl",
    "svg": "image/svg+xml", "bmp": "image/bmp", "ico": "image/vnd.microsoft.icon",
    "ppm": "image/x-portable-pixmap",
    "html": "text/html", "txt": "text/plain",
  ]

  /// Nil when there is no such directory.
  package init?(_ path: String) {
    guard let root = Self.resolved(path) else { return nil }
    self.root = root
  }

  /// The file that a percent-encoded path names; nil when there is none.
  package func behaviour(for path: String) -> Behaviour? {
    guard let name = PercentEncoding.decoded(path), !name.contains("\0"),
      let file = Self.resolved(root + name), file.hasPrefix(root + "/"),
      let content = FileManager.default.contents(atPath: file)
    else { return nil }
    let suffix = file.split(separator: ".").last.map { $0.lowercased() } ?? ""
    return .body(Array(content), contentType: Self.mediaTypes[suffix] ?? "application/octet-stream")
  }

  /// The percent-encoded paths of all files, in order.
  package func paths() throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: root)
      .filter { name in
        var isDirectory = false
        let exists = FileManager.default.fileExists(
          atPath: root + "/" + name, isDirectory: &isDirectory)
        return exists && !isDirectory
      }
      .map { "/" + PercentEncoding.encoded($0) }
      .sorted()
  }

  /// The absolute path without symbolic links and dots; nil when nothing is there.
  private static func resolved(_ path: String) -> String? {
    guard let resolved = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(resolved) }
    return unsafe String(cString: resolved)
  }
}

/// Percent-encoding of paths (RFC 3986, section 2.1).
enum PercentEncoding {
  private static let keptBytes = Set(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/".utf8)

  /// Keeps the unreserved characters of section 2.3 and the slash.
  static func encoded(_ text: String) -> String {
    var result = ""
    for byte in text.utf8 {
      if keptBytes.contains(byte) {
        result.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        let digits = String(byte, radix: 16, uppercase: true)
        result += digits.count == 1 ? "%0" + digits : "%" + digits
      }
    }
    return result
  }

  /// Nil where an escape is not one, or the bytes are not UTF-8.
  static func decoded(_ text: String) -> String? {
    var result: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        result.append(byte)
        continue
      }
      guard let high = rest.popFirst()?.hexadecimalValue,
        let low = rest.popFirst()?.hexadecimalValue
      else { return nil }
      result.append(high << 4 | low)
    }
    return String(validating: result, as: UTF8.self)
  }
}

extension UInt8 {
  fileprivate var hexadecimalValue: UInt8? {
    Character(Unicode.Scalar(self)).hexDigitValue.map(UInt8.init)
  }
}

/// A file with validators, served by the rules of conditional and range requests (RFC 9110,
/// sections 13 and 14).
///
/// Dates are compared as text: a client that echoes what it got matches, any other date does not.
/// Several ranges in one request are answered with the whole body, which section 14.2 allows.
package struct Resource: Sendable {
  package var body: [UInt8]
  package var contentType: String

  /// The strong entity tag, quotes included.
  package var entityTag: String?

  /// The `Last-Modified` date in the form it is sent.
  package var lastModified: String?

  package var acceptsRanges: Bool

  /// How a 200 or 206 goes out; positions count within the bytes of that answer. A 304 can only be
  /// held.
  package var delivery: BodyDelivery

  /// Sent with every answer, such as `Cache-Control`.
  package var headers: [Header]

  package init(
    _ body: [UInt8],
    contentType: String = "image/jpeg",
    entityTag: String? = nil,
    lastModified: String? = nil,
    acceptsRanges: Bool = true,
    delivery: BodyDelivery = .whole,
    headers: [Header] = []
  ) {
    self.body = body
    self.contentType = contentType
    self.entityTag = entityTag
    self.lastModified = lastModified
    self.acceptsRanges = acceptsRanges
    self.delivery = delivery
    self.headers = headers
  }

  func response(to request: Request) -> Response {
    if isUnchanged(for: request) {
      return Response(
        status: 304, headers: describingHeaders, delivery: delivery == .hold ? .hold : .whole)
    }
    switch requestedRange(of: request) {
    case .whole:
      return Response(
        headers: describingHeaders + [Header("Content-Type", contentType)],
        body: body, delivery: delivery)
    case .part(let range):
      let position = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(body.count)"
      return Response(
        status: 206,
        headers: describingHeaders
          + [Header("Content-Type", contentType), Header("Content-Range", position)],
        body: Array(body[range]), delivery: delivery)
    case .unsatisfiable:
      return Response(status: 416, headers: [Header("Content-Range", "bytes */\(body.count)")])
    }
  }

  private enum RequestedRange {
    case whole
    case part(Range<Int>)
    case unsatisfiable
  }

  private var describingHeaders: [Header] {
    var result = headers
    if let entityTag { result.append(Header("ETag", entityTag)) }
    if let lastModified { result.append(Header("Last-Modified", lastModified)) }
    if acceptsRanges { result.append(Header("Accept-Ranges", "bytes")) }
    return result
  }

  /// Section 13.2.2: an entity tag, where one is asked about, decides alone.
  private func isUnchanged(for request: Request) -> Bool {
    if let candidates = request.headers["if-none-match"] {
      guard let entityTag else { return false }
      return candidates == "*"
        || candidates.split(separator: ",").contains { candidate in
          let tag = candidate.trimmingSpaces
          return tag == entityTag || tag == "W/" + entityTag
        }
    }
    guard let date = request.headers["if-modified-since"] else { return false }
    return date == lastModified
  }

  private func requestedRange(of request: Request) -> RequestedRange {
    guard acceptsRanges, request.method == "GET", let field = request.headers["range"] else {
      return .whole
    }
    if let condition = request.headers["if-range"],
      condition != entityTag, condition != lastModified
    {
      return .whole
    }
    return range(from: field)
  }

  /// Reads `bytes=first-last`, `bytes=first-` or `bytes=-suffix`; what has another form is ignored,
  /// as section 14.2 asks.
  private func range(from field: String) -> RequestedRange {
    let unit = "bytes="
    guard field.hasPrefix(unit) else { return .whole }
    let bounds = field.dropFirst(unit.count).split(
      separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard bounds.count == 2 else { return .whole }
    switch (Int(bounds[0]), Int(bounds[1])) {
    case (let first?, let last?) where first <= last:
      return first < body.count ? .part(first..<min(last + 1, body.count)) : .unsatisfiable
    case (let first?, nil) where bounds[1].isEmpty:
      return first < body.count ? .part(first..<body.count) : .unsatisfiable
    case (nil, let suffix?) where bounds[0].isEmpty:
      let length = min(suffix, body.count)
      return length > 0 ? .part(body.count - length..<body.count) : .unsatisfiable
    default:
      return .whole
    }
  }
}

extension Substring {
  fileprivate var trimmingSpaces: Substring {
    let head = drop { $0 == " " }
    return head.lastIndex { $0 != " " }.map { head[...$0] } ?? ""
  }
}
