import Testing

/// The reader of sources that the other suites rely on.
struct SwiftSourceTests {
  private func source(_ text: String) -> SwiftSource {
    SwiftSource(path: "Example.swift", text: text)
  }

  @Test(arguments: [
    ("import Alpha", "Alpha"),
    ("package import Alpha", "Alpha"),
    ("@testable import Alpha", "Alpha"),
    ("private import struct Alpha.Beta", "Alpha"),
    ("import Alpha.Beta  // for its names", "Alpha"),
  ])
  func `an import is recognised in every spelling`(line: String, module: String) {
    #expect(source(line).imports == [module])
  }

  @Test(arguments: ["// import Alpha", "let important = Alpha", "/// import Alpha"])
  func `text that resembles an import is not one`(line: String) {
    #expect(source(line).imports.isEmpty)
  }

  @Test func `the final line feed starts no line`() {
    #expect(source("let one = 1\nlet two = 2\n").lines == ["let one = 1", "let two = 2"])
  }

  @Test func `a function reaches from its declaration to its closing brace`() {
    let functions = source(
      """
      struct Example {
        package static func several(
          words: Int
        ) -> Int {
          if words > 0 {
            words
          }
        }

        init?(text: String) {
          return nil
        }

        func short() -> Int { 1 }
      }
      """
    ).functions
    #expect(functions.map(\.firstLine) == [2, 10])
    #expect(functions.map(\.lineCount) == [7, 3])
  }

  @Test func `a requirement without a body is not a function`() {
    let functions = source(
      """
      protocol Example {
        func first() -> Int
        func second(
          of: Int
        ) -> Int
      }
      """
    ).functions
    #expect(functions.isEmpty)
  }
}
