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
  func `these directives forbid this program the use`(value: String, directive: String) {
    #expect(RobotsTag.optOut(in: value) == directive)
  }

  @Test(arguments: [
    "", " , ,", "all", "nofollow", "noarchive, nosnippet", "noaim", "xnoai", "no ai",
    "otherbot: noai", "otherbot: nofollow, noindex", "imgctl: nofollow, otherbot: noai",
    "imgctl2: noai", "unavailable_after: 25 Jun 2010 15:00:00 PST",
    "unavailable_after: noindex", "max-image-preview: none", ": noai",
  ])
  func `these directives do not forbid it`(value: String) {
    #expect(RobotsTag.optOut(in: value) == nil)
  }

}
