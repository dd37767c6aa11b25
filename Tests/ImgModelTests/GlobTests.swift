import ImgModel
import Testing

@Suite struct GlobTests {
  @Test(arguments: [
    ("", ""), ("a", "a"), ("*", ""), ("*", "abc"), ("a*", "a"), ("a*c", "abc"), ("a*c", "acbc"),
    ("*b*", "abc"), ("**", "a"), ("a*b*c", "aXbYc"), ("*ab", "aab"),
  ])
  func `a pattern matches`(pattern: String, text: String) {
    #expect(Glob(pattern).matches(Array(text.utf8)))
  }

  @Test(arguments: [
    ("", "a"), ("a", ""), ("a", "b"), ("a", "ab"), ("a*", "ba"), ("a*c", "ab"), ("*ab", "aba"),
    ("A", "a"),
  ])
  func `a pattern does not match`(pattern: String, text: String) {
    #expect(!Glob(pattern).matches(Array(text.utf8)))
  }

  @Test func `a match stops when the budget of steps is exhausted`() {
    let glob = Glob("*a*a*a*b")
    let bytes = [UInt8](repeating: UInt8(ascii: "a"), count: 1_000)
    var steps = 500
    #expect(glob.matches(bytes, within: &steps) == nil)
    #expect(steps == 0)
    steps = 1_000_000
    #expect(glob.matches(bytes, within: &steps) == false)
    #expect((1..<1_000_000).contains(steps))
  }
}
