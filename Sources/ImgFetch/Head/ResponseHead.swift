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
