import ImgSettings

/// The arguments of `imgctl` while the command is looked for. Options may stand before and between
/// the words that name it; the command reads them later, as if they stood behind its words.
struct CommandWords {
  /// Whether `--help` or `-h` was met, or the word `help`, which is of the same meaning.
  var isHelpRequested = false
  /// Whether `--version` or `-V` was met.
  private(set) var isVersionRequested = false

  private let grammar: OptionGrammar
  private var options: [String] = []
  private var rest: ArraySlice<String>
  private var haveOptionsEnded = false

  /// - Parameter options: those of all commands. Each takes a value in all commands or in none,
  ///   so that its value is not mistaken for a word.
  init(_ arguments: [String], options: [OptionDescription]) {
    grammar = OptionGrammar(options + [.help, .version])
    rest = arguments[...]
  }

  /// What the command reads, once its words were taken.
  var arguments: [String] {
    options + (haveOptionsEnded ? ["--"] : []) + rest
  }

  /// Takes the next word; `nil` when none is left.
  mutating func next() throws(UsageError) -> String? {
    while let argument = rest.popFirst() {
      if haveOptionsEnded || !OptionGrammar.isOption(argument) { return argument }
      if argument == "--" {
        haveOptionsEnded = true
      } else {
        try pass(argument)
      }
    }
    return nil
  }

  private mutating func pass(_ argument: String) throws(UsageError) {
    let before = rest
    do throws(UsageError) {
      let names = try grammar.read(argument, rest: &rest).map(\.option)
      isHelpRequested = isHelpRequested || names.contains(.help)
      isVersionRequested = isVersionRequested || names.contains(.version)
    } catch {
      throw UsageError("imgctl: \(error)")
    }
    options += [argument] + before.dropLast(rest.count)
  }
}
