import ImgSettings

/// The arguments of `imgctl` during the search for the command. Options may stand before and
/// between the words that name it. The command reads them later, as if they followed its words.
struct CommandWords {
  /// Whether the arguments so far contain `--help`, `-h` or the word `help`.
  var isHelpRequested = false
  /// Whether the arguments so far contain `--version` or `-V`.
  private(set) var isVersionRequested = false

  private let grammar: OptionGrammar
  private var options: [String] = []
  private var rest: ArraySlice<String>
  private var haveOptionsEnded = false

  /// - Parameter options: the options of all commands. An option takes a value in all commands or
  ///   in none, so that a value is not mistaken for a word.
  init(_ arguments: [String], options: [OptionDescription]) {
    grammar = OptionGrammar(options + [.help, .version])
    rest = arguments[...]
  }

  /// The arguments for the command, after its words were removed.
  var arguments: [String] {
    options + (haveOptionsEnded ? ["--"] : []) + rest
  }

  /// Removes the next word; `nil` if there is none.
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
