/// Formats text for a terminal: headings, paragraphs and lists of definitions.
package struct HelpText: Sendable {
  /// The width of the narrowest common terminal.
  package static let width = 80

  /// The last column at which explanations start. A longer term gets a line of its own.
  private static let maximumDefinitionColumn = 28

  private var lines: [String] = []

  package init() {}

  /// All lines, each with a line feed.
  package var rendered: String {
    lines.map { $0 + "\n" }.joined()
  }

  package mutating func addBlankLine() {
    lines.append("")
  }

  package mutating func addHeading(_ heading: String) {
    addBlankLine()
    lines.append("\(heading):")
  }

  /// - Parameter indentation: the number of spaces before every line.
  package mutating func addParagraph(_ text: String, indentation: Int = 0) {
    let margin = String(repeating: " ", count: indentation)
    lines += Self.wrapped(text, width: Self.width - indentation).map { margin + $0 }
  }

  /// Adds terms with their explanations in a second column.
  package mutating func addDefinitions(_ definitions: [(term: String, explanation: String)]) {
    let longest = definitions.map(\.term.count).max() ?? 0
    let column = min(longest + 4, Self.maximumDefinitionColumn)
    for (term, explanation) in definitions {
      let head = "  " + term
      var explanation = Self.wrapped(explanation, width: Self.width - column)[...]
      if head.count + 2 <= column {
        let gap = String(repeating: " ", count: column - head.count)
        lines.append(head + gap + (explanation.popFirst() ?? ""))
      } else {
        lines.append(head)
      }
      lines += explanation.map { String(repeating: " ", count: column) + $0 }
    }
  }

  /// Breaks `text` at spaces into lines of at most `width` characters. A longer word is not broken.
  private static func wrapped(_ text: String, width: Int) -> [String] {
    var lines: [String] = []
    for word in text.split(separator: " ") {
      if let last = lines.last, last.count + 1 + word.count <= width {
        lines[lines.count - 1] = "\(last) \(word)"
      } else {
        lines.append(String(word))
      }
    }
    return lines
  }
}
