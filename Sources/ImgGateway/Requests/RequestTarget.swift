package import ImgHTTP
import ImgModel
import ImgSettings

/// Text with escapes (RFC 3986, section 2.1), as request targets have it.
enum EscapedText {
  /// Decodes each escape once. A plus sign stays one: weserv, imgproxy and URLs in queries have it so.
  ///
  /// - Throws: 400 for a percent sign without two hexadecimal digits, for a zero byte, and for bytes that are
  ///   not UTF-8.
  static func decoded(_ text: some StringProtocol) throws(RequestRejection) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit)
      else {
        throw .malformedTarget(
          "a percent sign is not followed by two hexadecimal digits; write %25 for a percent sign")
      }
      bytes.append(high << 4 | low)
    }
    guard !bytes.contains(0), let decoded = String(validating: bytes, as: UTF8.self) else {
      throw .malformedTarget("the escapes of the request target are not text in UTF-8")
    }
    return decoded
  }

  /// Whether a text has a colon, maybe escaped.
  static func hasColon(_ text: some StringProtocol) -> Bool {
    restoringColons(in: text).utf8.contains(UInt8(ascii: ":"))
  }

  /// Decodes escaped colons alone, which some proxies write.
  static func restoringColons(in text: some StringProtocol) -> String {
    guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.first {
      let isColon = rest.starts(with: "%3A".utf8) || rest.starts(with: "%3a".utf8)
      bytes.append(isColon ? UInt8(ascii: ":") : byte)
      rest = rest.dropFirst(isColon ? 3 : 1)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Escapes all bytes that are not unreserved (section 2.3), so that a value can stand anywhere.
  static func encoded(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    let bytes = text.utf8.flatMap { byte in
      byte.isUnreserved
        ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The value of a hexadecimal digit.
  private static func digit(_ byte: UInt8) -> UInt8? {
    guard byte < 0x80 else { return nil }
    return Character(Unicode.Scalar(byte)).hexDigitValue.map(UInt8.init)
  }
}

/// The parameters of a query, decoded, in their order.
package struct QueryParameters: Hashable, Sendable {
  package struct Parameter: Hashable, Sendable {
    package let name: String
    /// Empty for a name without `=`, too.
    package let value: String
  }

  package let parameters: [Parameter]

  /// The maximum number of parameters. No resource has as many.
  package static let maximumCount = 128

  /// - Parameter query: with its escapes. Empty parts between two `&` are skipped.
  /// - Throws: 400 for more than ``maximumCount`` parameters, and for what ``EscapedText`` refuses.
  package init(_ query: String) throws(RequestRejection) {
    let parts = query.split(separator: "&", maxSplits: Self.maximumCount)
    guard parts.count <= Self.maximumCount else {
      throw .malformedTarget("the query has more than \(Self.maximumCount) parameters")
    }
    var parameters: [Parameter] = []
    for part in parts {
      let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      parameters.append(
        Parameter(
          name: try EscapedText.decoded(sides[0]),
          value: try sides.count == 2 ? EscapedText.decoded(sides[1]) : ""))
    }
    self.parameters = parameters
  }

  /// The first value of a name, as Picsum and weserv have it; `nil` without one.
  package subscript(name: String) -> String? {
    parameters.first { $0.name == name }?.value
  }

  /// Refuses parameters that are there twice: caches, signatures and servers do not agree which one counts.
  ///
  /// - Throws: 400.
  func requireUniqueNames() throws(RequestRejection) {
    var names: Set<String> = []
    for parameter in parameters where !names.insert(parameter.name).inserted {
      throw .malformedTarget(
        "the parameter \(Spelling.quoted(parameter.name)) is there twice; send it once")
    }
  }
}

/// The target of a request: a path and maybe a query, as the client sent them (RFC 9112, section 3.2.1).
///
/// Escapes are decoded once, and only in the parts that a resource is asked for: a slash that is escaped
/// separates nothing.
package struct RequestTarget: Hashable, Sendable {
  /// As sent.
  package let text: String
  /// Begins with a slash; with its escapes.
  package let path: String
  /// What follows the first question mark, with its escapes; `nil` without one.
  package let query: String?

  /// The maximum length in bytes that the server accepts, as other servers of HTTP do. libmicrohttpd clears as
  /// much memory for each request as a header may have, so a longer limit costs time.
  package static let maximumByteCount = 8_192

  /// - Parameter text: letters outside ASCII may stand for themselves, as some programs send them.
  /// - Throws: 400 for a target that is no path, or has a space, a control character or a fragment.
  package init(_ text: String) throws(RequestRejection) {
    if let fault = SignedTarget.fault(in: text) { throw .malformedTarget(fault) }
    self.text = text
    let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    path = String(parts[0])
    query = parts.count == 2 ? String(parts[1]) : nil
  }

  /// The parts of the path between its slashes, with their escapes. The path `/` has one, which is empty.
  package var segments: [Substring] {
    path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
  }

  /// The parameters of the query.
  ///
  /// - Throws: see ``QueryParameters/init(_:)``.
  package func parameters() throws(RequestRejection) -> QueryParameters {
    try QueryParameters(query ?? "")
  }
}

extension UInt8 {
  /// Whether it is a decimal digit in ASCII.
  var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}

/// A parameter of a query that names no option: servers of pictures ignore it.
enum IgnoredParameter {
  /// Tells versions of a picture apart, as web pages do.
  case version
  /// Tells where a visitor came from.
  case campaign

  /// - Returns: `nil` for another parameter.
  init?(_ name: String) {
    if ["v", "_"].contains(name) {
      self = .version
    } else if name.hasPrefix("utm_") || ["fbclid", "gclid"].contains(name) {
      self = .campaign
    } else {
      return nil
    }
  }
}

/// Under which address a client reaches the gateway, for links that it keeps elsewhere.
package struct PublicAddress: Hashable, Sendable {
  /// A scheme, `://` and a host; empty for links that are paths alone.
  private let origin: String

  package static let none = PublicAddress("")

  private init(_ origin: String) {
    self.origin = origin
  }

  /// - Parameter request: without a host that can stand in a URL, as HTTP/1.0 permits, links are paths. A reverse proxy
  ///   with TLS says so in `X-Forwarded-Proto`.
  package init(of request: HTTPRequest) {
    guard let host = request.fields["Host"], !host.isEmpty, host.utf8.allSatisfy(Self.isOfHost)
    else {
      self = .none
      return
    }
    let isEncrypted = request.fields["X-Forwarded-Proto"]?.lowercased() == "https"
    self.init("\(isEncrypted ? "https" : "http")://\(host)")
  }

  /// A character of a host or a port (RFC 3986, section 3.2).
  private static func isOfHost(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "-._:[]".utf8.contains(byte)
    }
  }

  /// - Parameter path: begins with a slash.
  func url(ofPath path: String) -> String { origin + path }

  /// Where a picture of a list is.
  func url(of id: PictureID) -> String { url(ofPath: "/id/\(id)") }
}
