import ImgModel
package import ImgSettings

/// What a command line of `imgctl` asks for.
package enum Invocation: Sendable {
  /// Print this text.
  case print(String)
  /// Run a command, which reaches the coordinator at these places or starts one with these
  /// settings.
  case run(any Command, Settings, isQuiet: Bool)

  /// - Parameters:
  ///   - arguments: without the program's name.
  ///   - userID: of the user who calls.
  /// - Throws: ``UsageError`` that begins with the words of the program and command.
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
    case .nothing: throw UsageError("imgctl: no command; see imgctl help")
    case .group(let group) where isHelpRequested: self = .print(CommandTable.overview(of: group))
    case .group(let group):
      throw UsageError("imgctl \(group): no command; see imgctl help \(group)")
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
      startedBy: type is StartCommand.Type ? .person : .command)
    return .run(try type.init(reader), settings, isQuiet: reader.contains(.quiet))
  }
}
