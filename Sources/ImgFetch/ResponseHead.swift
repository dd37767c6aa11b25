import ImgModel

/// The head of one response, with each field parsed once.
///
/// There is one only after the empty line that ends a head, so all that reads it reads all of it.
/// ``HeadReader`` makes it.
struct ResponseHead: Equatable {
  let status: Int
  /// When the first line came.
  let receivedAt: WallTime
  /// Where the body ends.
  let framing: BodyFraming
  /// What the body is encoded with.
  let codings: ContentCodings
  /// The media type that the origin declares, in lower case and without parameters (RFC 9110 section
  /// 8.3.1); `nil` without one, and for what is none.
  let mediaType: String?
  /// The reference in `Location`, whatever the status.
  let location: String?
  let retryAfter: RetryAfter?
  /// The directive of an `X-Robots-Tag` that forbids the use of the response, see ``RobotsTag``.
  let optOut: String?
  /// Whether the origin sends parts of this body (RFC 9110 section 14.3).
  let acceptsByteRanges: Bool
  let contentRange: ContentRange?
  /// What a cache reads: validators, dates, `Cache-Control`.
  let caching: CachingFields

  init(status: Int, fields: HeadFields, receivedAt: WallTime) {
    self.status = status
    self.receivedAt = receivedAt
    framing = BodyFraming(
      contentLengths: fields.members(of: .contentLength),
      transferCodings: fields.members(of: .transferEncoding))
    codings = ContentCodings(fields.members(of: .contentEncoding))
    mediaType = fields[.contentType].flatMap(Self.mediaType)
    location = fields.values(of: .location).first { !$0.isEmpty }
    retryAfter = fields.values(of: .retryAfter).last
      .flatMap { RetryAfter($0, receivedAt: receivedAt) }
    optOut = fields.values(of: .robotsTag).lazy.compactMap(RobotsTag.optOut).first
    acceptsByteRanges = fields.members(of: .acceptRanges).contains { $0.lowercased() == "bytes" }
    contentRange = fields[.contentRange].flatMap(ContentRange.init)
    caching = CachingFields(fields)
  }

  private static func mediaType(_ text: String) -> String? {
    let type = text.prefix { $0 != ";" && !$0.isWhitespace }.lowercased()
    let isToken = type.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    return type.contains("/") && isToken && type.utf8.count <= 127 ? type : nil
  }

  /// The declared length of the body as it is sent, see ``BodyFraming/contentLength``.
  var contentLength: Int? { framing.contentLength }

  /// The declared length of the body when it is decoded; `nil` where only that of an encoded one is
  /// declared.
  var decodedLength: Int? { codings.isEmpty ? contentLength : nil }

  /// Whether another response follows (RFC 9110 section 15.2).
  var isInterim: Bool { (100..<200).contains(status) && status != 101 }

  var isSuccess: Bool { (200..<300).contains(status) }

  /// Whether there is a body that is not used: that of an error, of a redirect, or of a response
  /// that leads nowhere. A 304 has none (RFC 9110 section 15.4.5).
  var hasUnusedBody: Bool { status >= 300 && status != 304 }

  /// The statuses that redirect a client by `Location`. Of the others from 300 to 399 none does:
  /// 300 offers a choice, 304 has no content, 305 and 306 are obsolete (RFC 9110 section 15.4).
  private static let redirectStatuses: Set = [301, 302, 303, 307, 308]

  /// The reference that a redirect leads to; `nil` for any other response.
  var redirectLocation: String? { Self.redirectStatuses.contains(status) ? location : nil }

  /// The failure of a picture whose origin forbids its use; `nil` when the origin does not, and for
  /// a response without a picture.
  var optOutFailure: Failure? {
    guard isSuccess, let optOut else { return nil }
    return Failure(
      stage: .fetch, code: .optedOut, httpStatus: status,
      detail: "the origin does not allow its use: X-Robots-Tag: \(optOut)")
  }
}

/// Where the body of a response ends, by its head (RFC 9112 section 6.3).
///
/// libcurl takes more than that allows: the last of two lengths, a length with anything after it,
/// and compressed transfer codings. It would then read another body than the origin sent, or one
/// that it has to hold in memory as it inflates, even while the transfer is paused.
struct BodyFraming: Equatable {
  /// Why the end of a body is not known.
  struct Problem: Equatable {
    let detail: String
    /// Whether the origin is likely to do it again.
    let isLasting: Bool
  }

  private let lengths: Set<Int>
  private let invalidLength: String?
  /// In lower case, without those that do nothing.
  private let transferCodings: [String]

  /// - Parameters:
  ///   - contentLengths: the members of all `Content-Length` fields. The same length may be there
  ///     more than once; one that is too long for a number is the greatest.
  ///   - transferCodings: the members of all `Transfer-Encoding` fields.
  init(contentLengths: [String], transferCodings: [String]) {
    lengths = Set(contentLengths.filter(\.isDigits).map { Int($0) ?? .max })
    invalidLength = contentLengths.last { !$0.isDigits }
    self.transferCodings = transferCodings.map { $0.lowercased() }
      .filter { !$0.isEmpty && $0 != "identity" }
  }

  /// The declared length of the body; `nil` when there is none, or none that can be believed. A
  /// hint for reserving memory: libcurl checks that the length is kept.
  var contentLength: Int? {
    guard transferCodings.isEmpty, problem == nil, let length = lengths.first else { return nil }
    return length == .max ? nil : length
  }

  /// Whether the head says where the body ends. Otherwise it ends with its connection, and a body
  /// that broke off looks like a whole one.
  var isEndDeclared: Bool { !transferCodings.isEmpty || !lengths.isEmpty }

  /// Why the end of the body is not known; `nil` when it is.
  var problem: Problem? {
    // A length beside a coding does not count.
    if transferCodings == ["chunked"] { return nil }
    guard transferCodings.isEmpty else {
      let codings = transferCodings.joined(separator: ", ")
      return Problem(
        detail: "Transfer-Encoding: \(codings) was not asked for; only chunked is taken",
        isLasting: true)
    }
    if let invalidLength {
      return Problem(detail: "Content-Length: \(invalidLength) is no length", isLasting: false)
    }
    guard lengths.count <= 1 else {
      return Problem(detail: "Content-Length names several lengths", isLasting: false)
    }
    return nil
  }
}

/// The field `Content-Range` (RFC 9110 section 14.4): which part of a body a response holds.
struct ContentRange: Equatable {
  /// First and last position; `nil` in a response without a part, because the requested range does
  /// not exist.
  let range: ClosedRange<Int>?
  /// The length of the whole; `nil` where the origin does not know it.
  let completeLength: Int?
}

extension ContentRange {
  /// - Parameter text: the field's value without white space around it.
  /// - Returns: `nil` for another unit than bytes, and for text that contradicts itself or the
  ///   grammar.
  init?(parsing text: String) {
    let parts = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].lowercased() == "bytes" else { return nil }
    let halves = parts[1].split(separator: "/", omittingEmptySubsequences: false)
    guard halves.count == 2 else { return nil }
    let length = Self.number(halves[1])
    guard length != nil || halves[1] == "*" else { return nil }
    if halves[0] == "*" {
      guard let length else { return nil }
      self.init(range: nil, completeLength: length)
      return
    }
    let positions = halves[0].split(separator: "-", omittingEmptySubsequences: false)
    guard positions.count == 2, let first = Self.number(positions[0]),
      let last = Self.number(positions[1]), first <= last, last < length ?? .max
    else { return nil }
    self.init(range: first...last, completeLength: length)
  }

  private static func number(_ text: Substring) -> Int? { text.isDigits ? Int(text) : nil }
}

/// The header field `X-Robots-Tag`: how an origin allows its response to be used. It has no
/// standard; this reads it as its inventors write it
/// (developers.google.com/search/docs/crawling-indexing/robots-meta-tag).
///
/// A field is a list of directives. Those after the name of an agent and a colon are for that agent
/// alone, up to the next name. A directive with a value, such as `unavailable_after: DATE`, looks
/// alike and is recognised by its name.
enum RobotsTag {
  /// Directives that forbid the use; `none` is short for `noindex, nofollow`.
  private static let optOuts: Set = ["noai", "noimageai", "noindex", "noimageindex", "none"]
  private static let directivesWithValue: Set = [
    "unavailable_after", "max-snippet", "max-image-preview", "max-video-preview",
  ]

  /// The first directive that forbids this program the use; `nil` when there is none.
  ///
  /// - Parameter value: of one field line. An agent's name counts up to the end of its line.
  static func optOut(in value: String) -> String? {
    var isForUs = true
    for member in FieldList.members(of: value.lowercased()) {
      let parts = member.utf8.split(
        separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false
      ).map { String(decoding: $0.withoutOuterWhiteSpace, as: UTF8.self) }
      if parts.count == 2 {
        // The comma of a date puts any text before a colon; only a name is an agent.
        guard isAgentName(parts[0]), !directivesWithValue.contains(parts[0]) else { continue }
        isForUs = parts[0] == RobotsRules.productToken || parts[0] == "*"
      }
      if isForUs, let directive = parts.last, optOuts.contains(directive) { return directive }
    }
    return nil
  }

  private static func isAgentName(_ text: String) -> Bool {
    !text.isEmpty && !text.utf8.contains { $0 <= 0x20 }
  }
}

/// An entity tag, strong or weak (RFC 9110 section 8.8.3). A tag that is longer than
/// ``maximumByteCount`` or not of ASCII counts as none: others might not come back as they went.
struct EntityTag: Hashable, Sendable {
  /// With its quotation marks.
  let opaqueTag: String
  let isWeak: Bool

  static let maximumByteCount = 512
  private static let weakPrefix = "W/"

  /// - Returns: `nil` for text that is no entity tag.
  init?(_ text: String) {
    isWeak = text.hasPrefix(Self.weakPrefix)
    opaqueTag = String(text.dropFirst(isWeak ? Self.weakPrefix.count : 0))
    let bytes = Array(opaqueTag.utf8)
    let quotationMark = UInt8(ascii: "\"")
    guard bytes.count >= 2, bytes.first == quotationMark, bytes.last == quotationMark,
      text.utf8.count <= Self.maximumByteCount,
      bytes.dropFirst().dropLast().allSatisfy({
        (0x21...0x7E).contains($0) && $0 != quotationMark
      })
    else { return nil }
  }

  /// As a field carries it.
  var text: String { isWeak ? Self.weakPrefix + opaqueTag : opaqueTag }

  /// Weak comparison, as If-None-Match compares (sections 8.8.3.2 and 13.1.2).
  func isWeaklyEqual(to other: EntityTag) -> Bool { opaqueTag == other.opaqueTag }
}
