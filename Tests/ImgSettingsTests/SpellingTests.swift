import ImgSettings
import Testing

@Suite struct SpellingTests {
  private static let words = ["submit", "status", "start", "stop", "get", "list", "cache"]

  @Test(arguments: [
    ("statsu", "status"), ("sumbit", "submit"), ("gte", "get"), ("lst", "list"), ("c", "cache"),
    ("cach", "cache"), ("liist", "list"),
  ])
  func `a typing error is recognised`(word: String, meant: String) {
    #expect(Spelling.nearest(to: word, among: Self.words) == meant)
  }

  @Test(arguments: ["", "frobnicate", "xy", "s"])
  func `a distant or ambiguous word has no suggestion`(word: String) {
    #expect(Spelling.nearest(to: word, among: Self.words) == nil)
  }

  @Test(arguments: [("fil", "fill"), ("fill", "fill"), ("fill-", "fill-down")])
  func `the shortest of words that continue each other is meant`(word: String, meant: String) {
    let words = ["fit", "fill", "fill-down"]
    #expect(Spelling.nearest(to: word, among: words) == meant)
  }

  @Test func `a long word is not compared`() {
    let word = String(repeating: "x", count: 100_000)
    #expect(Spelling.nearest(to: word, among: [word + "y"]) == nil)
  }

  @Test func `a quoted path is whole and has no control characters`() {
    let path = "/srv/" + String(repeating: "x", count: 60)
    #expect(Spelling.quotedWhole(path + "\n.jpg") == "\"\(path)\u{FFFD}.jpg\"")
  }

  @Test func `a quoted text is truncated and has no control characters`() {
    #expect(Spelling.quoted("a\u{1B}[2Jb\u{9B}c") == "\"a\u{FFFD}[2Jb\u{FFFD}c\"")
    #expect(
      Spelling.quoted(String(repeating: "x", count: 41))
        == "\"" + String(repeating: "x", count: 40) + "…\"")
  }
}
