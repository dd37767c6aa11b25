import ImgModel
import Testing

@testable import ImgFetch

/// What an origin's `X-Robots-Tag` says to this program.
@Suite(.timeLimit(.minutes(20))) struct RobotsTagTests {
  @Test(arguments: [
    ("noai", "noai"), (" NoImageAI ", "noimageai"), ("noindex", "noindex"),
    ("nofollow, noimageindex", "noimageindex"), ("nofollow,noai,noindex", "noai"),
    ("none", "none"), ("imgctl: noai", "noai"), ("ImgCtl:noai", "noai"),
    ("*: noindex", "noindex"), ("imgctl: nofollow, noindex", "noindex"),
    ("otherbot: noindex, imgctl: noai", "noai"),
    ("unavailable_after: 25 Jun 2010 15:00:00 PST, noai", "noai"),
    ("unavailable_after: Friday, 25-Jun-10 15:00:00 PST, noai", "noai"),
    ("max-image-preview: none, noai", "noai"),
  ])
  func `these keep it from using a picture`(value: String, directive: String) {
    #expect(RobotsTag.optOut(in: value) == directive)
  }

  @Test(arguments: [
    "", " , ,", "all", "nofollow", "noarchive, nosnippet", "noaim", "xnoai", "no ai",
    "otherbot: noai", "otherbot: nofollow, noindex", "imgctl: nofollow, otherbot: noai",
    "imgctl2: noai", "unavailable_after: 25 Jun 2010 15:00:00 PST",
    "unavailable_after: noindex", "max-image-preview: none", ": noai",
  ])
  func `these do not`(value: String) {
    #expect(RobotsTag.optOut(in: value) == nil)
  }

  @Test func `the first of several fields that says so counts, in the last head alone`() {
    var head = ResponseHead()
    for line in ["HTTP/1.1 103 Hints", "X-Robots-Tag: noai", "", "HTTP/1.1 200 OK"] {
      head.take(line: Array((line + "\r\n").utf8))
    }
    #expect(head.optOut == nil)
    for line in ["x-robots-tag:nofollow\r\n", "X-ROBOTS-TAG: noindex\r\n", "\r\n"] {
      head.take(line: Array(line.utf8))
    }
    #expect(head.optOut == "noindex")
    #expect(head.optOutFailure?.code == .optedOut)
  }

  @Test func `what comes after the head is too late`() {
    var head = ResponseHead()
    for line in ["HTTP/1.1 200 OK\r\n", "\r\n", "X-Robots-Tag: noai\r\n"] {
      head.take(line: Array(line.utf8))
    }
    #expect(head.isComplete)
    #expect(head.optOut == nil)
  }
}
