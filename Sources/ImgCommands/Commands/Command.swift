package import ImgSettings

/// One command of `imgctl` with its checked arguments.
package protocol Command: Sendable {
  /// The name, operands, options and help. The name begins with `imgctl`.
  static var description: CommandDescription { get }

  /// - Parameter arguments: read with ``description``.
  init(_ arguments: ArgumentReader) throws(UsageError)

  /// Runs the command.
  ///
  /// - Throws: an error whose description is a sentence for the user.
  func run(in context: CommandContext) throws -> ExitCode
}

extension Command {
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
