import ImgClient
import ImgModel
package import ImgSettings
import ImgSystem

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
    LimitsCommand.self,
    StartCommand.self,
    StopCommand.self,
    VersionCommand.self,
  ]

  /// The options of all commands, each flag once.
  static var options: [OptionDescription] {
    var flags: Set<String> = []
    return all.flatMap { $0.grammar.options }.filter { flags.insert($0.flag).inserted }
  }

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
    guard let first = word else { return .nothing }
    let group = all.filter { $0.words.first == first }
    guard !group.isEmpty else {
      throw unknown(first, after: "imgctl", among: all.compactMap { $0.words.first } + [helpWord])
    }
    if let command = group.first(where: { $0.words.count == 1 }) { return .command(command) }
    guard let second = try words.next() else { return .group(first) }
    guard let command = group.first(where: { $0.words.last == second }) else {
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
        ("130", "Ctrl-C while a job was watched; the job continues"),
      ])
    }
    return text.rendered
  }

  private static func unknown(
    _ word: String, after words: String, among candidates: [String]
  ) -> UsageError {
    var names: [String] = []
    for candidate in candidates where !names.contains(candidate) { names.append(candidate) }
    return UsageError(
      "\(words): there is no command \(Spelling.quoted(word))"
        + Spelling.suggestion(for: word, among: names))
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
