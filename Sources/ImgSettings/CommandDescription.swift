/// The interface of a program or command: its name, operands, options and help. The arguments are
/// read with it and the help is printed from it, so the two cannot differ.
package struct CommandDescription: Sendable {
  /// A valid command line and its effect.
  package struct Example: Sendable {
    package let commandLine: String
    package let explanation: String

    package init(_ commandLine: String, _ explanation: String) {
      self.commandLine = commandLine
      self.explanation = explanation
    }
  }

  /// The words of the command, such as `imgctl cache rm`.
  package let name: String
  /// One line without a full stop.
  package let summary: String
  package let operands: [OperandDescription]
  package let options: [OptionDescription]
  /// Paragraphs below the options.
  package let notes: [String]
  package let examples: [Example]
  /// What to type for more operands than the command takes; `nil` for nothing.
  let surplusAdvice: String?

  package init(
    name: String, summary: String, operands: [OperandDescription] = [],
    options: [OptionDescription] = [], notes: [String] = [], examples: [Example] = [],
    surplusAdvice: String? = nil
  ) {
    self.name = name
    self.summary = summary
    self.operands = operands
    self.options = options
    self.notes = notes
    self.examples = examples
    self.surplusAdvice = surplusAdvice
  }

  /// The same command with further options.
  package func adding(_ further: [OptionDescription]) -> CommandDescription {
    CommandDescription(
      name: name, summary: summary, operands: operands, options: options + further, notes: notes,
      examples: examples, surplusAdvice: surplusAdvice)
  }

  /// One line that shows how to write the command.
  package var synopsis: String {
    let optionsUsage = options.isEmpty ? [] : ["[options]"]
    return ([name] + operands.map(\.usage) + optionsUsage).joined(separator: " ")
  }

  /// The output of `--help`. No line exceeds ``HelpText/width`` unless a single word does.
  package var help: String {
    var text = HelpText()
    text.addParagraph("\(name): \(summary)")
    text.addHeading("Usage")
    text.addParagraph(synopsis, indentation: 2)
    if !operands.isEmpty {
      text.addHeading("Operands")
      text.addDefinitions(operands.map { ($0.name, $0.help) })
    }
    text.addHeading("Options")
    text.addDefinitions((options + [.help]).map { ($0.usage, $0.help) })
    for note in notes {
      text.addBlankLine()
      text.addParagraph(note)
    }
    if !examples.isEmpty {
      text.addHeading("Examples")
      for example in examples {
        text.addParagraph(example.commandLine, indentation: 2)
        text.addParagraph(example.explanation, indentation: 6)
      }
    }
    return text.rendered
  }
}

/// A positional argument of a command.
package struct OperandDescription: Hashable, Sendable {
  /// How often the operand may occur on a command line.
  package enum Count: Hashable, Sendable {
    case one
    case optional
    /// One or more; only for the last operand of a command.
    case many
    /// Any number; only for the last operand of a command.
    case any

    var isRequired: Bool { self == .one || self == .many }
    var isUnbounded: Bool { self == .many || self == .any }
  }

  /// The placeholder in the help, such as `JOB`.
  package let name: String
  package let count: Count
  package let help: String

  package init(_ name: String, _ count: Count = .one, help: String) {
    self.name = name
    self.count = count
    self.help = help
  }

  /// The placeholder in a synopsis.
  package var usage: String {
    switch count {
    case .one: name
    case .optional: "[\(name)]"
    case .many: "\(name)..."
    case .any: "[\(name)...]"
    }
  }
}

/// An option of a command: its spelling and its help.
package struct OptionDescription: Hashable, Sendable {
  /// The long flag with its dashes, such as `--size`.
  package let flag: String
  /// The short flag with one dash and one letter, such as `-o`.
  package let shortFlag: String?
  /// The placeholder for the value in the help; `nil` for an option without a value.
  package let placeholder: String?
  package let help: String
  /// The value of an option that is given without one. Such an option has its value in the same
  /// argument, as in `--crop=attention`; a separate argument is not its value.
  package let impliedValue: String?
  /// Words that are values of such an option. As a separate argument they are refused, because people
  /// write them so.
  package let attachedWords: [String]
  /// Whether all words of letters, and numbers with commas between them, such as `0.5,0.5`, are such values, too.
  package let attachesWords: Bool
  /// Whether all values count if the option is repeated, instead of the last one.
  package let isRepeatable: Bool

  package init(
    _ flag: String, short shortFlag: String? = nil, _ placeholder: String? = nil,
    help: String, impliedValue: String? = nil, attachedWords: [String] = [],
    attachesWords: Bool = false, isRepeatable: Bool = false
  ) {
    self.flag = flag
    self.shortFlag = shortFlag
    self.placeholder = placeholder
    self.help = help
    self.impliedValue = impliedValue
    self.attachedWords = attachedWords
    self.attachesWords = attachesWords
    self.isRepeatable = isRepeatable
  }

  /// An option of every program and command. Descriptions do not list it.
  package static let help = OptionDescription("--help", short: "-h", help: "Show this help.")

  /// An option of programs, not of their commands.
  package static let version = OptionDescription(
    "--version", short: "-V", help: "Print the version.")

  /// The environment variable of a setting with this flag, such as `IMGCTL_DATA_DIR` for `--data-dir`.
  package var environmentVariable: String {
    "IMGCTL_" + flag.dropFirst(2).uppercased().split(separator: "-").joined(separator: "_")
  }

  /// The values in the text of its variable.
  func texts(ofVariable text: String) -> [String] {
    isRepeatable ? text.split(separator: ",").map(String.init) : [text]
  }

  /// Whether a separate argument was meant as the value of an option with an ``impliedValue``.
  func isMeant(by word: String) -> Bool {
    attachedWords.contains(word) || attachesWords && (Self.isWord(word) || Self.isPoint(word))
  }

  private static func isWord(_ text: String) -> Bool {
    text.utf8.allSatisfy { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 }
  }

  private static func isPoint(_ text: String) -> Bool {
    text.contains(",") && text.utf8.allSatisfy { "0123456789.,".utf8.contains($0) }
  }

  /// The flags and the placeholder in the help.
  package var usage: String {
    let flags = shortFlag.map { "\($0), \(flag)" } ?? flag
    guard let placeholder else { return flags }
    return impliedValue == nil ? "\(flags) \(placeholder)" : "\(flags)[=\(placeholder)]"
  }
}

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
