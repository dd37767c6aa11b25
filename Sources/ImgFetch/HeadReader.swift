import ImgModel

/// Reads the heads of the responses to one request, line by line.
///
/// A transfer sees several heads one after the other: interim responses (RFC 9110 section 15.2)
/// come before the last one. Each begins with a status line, which forgets the one before.
struct HeadReader {
  /// What a line completes.
  enum Progress {
    case incomplete
    case complete(ResponseHead)
    /// All heads together are longer than ``maximumByteCount``.
    case tooLong
  }

  /// The limit of the heads of all responses to a request together. Redirects and interim responses
  /// would otherwise be a way around it.
  static let maximumByteCount = 64 << 10

  /// Bytes of the heads of all responses, also of those before a redirect.
  private(set) var byteCount: Int
  /// Of the last status line; `nil` before the first.
  private(set) var status: Int?
  /// The last head; `nil` until it is complete.
  private(set) var head: ResponseHead?
  private var fields = HeadFields()
  private var receivedAt = WallTime.distantPast

  /// - Parameter byteCount: what the request's earlier responses took.
  init(byteCount: Int = 0) {
    self.byteCount = byteCount
  }

  var isTooLong: Bool { byteCount > Self.maximumByteCount }

  /// Takes one line, with or without its line end. Lines after a complete head are trailers, whose
  /// fields are not the head's (RFC 9110 section 6.5.1).
  ///
  /// - Parameter now: read at the first line of a response.
  mutating func take(
    line: some BidirectionalCollection<UInt8>, at now: @autoclosure () -> WallTime
  ) -> Progress {
    byteCount += line.count
    if let status = statusOfNextHead(in: line) {
      self.status = status
      (head, fields, receivedAt) = (nil, HeadFields(), now())
    } else if head == nil, let status,
      line.elementsEqual("\r\n".utf8) || line.elementsEqual("\n".utf8)
    {
      head = ResponseHead(status: status, fields: fields, receivedAt: receivedAt)
      if !isTooLong, let head { return .complete(head) }
    } else if head == nil {
      fields.take(line: line)
    }
    return isTooLong ? .tooLong : .incomplete
  }

  /// In the middle of a head, and after the last one, such a line is a field with an odd name.
  private func statusOfNextHead(in line: some Collection<UInt8>) -> Int? {
    guard status == nil || head?.isInterim == true else { return nil }
    return Self.status(of: line)
  }

  /// `HTTP/1.1 200 OK` or, as libcurl spells a response by HTTP/2, `HTTP/2 200`.
  private static func status(of line: some Collection<UInt8>) -> Int? {
    guard line.starts(with: "HTTP/".utf8) else { return nil }
    let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") }
    let rest = line.drop { !isBlank($0) }.drop(while: isBlank)
    return Int(String(decoding: rest.prefix { !isBlank($0) }.prefix(3), as: UTF8.self))
  }
}

/// A line of a head with a field that this program reads.
struct HeadField {
  enum Name: CaseIterable {
    case acceptRanges, age, cacheControl, contentEncoding, contentLength, contentRange
    case contentType, date, entityTag, expires, lastModified, location, retryAfter, robotsTag,
      transferEncoding, vary

    /// In lower case.
    var text: String {
      switch self {
      case .acceptRanges: "accept-ranges"
      case .age: "age"
      case .cacheControl: "cache-control"
      case .contentEncoding: "content-encoding"
      case .contentLength: "content-length"
      case .contentRange: "content-range"
      case .contentType: "content-type"
      case .date: "date"
      case .entityTag: "etag"
      case .expires: "expires"
      case .lastModified: "last-modified"
      case .location: "location"
      case .retryAfter: "retry-after"
      case .robotsTag: "x-robots-tag"
      case .transferEncoding: "transfer-encoding"
      case .vary: "vary"
      }
    }
  }

  let name: Name
  /// Without the white space around it.
  let value: String

  /// - Parameter line: with or without its line end.
  /// - Returns: `nil` for a line that is no field, and for a field that this program does not read.
  ///   Those are most of a head, and no text is made of them.
  init?(_ line: some BidirectionalCollection<UInt8>) {
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")), let name = Name(line[..<colon])
    else { return nil }
    var value = line[line.index(after: colon)...]
    while let last = value.last, last == UInt8(ascii: "\r") || last == UInt8(ascii: "\n") {
      value.removeLast()
    }
    self.name = name
    self.value = Self.text(value.withoutOuterWhiteSpace, of: name)
  }

  /// A reference that is not UTF-8 keeps its bytes, percent-encoded: each stands for itself in the
  /// URL.
  private static func text(_ bytes: some Collection<UInt8>, of name: Name) -> String {
    if name == .location, String(validating: bytes, as: UTF8.self) == nil {
      return bytes.map { $0 < 0x80 ? String(UnicodeScalar($0)) : "%" + String($0, radix: 16) }
        .joined()
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension HeadField.Name {
  /// - Parameter bytes: in either case (RFC 9110 section 5.1).
  fileprivate init?(_ bytes: some Collection<UInt8>) {
    let byteCount = bytes.count
    let match = Self.allCases.first { name in
      let text = name.text.utf8
      return text.count == byteCount && text.elementsEqual(bytes) { $0 == $1.asLowercaseASCII }
    }
    guard let match else { return nil }
    self = match
  }
}

extension UInt8 {
  fileprivate var asLowercaseASCII: UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
  }
}

/// The fields of one head that this program reads, by name.
struct HeadFields: Equatable, Sendable {
  private var lines: [HeadField.Name: [String]] = [:]

  /// Takes one line, with or without its line end, if it is a field that this program reads.
  mutating func take(line: some BidirectionalCollection<UInt8>) {
    guard let field = HeadField(line) else { return }
    lines[field.name, default: []].append(field.value)
  }

  /// The values of the lines with that name, in the order in which they came.
  func values(of name: HeadField.Name) -> [String] { lines[name] ?? [] }

  /// One value for all lines with that name, joined by commas (RFC 9110 section 5.3); `nil` when
  /// there is no such line. Two lines of a field that has only one value give an invalid value.
  subscript(name: HeadField.Name) -> String? {
    lines[name].map { $0.joined(separator: ", ") }
  }

  /// The members of a field that is a list; none when there is no such line.
  func members(of name: HeadField.Name) -> [String] {
    self[name].map(FieldList.members) ?? []
  }
}

/// Splits the value of a field that is a list (RFC 9110 section 5.6.1).
enum FieldList {
  /// The members without the white space around them. Empty members are among them, because some
  /// fields allow those and others do not.
  ///
  /// A comma in a quoted string (section 5.6.4) does not split. From a quotation mark without a
  /// partner on, quotation marks are ordinary bytes, so that the time stays linear.
  static func members(of value: String) -> [String] {
    let bytes = Array(value.utf8)
    var members: [String] = []
    var start = 0
    var index = 0
    var hasOpenQuote = false
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: ","):
        members.append(text(bytes[start..<index]))
        start = index + 1
      case UInt8(ascii: "\"") where !hasOpenQuote:
        if let end = endOfQuotedString(from: index, in: bytes) {
          index = end
        } else {
          hasOpenQuote = true
        }
      default: break
      }
      index += 1
    }
    return members + [text(bytes[start...])]
  }

  /// The index of the last quotation mark of the string that begins at `start`.
  private static func endOfQuotedString(from start: Int, in bytes: [UInt8]) -> Int? {
    var index = start + 1
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "\""): return index
      case UInt8(ascii: "\\"): index += 2
      default: index += 1
      }
    }
    return nil
  }

  private static func text(_ member: ArraySlice<UInt8>) -> String {
    String(decoding: member.withoutOuterWhiteSpace, as: UTF8.self)
  }
}

extension StringProtocol {
  /// Whether it is one digit or more, and nothing else (`1*DIGIT`, RFC 5234 appendix B.1). The
  /// initialisers of numbers would take a sign as well.
  var isDigits: Bool {
    !isEmpty && utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }
}

/// The field `Retry-After` (RFC 9110 section 10.2.3): how long a host asks to get no requests.
struct RetryAfter: Equatable {
  /// More than 0.
  let seconds: Int64

  /// - Parameters:
  ///   - text: a number of seconds, or a date.
  ///   - receivedAt: when the response came. A date counts from then on.
  /// - Returns: `nil` for neither, for 0, and for a date that has passed.
  init?(_ text: String, receivedAt: WallTime) {
    let seconds: Int64
    if text.isDigits {
      // A number that does not fit is too long to wait.
      seconds = Int64(text) ?? .max
    } else if let date = HTTPDate(text, now: receivedAt) {
      seconds = receivedAt.duration(to: date.moment).secondsRoundedUp
    } else {
      return nil
    }
    guard seconds > 0 else { return nil }
    self.seconds = seconds
  }
}
