import ImgModel
import Testing

@testable import ImgFetch

/// What the fields of a head say.
@Suite(.timeLimit(.minutes(20))) struct ResponseHeadTests {
  // MARK: - The end of the body

  @Test(arguments: [
    ("Content-Length: 17", 17), ("content-length:17", 17), ("CONTENT-LENGTH:  17 ", 17),
    ("Content-Length: -1", nil), ("Content-Length: many", nil),
    ("Content-Length: 99999999999999999999", nil), ("X-Content-Length: 17", nil),
  ])
  func `the declared length is read whatever the case`(line: String, length: Int?) {
    #expect(responseHead([line]).contentLength == length)
  }

  @Test(
    arguments: [
      (["Content-Length: 5"], 5), (["Content-Length: 5", "Content-Length: 5, 05"], 5),
      (["Content-Length: 5", "Transfer-Encoding: Chunked"], nil),
      (["Content-Length: 5", "Content-Length: 6", "Transfer-Encoding: chunked"], nil),
      (["Transfer-Encoding: identity", "Content-Length: 5"], 5), ([], nil),
      (["Content-Length: 99999999999999999999"], nil),
    ] as [([String], Int?)])
  func `RFC 9112 6.3: the end of a body is known`(lines: [String], length: Int?) {
    let framing = responseHead(lines).framing
    #expect(framing.problem == nil)
    #expect(framing.contentLength == length)
  }

  @Test(
    arguments: [
      (["Content-Length: 5", "Content-Length: 6"], false), (["Content-Length: 5, 6"], false),
      (["Content-Length: -5"], false), (["Content-Length: +5"], false),
      (["Content-Length: 5 6"], false), (["Content-Length: 0x5"], false),
      (["Content-Length: 5,"], false), (["Content-Length:"], false),
      (["Transfer-Encoding: gzip, chunked"], true), (["Transfer-Encoding: gzip"], true),
      (["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], true),
      (["Transfer-Encoding: chunked, gzip"], true), (["Transfer-Encoding: bogus"], true),
    ] as [([String], Bool)])
  func `RFC 9112 6.3: the end of a body is not known`(lines: [String], isLasting: Bool) {
    let framing = responseHead(lines).framing
    #expect(framing.problem?.isLasting == isLasting)
    #expect(framing.contentLength == nil)
  }

  // MARK: - Retry-After

  @Test(arguments: [
    ("Retry-After: 7", 7), ("retry-after:7", 7), ("Retry-After: 0", nil),
    ("Retry-After: -7", nil), ("Retry-After: soon", nil), ("Retry-After:", nil),
    ("Retry-After: 99999999999999999999", .max), ("Retry-After: 7.5", nil),
    ("Retry-After: Sun, 06 Nov 1994 08:49:37 GMT", 7),
    ("Retry-After: Sunday, 06-Nov-94 08:49:37 GMT", 7),
    ("Retry-After: Sun, 06 Nov 1994 08:49:30 GMT", nil), ("Date: 7", nil),
  ])
  func `RFC 9110 10.2.3: Retry-After is a number of seconds or a date`(
    line: String, seconds: Int64?
  ) {
    // 7 seconds before 08:49:37.
    let receivedAt = WallTime(rawValue: 784_111_770_000)
    #expect(responseHead([line], receivedAt: receivedAt).retryAfter?.seconds == seconds)
  }

  @Test func `a part of a second counts as a whole one`() {
    let receivedAt = WallTime(rawValue: 784_111_770_001)
    let line = "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT"
    #expect(responseHead([line], receivedAt: receivedAt).retryAfter?.seconds == 7)
  }

  // MARK: - Redirects and bodies

  @Test(arguments: [
    (301, "/a"), (302, "/a"), (303, "/a"), (307, "/a"), (308, "/a"), (300, nil), (304, nil),
    (305, nil), (306, nil), (200, nil), (404, nil),
  ])
  func `RFC 9110 15.4: five statuses redirect`(status: Int, location: String?) {
    #expect(
      responseHead(["Location:", "Location: /a"], status: status).redirectLocation == location)
  }

  @Test(arguments: [
    (200, false), (206, false), (304, false), (300, true), (302, true), (404, true),
  ])
  func `the body of an error or a redirect is not used`(status: Int, isUnused: Bool) {
    #expect(responseHead([], status: status).hasUnusedBody == isUnused)
  }

  // MARK: - Opting out

  @Test func `the first X-Robots-Tag that opts out counts, for a picture alone`() {
    let lines = ["x-robots-tag:nofollow", "X-ROBOTS-TAG: noindex", "X-Robots-Tag: noai"]
    #expect(responseHead(lines).optOut == "noindex")
    #expect(responseHead(lines).optOutFailure?.code == .optedOut)
    #expect(responseHead(lines, status: 404).optOutFailure == nil)
    #expect(responseHead(["X-Robots-Tag: nofollow"]).optOutFailure == nil)
  }

  // MARK: - Parts

  @Test(arguments: [
    ("Accept-Ranges: bytes", true), ("accept-ranges: BYTES", true),
    ("Accept-Ranges: items, bytes", true), ("Accept-Ranges: none", false),
    ("Accept-Ranges:", false), ("X-Accept-Ranges: bytes", false),
  ])
  func `RFC 9110 14.3: an origin says whether it sends parts`(line: String, isAccepted: Bool) {
    #expect(responseHead([line]).acceptsByteRanges == isAccepted)
  }
}
