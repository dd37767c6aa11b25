import ImgModel
package import ImgSettings

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
