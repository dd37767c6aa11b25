/// A wrong command line or environment. It ends a program with the exit code for wrong use.
package struct UsageError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A sentence without a full stop that names the flag, variable or word at fault.
  package let description: String

  package init(_ description: String) {
    self.description = description
  }

  /// An invalid value.
  /// - Parameter source: the flag or environment variable.
  package init(_ source: String, _ value: InvalidValue) {
    self.init("\(source): \(value.reason)")
  }
}
