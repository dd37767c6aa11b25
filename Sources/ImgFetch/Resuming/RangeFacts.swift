internal import CCurl
import ImgModel

/// What the head of an answer says of its body in parts: whether there are parts to be had, what the
/// body is recognised by, and which part this one is.
struct RangeFacts: Equatable {
  /// Whether the origin sends parts of this body (RFC 9110 section 14.3).
  private(set) var acceptsRanges = false
  private(set) var contentRange: ContentRange?
  private(set) var entityTag: String?
  private(set) var lastModified: String?
  private var date: String?
  /// Whether nobody may store any of the answer (RFC 9111 section 5.2.2.5).
  private(set) var forbidsStoring = false

  /// By how much a date has to lie before that of the answer to tell one body from the next: a file
  /// may be written several times within a second, and clocks differ (RFC 9110 section 8.8.2.2).
  private static let strongDateSeconds = 60

  /// Takes one line of a head, with or without its line end.
  mutating func take(line: some BidirectionalCollection<UInt8>) {
    if let field = HeadField(line) { take(field) }
  }

  /// Takes a field, if it is one that says something of parts.
  mutating func take(_ field: HeadField) {
    switch field.name {
    case .acceptRanges: acceptsRanges = Self.list(field.value, contains: "bytes")
    case .contentRange: contentRange = ContentRange(parsing: field.value)
    case .entityTag: entityTag = field.value
    case .lastModified: lastModified = field.value
    case .date: date = field.value
    case .cacheControl:
      forbidsStoring = forbidsStoring || Self.list(field.value, contains: "no-store")
    case .age, .contentEncoding, .contentLength, .expires, .location, .retryAfter, .robotsTag,
      .transferEncoding, .vary:
      break
    }
  }

  /// - Parameter member: in lower case.
  private static func list(_ text: String, contains member: String) -> Bool {
    text.lowercased().utf8.split(separator: UInt8(ascii: ","))
      .contains { $0.withoutOuterWhiteSpace.elementsEqual(member.utf8) }
  }

  /// What the rest of the body may be asked for with, in the form that `If-Range` takes: a strong
  /// entity tag or, of an answer without any tag, a date that is strong by its age (RFC 9110 section
  /// 13.1.5). `nil` when there is neither.
  var strongValidator: String? {
    if let entityTag { return Self.isStrong(entityTag) ? entityTag : nil }
    // With a control character it would become another request.
    guard let lastModified, let date, lastModified.utf8.allSatisfy({ (0x20...0x7E).contains($0) }),
      let modified = Self.seconds(of: lastModified), let sent = Self.seconds(of: date),
      sent - modified >= Self.strongDateSeconds
    else { return nil }
    return lastModified
  }

  /// Whether the answer is of the body that this validator was of. A part of it may leave out the
  /// date, not the tag (RFC 9110 section 15.3.7).
  func isOfBody(validatedBy validator: String) -> Bool {
    validator.hasPrefix("\"")
      ? entityTag == validator : lastModified == nil || lastModified == validator
  }

  /// An entity tag in quotes, without the mark of a weak one, and of visible ASCII only: others might
  /// not come back as they went.
  private static func isStrong(_ tag: String) -> Bool {
    let bytes = tag.utf8
    return bytes.count >= 2 && bytes.first == UInt8(ascii: "\"") && bytes.last == UInt8(ascii: "\"")
      && bytes.dropFirst().dropLast().allSatisfy {
        (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"")
      }
  }

  /// Seconds since 1970 of a date in any form that HTTP has or had (RFC 9110 section 5.6.7).
  private static func seconds(of date: String) -> Int? {
    let seconds = unsafe curl_getdate(date, nil)
    return seconds < 0 ? nil : Int(seconds)
  }
}
