import FoundationEssentials
import Testing

/// The checkout these tests were compiled from. Paths are relative to its root.
enum Repository {
  static let root: String = {
    // This file is ROOT/Tests/SoundnessTests/Repository.swift.
    let components = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    return components.dropLast(3).joined(separator: "/")
  }()

  static func text(_ path: String) throws -> String {
    try String(contentsOfFile: "\(root)/\(path)", encoding: .utf8)
  }

  /// Every file below a directory whose name ends so, sorted.
  static func files(below directory: String, suffix: String) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: "\(root)/\(directory)")
      .filter { $0.hasSuffix(suffix) }
      .map { "\(directory)/\($0)" }
      .sorted()
  }

  /// The code of tutorials is part of their catalog, not of the module beside it.
  static func swiftSources(below directory: String) throws -> [SwiftSource] {
    try files(below: directory, suffix: ".swift").filter { !$0.contains(".docc/") }.map { path in
      SwiftSource(path: path, text: try text(path))
    }
  }

  static func isExecutable(_ path: String) -> Bool {
    FileManager.default.isExecutableFile(atPath: "\(root)/\(path)")
  }
}

/// What Package.swift says of its targets.
struct Manifest: Sendable {
  struct Target: Sendable {
    let name: String
    let directory: String
    let dependencies: Set<String>
    /// A system library: a module map and a header, no Swift.
    let isSystemLibrary: Bool
  }

  let targets: [Target]

  /// - Parameter text: a manifest that keeps to the rules in the head of ours: literals only.
  init(text: String) {
    let declaration = /\.(target|testTarget|executableTarget|systemLibrary)\(\s*name: "(\w+)"/
    let declarations = text.matches(of: declaration)
    targets = declarations.indices.map { index in
      let next = declarations.indices.contains(index + 1) ? declarations[index + 1] : nil
      let end = next?.range.lowerBound ?? text.endIndex
      let body = text[declarations[index].range.lowerBound..<end]
      let (kind, name) = (declarations[index].1, String(declarations[index].2))
      let list = body.firstMatch(of: /dependencies: \[([^\]]*)\]/)?.1 ?? ""
      return Target(
        name: name,
        directory: body.firstMatch(of: /path: "([^"]+)"/).map { String($0.1) }
          ?? (kind == "testTarget" ? "Tests/\(name)" : "Sources/\(name)"),
        dependencies: Set(list.matches(of: /"(\w+)"/).map { String($0.1) }),
        isSystemLibrary: kind == "systemLibrary")
    }
  }

  static func ours() throws -> Manifest {
    Manifest(text: try Repository.text("Package.swift"))
  }
}

extension Manifest.Target: CustomTestStringConvertible {
  var testDescription: String { name }
}

/// One Swift file, read line by line.
///
/// There is no parser here: the formatter has fixed how a line may look before these tests run,
/// so indentation says where a function ends.
struct SwiftSource: Sendable {
  let path: String
  let text: String
  let lines: [String]
  /// The lines without their comments.
  let code: [String]

  init(path: String, text: String) {
    self.path = path
    self.text = text
    let ended = text.hasSuffix("\n") ? text.dropLast() : text[...]
    lines = ended.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    code = lines.map { line in
      // Most lines have no comment, and to search each for text costs much in a debug build.
      guard line.utf8.contains(UInt8(ascii: "/")) else { return line }
      if line.drop(while: { $0 == " " }).hasPrefix("//") { return "" }
      guard let comment = line.firstRange(of: " //") else { return line }
      return String(line[..<comment.lowerBound])
    }
  }

  /// The modules named by import declarations.
  var imports: Set<String> {
    let access = /(?:@\w+(?:\(\w+\))? |public |package |internal |private |fileprivate )*/
    let kind = /(?:struct |class |enum |protocol |func |var |let |typealias )?/
    return Set(
      code.compactMap { line in
        guard let start = line.prefixMatch(of: access)?.range.upperBound,
          line[start...].hasPrefix("import ")
        else { return nil }
        let declared = line[start...].dropFirst("import ".count)
        let name = declared.prefixMatch(of: kind).map { declared[$0.range.upperBound...] }
        return name.map { String($0.prefix { $0.isLetter || $0.isNumber || $0 == "_" }) }
      })
  }

  /// The types and extensions at the top level.
  var types: [TypeDeclaration] {
    let kinds = /(?:@\w+(?:\(\w+\))? |[a-z]+ )*?(struct|class|enum|actor|protocol|extension)\s/
    return code.indices.compactMap { first in
      guard let kind = code[first].prefixMatch(of: kinds) else { return nil }
      let declared = code[first][kind.range.upperBound...].prefix { $0 != "{" }
      let end = code[first].hasSuffix("}") ? first : code[first...].firstIndex(of: "}") ?? first
      return TypeDeclaration(
        name: String(declared.prefix { $0.isLetter || $0.isNumber || $0 == "_" }),
        isExtension: kind.1 == "extension", declaration: String(declared),
        code: Array(code[first...end]))
    }
  }

  /// Every function whose body has lines of its own: where it starts, counted from 1, and how many
  /// lines it has with its declaration and its closing brace.
  var functions: [(firstLine: Int, lineCount: Int)] {
    code.indices.compactMap { first in
      guard Self.declaresFunction(code[first]),
        let last = Self.lastLine(ofFunctionAt: first, in: code)
      else { return nil }
      return (first + 1, last - first + 1)
    }
  }

  private static func declaresFunction(_ line: String) -> Bool {
    for word in line.split(separator: " ") {
      if word == "func" || word == "deinit" { return true }
      if ["init(", "init?(", "init<", "subscript(", "subscript<"].contains(where: word.hasPrefix) {
        return true
      }
      // Before it come only attributes and modifiers, such as `private(set)`.
      guard word.allSatisfy({ $0.isLetter || "@_()".contains($0) }) else { return false }
    }
    return false
  }

  /// The closing brace is the first line that is indented like the declaration and holds nothing
  /// else. A line that opens with `)` continues a declaration of several lines; any other line so
  /// far out means that there was no body.
  private static func lastLine(ofFunctionAt first: Int, in code: [String]) -> Int? {
    let indentation = indentation(code[first])
    for index in code.indices.dropFirst(first + 1) where !code[index].isEmpty {
      guard Self.indentation(code[index]) <= indentation else { continue }
      let content = code[index].dropFirst(Self.indentation(code[index]))
      if content == "}" { return Self.indentation(code[index]) == indentation ? index : nil }
      guard content.hasPrefix(")") || content.hasPrefix("where ") || content.hasPrefix("{") else {
        return nil
      }
    }
    return nil
  }

  private static func indentation(_ line: String) -> Int {
    line.prefix { $0 == " " }.count
  }
}

extension SwiftSource: CustomTestStringConvertible {
  var testDescription: String { path }
}

/// A type or an extension with its lines, from its declaration to its closing brace.
struct TypeDeclaration {
  let name: String
  let isExtension: Bool
  /// What stands before the opening brace: the name, and what the type inherits.
  let declaration: String
  let code: [String]

  func inherits(_ other: String) -> Bool {
    declaration.dropFirst(name.count).matches(of: /\w+/).contains { $0.output == other }
  }

  /// The words of the code, without those in texts of one line.
  var words: Set<String> {
    let withoutTexts = code.map { $0.replacing(/"(?:[^"\\]|\\.)*"/, with: "") }
    return Set(withoutTexts.flatMap { $0.matches(of: /\w+/).map { String($0.output) } })
  }
}

/// The reader of sources that the other suites rely on.
struct SwiftSourceTests {
  private func source(_ text: String) -> SwiftSource {
    SwiftSource(path: "Example.swift", text: text)
  }

  @Test(arguments: [
    ("import Alpha", "Alpha"),
    ("package import Alpha", "Alpha"),
    ("@testable import Alpha", "Alpha"),
    ("@_spi(Beta) package import Alpha", "Alpha"),
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

  @Test func `a type reaches from its declaration to its closing brace`() {
    let types = source(
      """
      package struct Example: Command, Sendable {
        init() {}

        struct Inner {}
      }

      enum Empty {}

      extension Example: Hashable {
        var system: FileIO
      }
      """
    ).types
    #expect(types.map(\.name) == ["Example", "Empty", "Example"])
    #expect(types.map(\.isExtension) == [false, false, true])
    #expect(types.map(\.code.count) == [5, 1, 3])
    #expect(types.map { $0.inherits("Command") } == [true, false, false])
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
