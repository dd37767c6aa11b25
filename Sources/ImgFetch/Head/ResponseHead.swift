internal import ImgModel

/// What is known of the answer under way from the lines of its head: the status, the length it
/// declares, and what it says of parts, of caches, of its use and of the next request.
///
/// A transfer sees several heads one after the other: interim answers (RFC 9110 section 15.2) come
/// before the last one. Each begins with a status line, which forgets the one before.
struct ResponseHead: Equatable {
  /// `nil` until a status line came.
  private(set) var status: Int?
  private(set) var framing = BodyFraming()
  /// What the body is compressed with, as the origin writes it; `nil` when it says nothing.
  private(set) var contentEncoding: String?
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
    // In the middle of a head, or behind the body, such a line is a field with an odd name.
    if status == nil || isComplete && isInterim, let status = Self.status(of: line) {
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
    case .contentLength, .transferEncoding: framing.take(field)
    case .contentEncoding:
      contentEncoding = contentEncoding.map { "\($0), \(field.value)" } ?? field.value
    case .location: location = location ?? (field.value.isEmpty ? nil : field.value)
    case .retryAfter: retryAfter = field.value
    case .robotsTag: optOut = optOut ?? RobotsTag.optOut(in: field.value)
    default:
      range.take(field)
      cachingFields.take(field)
    }
  }

  /// The declared length of the body, see ``BodyFraming/contentLength``.
  var contentLength: Int? { framing.contentLength }

  /// Whether another answer follows (RFC 9110 section 15.2).
  var isInterim: Bool { status.map { (100..<200).contains($0) && $0 != 101 } ?? false }

  /// Whether there is a body and nobody wants it: that of an error, of a redirect, or of an answer
  /// that leads nowhere. A 304 has none (RFC 9110 section 15.4.5).
  var hasUnusedBody: Bool { isComplete && (status ?? 0) >= 300 && status != 304 }

  /// The content coding of a text that is not read; `nil` for one that is. libcurl undoes others that
  /// were not asked for as well, some of them with 128 MiB of memory.
  var refusedTextEncoding: String? {
    guard let contentEncoding,
      !["", "identity", "gzip", "x-gzip"].contains(contentEncoding.lowercased())
    else { return nil }
    return contentEncoding
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
