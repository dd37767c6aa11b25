import ImgClient
import ImgModel
package import ImgSettings
import ImgSystem

/// Runs the program `imgctl`.
package enum CommandMain {
  /// - Parameter arguments: without the program's name.
  /// - Returns: the exit code, see ``ExitCode``.
  package static func run(arguments: [String]) -> Int32 {
    ThisProcess.forbidDumps()
    ThisProcess.ignoreBrokenPipe()
    let output = Output(descriptor: 1)
    let messages = Output(descriptor: 2, capacity: 0)
    let isJSON = OptionDescription.isJSONWanted(in: arguments)
    let code: ExitCode
    do {
      code = try run(arguments, output: output, messages: messages, isJSON: isJSON)
      try output.flush()
    } catch {
      // Results come before the error. Either stream may be closed.
      try? output.flush()
      guard let report = ErrorReport(error) else { return ExitCode.success.rawValue }
      try? messages.write(report.line(isJSON: isJSON))
      return report.exitCode.rawValue
    }
    return code.rawValue
  }

  private static func run(
    _ arguments: [String], output: Output, messages: Output, isJSON: Bool
  ) throws -> ExitCode {
    let environment = ThisProcess.environment
    let invocation = try Invocation(
      arguments: arguments, environment: environment, userID: ThisProcess.userID)
    switch invocation {
    case .print(let text):
      try output.write(text)
      return .success
    case .run(let command, let settings, let isQuiet):
      let context = CommandContext(
        settings: settings, output: output, messages: messages, isQuiet: isQuiet, isJSON: isJSON)
      StoreCrash.prepare(
        for: type(of: command).storeCrashHandling, arguments, environment: environment,
        settings: context.settings, isJSON: isJSON)
      return try command.run(in: context)
    }
  }
}

/// A parsed command line of `imgctl`.
package enum Invocation: Sendable {
  /// Print this text.
  case print(String)
  /// Run a command. It uses the coordinator at the places of the settings, or starts one with them.
  case run(any Command, Settings, isQuiet: Bool)

  /// - Parameters:
  ///   - arguments: without the program's name.
  ///   - userID: the user who runs the program.
  /// - Throws: ``UsageError`` that begins with the name of the program and command.
  package init(
    arguments: [String], environment: [String: String], userID: UInt32
  ) throws(UsageError) {
    var words = CommandWords(arguments, options: CommandTable.options)
    let match = try CommandTable.match(&words)
    if words.isVersionRequested {
      self = .print(VersionCommand.text)
      return
    }
    let isHelpRequested = words.isHelpRequested || arguments.isEmpty
    switch match {
    case .nothing where isHelpRequested: self = .print(CommandTable.overview())
    case .nothing: throw UsageError("imgctl: no command given; see imgctl help")
    case .group(let group) where isHelpRequested: self = .print(CommandTable.overview(of: group))
    case .group(let group):
      throw UsageError("imgctl \(group): no command given; see imgctl help \(group)")
    case .command(let type) where isHelpRequested: self = .print(type.grammar.help)
    case .command(let type):
      do {
        self = try Self.invocation(
          of: type, words.arguments, environment: environment, userID: userID)
      } catch {
        throw UsageError("\(type.description.name): \(error)")
      }
    }
  }

  private static func invocation(
    of type: any Command.Type, _ arguments: [String], environment: [String: String],
    userID: UInt32
  ) throws(UsageError) -> Invocation {
    let reader = try ArgumentReader(arguments, for: type.grammar)
    if reader.isHelpRequested { return .print(type.grammar.help) }
    let settings = try Settings(
      reader, environment: environment, userID: userID,
      startedBy: type.starter)
    return .run(try type.init(reader), settings, isQuiet: reader.contains(.quiet))
  }
}

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
