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

  package init(
    name: String, summary: String, operands: [OperandDescription] = [],
    options: [OptionDescription] = [], notes: [String] = [], examples: [Example] = []
  ) {
    self.name = name
    self.summary = summary
    self.operands = operands
    self.options = options
    self.notes = notes
    self.examples = examples
  }

  /// The same command with further options.
  package func adding(_ further: [OptionDescription]) -> CommandDescription {
    CommandDescription(
      name: name, summary: summary, operands: operands, options: options + further, notes: notes,
      examples: examples)
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
