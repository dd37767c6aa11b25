package import ImgSettings
import ImgWire

/// What a command line of `imgctl` asks for.
package enum Invocation: Sendable {
  /// Print this text.
  case print(String)
  /// Run a command, which reaches the coordinator at these places or starts one with these
  /// settings.
  case run(any Command, Settings)

  /// - Parameters:
  ///   - arguments: without the program's name.
  ///   - userID: of the user who calls.
  /// - Throws: ``UsageError`` that begins with the words of the program and command.
  package init(
    arguments: [String], environment: [String: String], userID: UInt32
  ) throws(UsageError) {
    var rest = arguments[...]
    switch rest.first {
    case nil:
      self = .print(CommandTable.overview())
      return
    case "--version":
      self = .print("imgctl \(Build.version)\n")
      return
    case let first? where first == "help" || CommandTable.isHelp(first):
      self = .print(try Self.help(on: rest.dropFirst()))
      return
    default:
      break
    }
    switch try CommandTable.match(&rest) {
    case .group(let group):
      guard !rest.isEmpty else {
        throw UsageError("imgctl \(group): no command; see imgctl help \(group)")
      }
      self = .print(CommandTable.overview(of: group))
    case .command(let type):
      do {
        self = try Self.invocation(
          of: type, Array(rest), environment: environment, userID: userID)
      } catch {
        throw UsageError("\(type.description.name): \(error)")
      }
    }
  }

  private static func help(on words: ArraySlice<String>) throws(UsageError) -> String {
    guard !words.isEmpty else { return CommandTable.overview() }
    var rest = words
    switch try CommandTable.match(&rest) {
    case .group(let group): return CommandTable.overview(of: group)
    case .command(let type): return type.description.help
    }
  }

  private static func invocation(
    of type: any Command.Type, _ arguments: [String], environment: [String: String],
    userID: UInt32
  ) throws(UsageError) -> Invocation {
    let reader = try ArgumentReader(arguments, for: type.description)
    if reader.isHelpRequested { return .print(type.description.help) }
    let settings = try Settings(
      reader, environment: environment, userID: userID,
      startedBy: type is StartCommand.Type ? .person : .command)
    return .run(try type.init(reader), settings)
  }
}
