package import ImgSettings

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
