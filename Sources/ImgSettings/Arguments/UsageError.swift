/// A command line or an environment that asks for nothing that could be done. It ends a program
/// with the exit code for wrong use.
package struct UsageError: Error, Hashable, Sendable, CustomStringConvertible {
  /// One sentence that names the flag, variable or word at fault, without a full stop.
  package let description: String

  package init(_ description: String) {
    self.description = description
  }

  /// A value that does not fit where it was given.
  /// - Parameter source: the flag or environment variable.
  package init(_ source: String, _ value: InvalidValue) {
    self.init("\(source): \(value.reason)")
  }
}
