package import ImgSettings

/// One command of `imgctl`, its arguments read and checked.
package protocol Command: Sendable {
  /// What it is called, takes and does; its name begins with `imgctl`.
  static var description: CommandDescription { get }

  /// - Parameter arguments: read by ``description``.
  init(_ arguments: ArgumentReader) throws(UsageError)

  /// Does it.
  ///
  /// - Throws: any error whose description is a sentence for the person who called.
  func run(in context: CommandContext) throws -> ExitCode
}

extension Command {
  /// The words after `imgctl` that call it.
  package static var words: [String] {
    description.name.split(separator: " ").dropFirst().map(String.init)
  }

  /// ``description`` with what every command has: by this its arguments are read, and its help is
  /// written.
  package static var grammar: CommandDescription {
    description.adding([.quiet])
  }
}
