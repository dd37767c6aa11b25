import ImgSettings

/// Every command, in the order of the help, and how one is found by its words.
enum CommandTable {
  static let all: [any Command.Type] = [
    SubmitCommand.self,
    StatusCommand.self,
    WaitCommand.self,
    FailuresCommand.self,
    RetryCommand.self,
    PauseCommand.self,
    ResumeCommand.self,
    CancelCommand.self,
    PriorityCommand.self,
    RemoveCommand.self,
    RecoverCommand.self,
    ListCommand.self,
    GetCommand.self,
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
    LimitsCommand.self,
    StartCommand.self,
    StopCommand.self,
  ]

  /// What a person named by the first words of a command line.
  enum Match {
    case command(any Command.Type)
    /// The first word of several commands, and nothing more.
    case group(String)
  }

  /// Takes the words that name a command from the front of `arguments`.
  static func match(_ arguments: inout ArraySlice<String>) throws(UsageError) -> Match {
    guard let first = arguments.popFirst() else { throw UsageError("imgctl: no command") }
    let group = all.filter { $0.words.first == first }
    guard !group.isEmpty else {
      throw unknown(first, after: "imgctl", among: all.compactMap { $0.words.first })
    }
    if let command = group.first(where: { $0.words.count == 1 }) { return .command(command) }
    guard let second = arguments.first, !isHelp(second) else { return .group(first) }
    arguments.removeFirst()
    guard let command = group.first(where: { $0.words.last == second }) else {
      throw unknown(second, after: "imgctl \(first)", among: group.compactMap { $0.words.last })
    }
    return .command(command)
  }

  static func isHelp(_ argument: String) -> Bool {
    [OptionDescription.help.flag, OptionDescription.help.shortFlag].contains(argument)
  }

  /// The list of all commands, or of those of a group.
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
    text.addParagraph("imgctl help COMMAND tells more about one; imgctl --version, the version.")
    if group == nil {
      text.addHeading("Exit codes")
      text.addDefinitions([
        ("0", "all well"),
        ("1", "finished, some images failed"),
        ("2", "wrong use, or something that cannot be done here"),
        ("3", "no coordinator could be reached or started"),
        ("130", "Ctrl-C while a job was watched; the job goes on"),
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
