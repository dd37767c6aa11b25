import Glibc

/// The header of a request that is valid and unambiguous: two programs that read it see the same request.
///
/// libmicrohttpd is lenient where RFC 9112 is strict. What it accepts and a proxy in front of it may read
/// otherwise is refused here, because the two would disagree where the next request starts (section 11.2).
struct RequestHead {
  enum Version {
    case http10
    case http11
  }

  let method: HTTPMethod
  let target: String
  let fields: HTTPFields

  /// - Parameters:
  ///   - target: as sent.
  ///   - version: as sent, such as `HTTP/1.1`.
  ///   - fields: names and values as sent, without the white space around values.
  init(
    method: String, target: [UInt8], version: String, fields: HTTPFields,
    limits: HTTPServer.Limits
  ) throws(RequestRefusal) {
    guard target.count <= limits.targetBytes else {
      throw RequestRefusal(.uriTooLong, "the target of the request is too long")
    }
    self.method = HTTPMethod(method)
    self.fields = fields
    let version = try Self.version(version)
    for field in fields.fields { try Self.check(field) }
    let host = try Self.host(in: fields, version: version)
    self.target = try TargetForm.originForm(of: target, host: host)
    guard try !Self.hasBody(fields, version: version) else { throw .body }
  }

  /// A higher minor version is served as HTTP/1.1 (RFC 9110, section 2.5).
  private static func version(_ text: String) throws(RequestRefusal) -> Version {
    let start = "HTTP/1."
    let minor = text.utf8.dropFirst(start.utf8.count)
    guard text.utf8.starts(with: start.utf8), minor.count == 1, let digit = minor.first,
      digit.isDigit
    else {
      throw RequestRefusal(.badRequest, "the version is not HTTP/1.0 or HTTP/1.1")
    }
    return digit == UInt8(ascii: "0") ? .http10 : .http11
  }

  private static func check(_ field: HTTPFields.Field) throws(RequestRefusal) {
    guard !field.name.isEmpty, field.name.utf8.allSatisfy(\.isTokenCharacter) else {
      throw RequestRefusal(.badRequest, "the name of a field is not valid")
    }
    guard field.value.utf8.allSatisfy(\.isFieldCharacter) else {
      throw RequestRefusal(.badRequest, "the value of \(field.name) has a control character")
    }
  }

  /// The only Host field; RFC 9112, section 3.2, requires one in HTTP/1.1.
  private static func host(
    in fields: HTTPFields, version: Version
  ) throws(RequestRefusal) -> String? {
    let hosts = fields.values(of: "Host")
    guard hosts.count == 1 || (hosts.isEmpty && version == .http10) else {
      throw RequestRefusal(.badRequest, "the request needs one Host field")
    }
    return hosts.first
  }

  /// Whether a body follows (RFC 9112, section 6.3), also an empty one in chunks.
  private static func hasBody(
    _ fields: HTTPFields, version: Version
  ) throws(RequestRefusal) -> Bool {
    let lengths = fields.values(of: "Content-Length")
    let codings = fields.values(of: "Transfer-Encoding")
    guard lengths.count + codings.count <= 1 else {
      throw RequestRefusal(.badRequest, "the request states the size of its body twice")
    }
    if let coding = codings.first {
      guard version == .http11, coding.lowercased() == "chunked" else {
        throw RequestRefusal(.badRequest, "the transfer coding is not chunked")
      }
      return true
    }
    guard let length = lengths.first else { return false }
    guard !length.isEmpty, length.utf8.allSatisfy(\.isDigit) else {
      throw RequestRefusal(.badRequest, "Content-Length is not a number")
    }
    return length.utf8.contains { $0 != UInt8(ascii: "0") }
  }
}

/// Characters of RFC 9110, section 5.
extension UInt8 {
  fileprivate var isDigit: Bool { (0x30...0x39).contains(self) }

  /// A character of `token`.
  var isTokenCharacter: Bool {
    switch self {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "!#$%&'*+-.^_`|~".utf8.contains(self)
    }
  }

  /// A character of `field-value`: no control character but the tab.
  var isFieldCharacter: Bool {
    self == 0x09 || (self >= 0x20 && self != 0x7F)
  }
}

/// Checks that the parts of a header which libmicrohttpd reports are all that the client has sent.
///
/// libmicrohttpd parses a header in its place, and accepts more than RFC 9112 allows: it drops a field without
/// a name and what follows a zero byte, joins a folded line to a name, and takes a line feed for a line end. A
/// proxy in front may read such a header otherwise (section 11.2). In a valid header, each part begins where
/// its predecessor and one separator end. Any other header is refused.
struct HeaderLayout {
  /// Where the next part begins.
  private var position: UInt
  private var isValid = true

  /// Takes the request line.
  init(method: Range<UInt>, target: Range<UInt>, version: Range<UInt>) {
    position = method.lowerBound
    take(method, separator: 1)
    take(target, separator: 1)
    take(version, separator: 2)
  }

  /// Takes the next field. Before the value there may be white space.
  mutating func takeField(name: Range<UInt>, value: Range<UInt>) {
    take(name, separator: 1)
    isValid = isValid && value.lowerBound >= position
    position = value.upperBound &+ 2
  }

  /// Whether all is valid, and only the empty line remains.
  ///
  /// - Parameter end: where the header ends.
  func isComplete(at end: UInt) -> Bool {
    isValid && position &+ 2 == end
  }

  private mutating func take(_ part: Range<UInt>, separator: UInt) {
    isValid = isValid && part.lowerBound == position
    position = part.upperBound &+ separator
  }
}

/// A part of a request in the memory of libmicrohttpd, and where it lies there.
@safe
struct RequestText {
  /// Valid during the call that got it.
  private let start: UnsafePointer<CChar>
  let count: Int

  init(_ text: UnsafePointer<CChar>) {
    unsafe start = text
    count = unsafe strlen(text)
  }

  init(_ start: UnsafePointer<CChar>, count: Int) {
    unsafe self.start = start
    self.count = count
  }

  /// Where the text begins, and where the byte after it is.
  var range: Range<UInt> {
    let address = unsafe UInt(bitPattern: start)
    return address..<address + UInt(count)
  }

  /// The text without spaces and tabs at its end, which are no part of a value (RFC 9110, section 5.5).
  var withoutTrailingWhitespace: RequestText {
    let text = unsafe UnsafeBufferPointer(start: start, count: count)
    let blanks = unsafe text.reversed().prefix { $0 == 0x20 || $0 == 0x09 }.count
    return unsafe RequestText(start, count: count - blanks)
  }

  var bytes: [UInt8] { unsafe Array(UnsafeRawBufferPointer(start: start, count: count)) }

  /// Bytes that are not UTF-8 become U+FFFD.
  var string: String {
    unsafe String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
  }
}

/// The forms of a request target (RFC 9112, section 3.2).
enum TargetForm {
  /// The path and the query of a target, with their escapes.
  ///
  /// - Parameters:
  ///   - target: as sent: such a path, or an absolute URL, which a server must accept (section 3.2.2).
  ///   - host: the Host field. The authority of an absolute URL must equal it.
  static func originForm(of target: [UInt8], host: String?) throws(RequestRefusal) -> String {
    guard target.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
      throw RequestRefusal(.badRequest, "the target has a space or a control character")
    }
    guard let text = String(validating: target, as: UTF8.self) else {
      throw RequestRefusal(.badRequest, "the target is not UTF-8")
    }
    if text.utf8.first == UInt8(ascii: "/") { return text }
    for scheme in ["http://", "https://"] where text.lowercased().hasPrefix(scheme) {
      let rest = text.dropFirst(scheme.count)
      let authority = rest.prefix { $0 != "/" && $0 != "?" }
      guard !authority.isEmpty, authority.lowercased() == host?.lowercased() else {
        throw RequestRefusal(.badRequest, "the target and the Host field name different hosts")
      }
      let path = rest.dropFirst(authority.count)
      return path.first == "/" ? String(path) : "/\(path)"
    }
    throw RequestRefusal(.badRequest, "the target is no path")
  }
}
