import ImgModel
import TestOrigin
import Testing

@testable import ImgFetch

/// How a transfer resumes a partial body, and what it leaves.
@Suite(.timeLimit(.minutes(20))) struct ResumptionTests {
  private static let tag = "\"v1\""
  private static let start = 100_000
  private static let length = 300_000
  private static let rest = [
    "ETag: \"v1\"", "Content-Range: bytes 100000-299999/300000", "Content-Length: 200000",
  ]
  private static let timeout = Failure(stage: .fetch, code: .timeout, detail: "")

  private var requested: Resumption {
    let state = ResumeState(
      validator: Self.tag, completeByteCount: Self.length, receivedByteCount: Self.start)
    let content = BodyContent.memory([UInt8](repeating: 1, count: Self.start))
    return Resumption(.partial(PartialBody(content: content, resumeState: state)))
  }

  private func leftover(
    _ resumption: Resumption, after failure: Failure?, byteCount: Int,
    head: ResponseHead = responseHead(["Accept-Ranges: bytes", "ETag: \"v1\""]),
    issuer: ValidatorIssuer = .requestURL
  ) -> Leftover {
    resumption.leftover(
      after: failure, content: .memory([UInt8](repeating: 1, count: byteCount)),
      charge: BodyCharge(byteCount: byteCount), receivedByteCount: byteCount + 7, head: head,
      issuer: issuer)
  }

  // MARK: - The response

  @Test func `a response 206 with the rest grants it, once`() {
    var resumption = requested
    let head = responseHead(Self.rest, status: 206)
    #expect(resumption.beginBody(of: head) == .rest)
    #expect(resumption.beginBody(of: head) == .expected)
    #expect(resumption.isGranted)
    #expect(resumption.completeByteCount(head) == Self.length)
    #expect(resumption.isWhole(byteCount: Self.length))
    #expect(!resumption.isWhole(byteCount: Self.length - 1))
    #expect(!resumption.requiresRestart(status: 206, isComplete: true))
  }

  @Test func `a response 200 brings the whole`() {
    var resumption = requested
    let head = responseHead(["Content-Length: 5"])
    #expect(resumption.beginBody(of: head) == .whole)
    #expect(resumption.beginBody(of: head) == .expected)
    #expect(!resumption.isGranted)
    #expect(resumption.completeByteCount(head) == 5)
    #expect(!resumption.requiresRestart(status: 200, isComplete: true))
  }

  @Test(arguments: [
    (304, true), (400, true), (403, true), (416, true), (404, false), (408, false), (410, false),
    (425, false), (429, false), (500, false), (200, false),
  ])
  func `a refusal of the range request requires a restart`(status: Int, isRequired: Bool) {
    #expect(requested.requiresRestart(status: status, isComplete: true) == isRequired)
    #expect(!Resumption(.whole()).requiresRestart(status: status, isComplete: true))
    #expect(!Resumption(.restart).requiresRestart(status: status, isComplete: true))
  }

  @Test func `a response 206 without a byte requires a restart, if it is complete`() {
    #expect(requested.requiresRestart(status: 206, isComplete: true))
    #expect(!requested.requiresRestart(status: 206, isComplete: false))
    #expect(!requested.requiresRestart(status: nil, isComplete: false))
  }

  // MARK: - What is left

  @Test func `a body that broke off after 64 KiB leaves a partial body`() throws {
    let leftover = leftover(Resumption(.whole()), after: Self.timeout, byteCount: 65_536)
    let partial = try #require(leftover.partial)
    #expect(partial.content.byteCount == 65_536)
    #expect(
      partial.resumeState
        == ResumeState(validator: Self.tag, completeByteCount: nil, receivedByteCount: 65_543))
  }

  @Test(arguments: [
    (["Accept-Ranges: bytes", "ETag: \"v1\""], 65_535), (["ETag: \"v1\""], 65_536),
    (["Accept-Ranges: bytes"], 65_536), (["Accept-Ranges: bytes", "ETag: W/\"v1\""], 65_536),
    (["Accept-Ranges: bytes", "ETag: \"v1\"", "Cache-Control: no-store"], 65_536),
  ])
  func `a body that cannot be resumed leaves nothing`(lines: [String], byteCount: Int) {
    let leftover = leftover(
      Resumption(.whole()), after: Self.timeout, byteCount: byteCount, head: responseHead(lines))
    #expect(leftover.isUnchanged)
  }

  @Test func `a body is resumed only where its URL can be named`() throws {
    let whole = Resumption(.whole())
    let named = ValidatorIssuer.redirectTarget("http://a:80/")
    let leftover = leftover(whole, after: Self.timeout, byteCount: 65_536, issuer: named)
    #expect(try #require(leftover.partial).resumeState.issuer == "http://a:80/")
    #expect(
      self.leftover(whole, after: Self.timeout, byteCount: 65_536, issuer: .unnamed).isUnchanged)
  }

  @Test func `a rest that breaks off leaves more than before, or what there was`() throws {
    var resumption = requested
    _ = resumption.beginBody(of: responseHead(Self.rest, status: 206))
    let longer = leftover(resumption, after: Self.timeout, byteCount: Self.start + 1)
    let state = try #require(longer.partial).resumeState
    #expect(state.completeByteCount == Self.length)
    #expect(state.receivedByteCount == Self.start + 8)
    #expect(leftover(resumption, after: Self.timeout, byteCount: Self.start).isUnchanged)
  }

  @Test func `success and lasting failures make the partial body obsolete`() {
    let lasting = Failure(stage: .fetch, code: .tooLarge, detail: "")
    #expect(leftover(requested, after: nil, byteCount: Self.length).isObsolete)
    #expect(leftover(requested, after: lasting, byteCount: Self.start).isObsolete)
    #expect(leftover(requested, after: Self.timeout, byteCount: Self.start).isUnchanged)
    #expect(leftover(Resumption(.restart), after: Self.timeout, byteCount: 0).isObsolete)
    #expect(leftover(Resumption(.whole()), after: nil, byteCount: 1).isUnchanged)
  }

  // MARK: - Validators

  private static let date = "Date: Sun, 06 Nov 1994 08:50:37 GMT"

  @Test(
    arguments: [
      (["ETag: \"v1\""], "\"v1\""), (["etag:\"\""], "\"\""), (["ETag: W/\"v1\""], nil),
      (["ETag: v1"], nil), (["ETag: \""], nil), (["ETag: \"a\"b\""], nil),
      (["ETag: \"\u{E9}\""], nil), (["ETag: \"v1\"", "ETag: \"v2\""], nil),
      // A date is of no use beside any tag.
      (["ETag: W/\"v1\"", "Last-Modified: Sun, 06 Nov 1994 08:40:37 GMT", date], nil),
      (["Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT", date], "Sun, 06 Nov 1994 08:49:37 GMT"),
      (["Last-Modified: Sun, 06 Nov 1994 08:49:38 GMT", date], nil),
      (["Last-Modified: Sun, 06 Nov 1994 08:51:37 GMT", date], nil),
      (["Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"], nil),
      (["Last-Modified: yesterday", date], nil), ([date], nil),
      (["Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\rX: y", date], nil),
      // The obsolete forms of dates.
      (["Last-Modified: Sunday, 06-Nov-94 08:49:37 GMT", date], "Sunday, 06-Nov-94 08:49:37 GMT"),
      (["Last-Modified: Sun Nov  6 08:49:37 1994", date], "Sun Nov  6 08:49:37 1994"),
    ] as [([String], String?)])
  func `RFC 9110 13.1.5: a strong tag identifies a body, else a date that is old enough`(
    lines: [String], validator: String?
  ) {
    #expect(responseHead(lines).strongValidator == validator)
  }

  @Test(arguments: [
    ("\"v1\"", ["ETag: \"v1\""], true), ("\"v1\"", ["ETag: \"v2\""], false),
    ("\"v1\"", ["ETag: W/\"v1\""], false), ("\"v1\"", [], false),
    ("Sun, 06 Nov 1994 08:49:37 GMT", ["Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"], true),
    ("Sun, 06 Nov 1994 08:49:37 GMT", [], true),
    ("Sun, 06 Nov 1994 08:49:37 GMT", ["Last-Modified: Sun, 06 Nov 1994 08:49:38 GMT"], false),
  ])
  func `RFC 9110 15.3.7: a part is of the same body if its validator is the same`(
    validator: String, lines: [String], isSame: Bool
  ) {
    #expect(responseHead(lines).isOfBody(validatedBy: validator) == isSame)
  }
}

extension Leftover {
  fileprivate var partial: PartialBody? {
    if case .partial(let partial, _) = self { partial } else { nil }
  }

  fileprivate var isUnchanged: Bool {
    if case .unchanged = self { true } else { false }
  }

  fileprivate var isObsolete: Bool {
    if case .obsolete = self { true } else { false }
  }
}

/// What a transfer that breaks off leaves.
@Suite(.timeLimit(.minutes(20))) struct PartialBodyTests: ResumableDownload {
  let origin = TestOrigin()
  let picture = noise(length)

  @Test(
    .ownThread,
    arguments: [
      BodyDelivery.cut(after: cut), .cut(after: cut, declaresLength: false), .reset(after: cut),
      .stall(after: cut),
    ])
  func `a transfer that breaks off leaves a partial body`(delivery: BodyDelivery) throws {
    origin.serve("/a", resource(delivery))
    let fetcher = try Fetcher { $0.stallTimeout = .seconds(1) }
    let transfer = try fetcher.fetch(url)
    let partial = try #require(transfer.partialBody)
    let bytes = try partial.content.bytes()
    // A reset discards what the kernel has not delivered.
    #expect(bytes.count == Self.cut || delivery == .reset(after: Self.cut))
    #expect(bytes == Array(picture.prefix(bytes.count)))
    let isLengthKnown = delivery != .cut(after: Self.cut, declaresLength: false)
    #expect(
      partial.resumeState
        == ResumeState(
          validator: Self.tag, completeByteCount: isLengthKnown ? Self.length : nil,
          receivedByteCount: bytes.count))
    #expect(transfer.bytesReceived == bytes.count)
    #expect(fetcher.pool.heldBodyByteCount >= bytes.count)
    fetcher.releaseBody(transfer)
    #expect(fetcher.pool.heldBodyByteCount == 0)
  }
}
