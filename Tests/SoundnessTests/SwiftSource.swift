import Testing

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
    let access = /(?:@\w+ |public |package |internal |private |fileprivate )*/
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
    let kinds = /(?:@\w+ |[a-z]+ )*?(struct|class|enum|actor|protocol|extension)\s/
    return code.indices.compactMap { first in
      guard let kind = code[first].prefixMatch(of: kinds) else { return nil }
      let declared = code[first][kind.range.upperBound...].prefix { $0 != "{" }
      let end = code[first...].firstIndex { $0 == "}" || $0.hasSuffix("{}") } ?? first
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
