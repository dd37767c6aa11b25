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
    ThisProcess.ignoreFileSizeSignal()
    let output = Output(descriptor: 1)
    let messages = Output(descriptor: 2, capacity: 0)
    let isJSON = OptionDescription.isJSONWanted(in: arguments)
    let places = TypedPlaces(in: arguments, environment: ThisProcess.environment)
    let code: ExitCode
    do {
      code = try run(arguments, output: output, messages: messages, isJSON: isJSON, places: places)
      try output.flush()
    } catch {
      // Results come before the error. Either stream may be closed.
      try? output.flush()
      guard let report = ErrorReport(error) else { return ExitCode.success.rawValue }
      try? messages.write(report.line(isJSON: isJSON, places: places))
      return report.exitCode.rawValue
    }
    return code.rawValue
  }

  private static func run(
    _ arguments: [String], output: Output, messages: Output, isJSON: Bool, places: TypedPlaces
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
        settings: settings, output: output, messages: messages, isQuiet: isQuiet, isJSON: isJSON,
        places: places)
      StoreCrash.prepare(
        for: type(of: command).storeCrashHandling, arguments, environment: environment,
        context)
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
    case .nothing where words.isVerboseRequested:
      throw UsageError(
        "imgctl: no command given; imgctl --version prints the version, and imgctl help the commands"
      )
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
    try CommandTable.requireNoQuality(in: arguments, of: type.grammar)
    let reader = try ArgumentReader(
      type.prepared(arguments), for: type.grammar,
      advice: { CommandTable.advice(on: $0, in: type.description.name) })
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
  /// Whether the arguments so far contain `--verbose` or `-v`, which prints the version elsewhere.
  private(set) var isVerboseRequested = false

  private let grammar: OptionGrammar
  private var options: [String] = []
  private var rest: ArraySlice<String>
  private var haveOptionsEnded = false

  /// - Parameter options: the options of all commands. An option takes a value in all commands or
  ///   in none, so that a value is not mistaken for a word.
  init(_ arguments: [String], options: [OptionDescription]) {
    let options = options + [.help, .version]
    grammar = OptionGrammar(options) { flag in
      CommandTable.advice(on: flag, in: "imgctl")
        ?? (Spelling.nearest(to: flag, among: options.map(\.flag)) == nil ? "see imgctl help" : nil)
    }
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
      isVerboseRequested =
        isVerboseRequested || names.contains { $0.flag == OptionDescription.verbose.flag }
    } catch {
      throw UsageError("imgctl: \(error)")
    }
    options += [argument] + before.dropLast(rest.count)
  }
}

/// What happens when a command crashes while it reads a damaged store.
package enum StoreCrashHandling: Sendable {
  /// The command ends with an error that says how to remove the store.
  case report
  /// The command runs once more and does not read the store.
  case restart
}

/// One command of `imgctl` with its checked arguments.
package protocol Command: Sendable {
  /// The name, operands, options and help. The name begins with `imgctl`.
  static var description: CommandDescription { get }

  /// Who starts a coordinator that the command starts: the person who enters the command, or the
  /// command itself, which needs one.
  static var starter: Settings.Starter { get }

  /// What happens when the command crashes while it reads a damaged store.
  static var storeCrashHandling: StoreCrashHandling { get }

  /// The arguments in the spelling of ``description``.
  static func prepared(_ arguments: [String]) throws(UsageError) -> [String]

  /// - Parameter arguments: read with ``description``.
  init(_ arguments: ArgumentReader) throws(UsageError)

  /// Runs the command.
  ///
  /// - Throws: an error whose description is a sentence for the user.
  func run(in context: CommandContext) throws -> ExitCode
}

extension Command {
  package static var starter: Settings.Starter { .command }
  package static var storeCrashHandling: StoreCrashHandling { .report }
  package static func prepared(_ arguments: [String]) throws(UsageError) -> [String] { arguments }

  /// The words after `imgctl` that call it.
  package static var words: [String] {
    description.name.split(separator: " ").dropFirst().map(String.init)
  }

  /// ``description`` with the options of all commands. The arguments are read with it, and the help
  /// is printed from it.
  package static var grammar: CommandDescription {
    description.adding([.quiet])
  }
}

/// All commands in the order of the help, and the search for a command by its words.
package enum CommandTable {
  package static let all: [any Command.Type] = [
    SubmitCommand.self,
    StatusCommand.self,
    WaitCommand.self,
    WatchCommand.self,
    FailuresCommand.self,
    RetryCommand.self,
    PauseCommand.self,
    ResumeCommand.self,
    CancelCommand.self,
    PriorityCommand.self,
    UnpinCommand.self,
    RemoveCommand.self,
    RecoverCommand.self,
    ListCommand.self,
    GetCommand.self,
    InfoCommand.self,
    ExportCommand.self,
    SheetCommand.self,
    CacheStatCommand.self,
    CacheLsCommand.self,
    CacheGetCommand.self,
    CachePutCommand.self,
    CacheRmCommand.self,
    CacheCleanCommand.self,
    CacheResetCommand.self,
    CacheVerifyCommand.self,
    CacheCompactCommand.self,
    ServeCommand.self,
    SignCommand.self,
    LimitsCommand.self,
    StartCommand.self,
    StopCommand.self,
    ConfigShowCommand.self,
    ConfigSetCommand.self,
    ConfigUnsetCommand.self,
    VersionCommand.self,
  ]

  /// The options of all commands, each flag once.
  static var options: [OptionDescription] {
    var flags: Set<String> = []
    return all.flatMap { $0.grammar.options }.filter { flags.insert($0.flag).inserted }
  }

  /// What to do instead of an option that a command does not have; `nil` if no command has it, and no other
  /// program that people know.
  ///
  /// - Parameter command: its name, such as `imgctl submit`.
  static func advice(on flag: String, in command: String) -> String? {
    if let advice = optionAdvice[flag],
      let sentence = advice.first(where: { $0.command == nil || $0.command == command })
    {
      return sentence.text
    }
    let owners = all.filter {
      $0.grammar.options.contains { $0.flag == flag || $0.shortFlag == flag }
    }
    guard !owners.isEmpty else { return nil }
    let names = owners.prefix(3).map { $0.words.joined(separator: " ") }
    return "it is an option of \(names.joined(separator: ", of "))"
  }

  /// What commands of other programs are called, and ours.
  private static let aliases = ["ls": "list", "jobs": "list", "rm": "remove", "ps": "status"]

  /// The result of the search.
  enum Match {
    case command(any Command.Type)
    /// The first word of several commands, and nothing more.
    case group(String)
    case nothing
  }

  /// Removes the words that name a command, and finds it.
  static func match(_ words: inout CommandWords) throws(UsageError) -> Match {
    var word = try words.next()
    while word == helpWord {
      words.isHelpRequested = true
      word = try words.next()
    }
    guard let first = word.map({ aliases[$0] ?? $0 }) else { return .nothing }
    let group = all.filter { $0.words.first == first }
    guard !group.isEmpty else {
      if let advice = advice(on: first) ?? adviceOnArgument(first) {
        throw UsageError("imgctl: there is no command \(Spelling.quoted(first)); \(advice)")
      }
      throw unknown(first, after: "imgctl", among: all.compactMap { $0.words.first } + [helpWord])
    }
    if let command = group.first(where: { $0.words.count == 1 }) { return .command(command) }
    guard let second = try words.next() else { return .group(first) }
    let name = second == "get" && first == "config" ? "show" : second
    guard let command = group.first(where: { $0.words.last == name }) else {
      throw unknown(second, after: "imgctl \(first)", among: group.compactMap { $0.words.last })
    }
    return .command(command)
  }

  /// The same as `--help`.
  private static let helpWord = "help"

  /// The help that lists all commands, or those of a group.
  static func overview(of group: String? = nil) -> String {
    let commands = all.filter { group == nil || $0.words.first == group }
    var text = HelpText()
    text.addParagraph("imgctl: fetch images by URL and keep their thumbnails")
    text.addHeading("Usage")
    let words = ["imgctl", group, "COMMAND [operands] [options]"].compactMap(\.self)
    text.addParagraph(words.joined(separator: " "), indentation: 2)
    text.addHeading("Commands")
    text.addDefinitions(
      commands.map { ($0.words.joined(separator: " "), $0.description.summary) })
    text.addBlankLine()
    text.addParagraph("imgctl help COMMAND describes one command.")
    if group == nil {
      text.addParagraph("ls and jobs are list, rm is remove, and ps is status.")
      text.addHeading("Options")
      let options = [OptionDescription.quiet, .help, .version]
      text.addDefinitions(options.map { ($0.usage, $0.help) })
      text.addBlankLine()
      text.addParagraph(
        "Options may stand anywhere, also before the command. If an option is repeated, the last "
          + "value counts, unless its help says Repeatable.")
      text.addHeading("Exit codes")
      text.addDefinitions([
        ("0", "success"),
        ("1", "finished, some images failed"),
        ("2", "wrong use, or something that cannot be done here"),
        ("3", "no coordinator could be reached or started"),
        ("130", "Ctrl-C; a job that was accepted continues"),
      ])
    }
    return text.rendered
  }

  private static func unknown(
    _ word: String, after words: String, among candidates: [String]
  ) -> UsageError {
    var names: [String] = []
    for candidate in candidates where !names.contains(candidate) { names.append(candidate) }
    let suggestion = Spelling.suggestion(for: word, among: names)
    let help = words.replacing("imgctl", with: "imgctl help")
    return UsageError(
      "\(words): there is no command \(Spelling.quoted(word))"
        + (suggestion.isEmpty ? "; see \(help)" : suggestion))
  }
}

/// `imgctl version`: prints the version.
package struct VersionCommand: Command {
  package let isJSON: Bool

  /// The output, also of `imgctl --version`.
  static let text = "imgctl \(Build.version)\n"

  package static let description = CommandDescription(
    name: "imgctl version", summary: "print the version",
    options: [.json],
    examples: [.init("imgctl version --json", "Also prints the version of the protocol.")])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    guard isJSON else {
      try context.output.write(Self.text)
      return .success
    }
    try context.output.write(
      json: JSONObject(["version": Build.version, "protocol": Build.protocolVersion]))
    return .success
  }
}
