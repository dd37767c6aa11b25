internal import ImgWire

/// What is known of the answer under way from the lines of its head: the status, the length it
/// declares, and what it says of parts, of caches, of its use and of the next request.
///
/// A transfer sees several heads one after the other: interim answers (RFC 9110 section 15.2) and
/// redirects come before the last one. Each begins with a status line, which starts anew.
struct ResponseHead: Equatable {
  /// `nil` until a status line came.
  private(set) var status: Int?
  /// The declared length of the body; `nil` when there is none or it makes no sense. A hint for
  /// reserving memory: that the length is kept is libcurl's to check.
  private(set) var contentLength: Int?
  /// The directive of an `X-Robots-Tag` by which the origin does not want the answer used, see
  /// ``RobotsTag``; `nil` when there is none.
  private(set) var optOut: String?
  private var retryAfter: String?
  private var location: String?
  private(set) var range = RangeFacts()
  private(set) var cachingFields = CachingFields()
  /// Whether the empty line came that ends a head. What comes after the body is a trailer, whose
  /// fields are none of the head's (RFC 9110 section 6.5.1).
  private(set) var isComplete = false

  /// Takes one line, with or without its line end.
  /// - Returns: whether it was a status line, with which a new answer begins.
  @discardableResult
  mutating func take(line: some BidirectionalCollection<UInt8>) -> Bool {
    if let status = Self.status(of: line) {
      self = ResponseHead(status: status)
      return true
    }
    guard !isComplete else { return false }
    isComplete = line.elementsEqual("\r\n".utf8) || line.elementsEqual("\n".utf8)
    if let field = HeadField(line) { take(field) }
    return false
  }

  private mutating func take(_ field: HeadField) {
    switch field.name {
    case .contentLength:
      if let length = Int(field.value), length >= 0 { contentLength = length }
    case .location: location = location ?? (field.value.isEmpty ? nil : field.value)
    case .retryAfter: retryAfter = field.value
    case .robotsTag: optOut = optOut ?? RobotsTag.optOut(in: field.value)
    default:
      range.take(field)
      cachingFields.take(field)
    }
  }

  /// The statuses that send a client on by `Location`. Of the others between 300 and 399 none does:
  /// 300 offers a choice, 304 has no content, 305 and 306 are of the past (RFC 9110 section 15.4).
  private static let redirectStatuses: Set = [301, 302, 303, 307, 308]

  /// The reference that a redirect leads to; `nil` for any other answer, and before its head is whole.
  var redirectLocation: String? {
    guard isComplete, let status, Self.redirectStatuses.contains(status) else { return nil }
    return location
  }

  /// How long the origin wants to be left alone, in either form (Retry-After, RFC 9110 section
  /// 10.2.3); `nil` when it does not say, or a moment that has passed.
  func retryAfterSeconds(at now: WallTime) -> Int64? {
    guard let retryAfter else { return nil }
    let isCount = retryAfter.utf8.allSatisfy {
      (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
    }
    let seconds =
      if isCount {
        // What is too long for a number is too long to wait.
        retryAfter.isEmpty ? 0 : Int64(retryAfter) ?? .max
      } else {
        HTTPDate(retryAfter, now: now).map { ($0.moment.rawValue - now.rawValue + 999) / 1_000 }
          ?? 0
      }
    return seconds > 0 ? seconds : nil
  }

  /// `HTTP/1.1 200 OK` or, as libcurl spells an answer by HTTP/2, `HTTP/2 200`.
  private static func status(of line: some Collection<UInt8>) -> Int? {
    guard line.starts(with: "HTTP/".utf8) else { return nil }
    let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") }
    let rest = line.drop { !isBlank($0) }.drop(while: isBlank)
    return Int(String(decoding: rest.prefix { !isBlank($0) }.prefix(3), as: UTF8.self))
  }
}

extension ResponseHead {
  private init(status: Int) {
    self.init()
    self.status = status
  }
}
