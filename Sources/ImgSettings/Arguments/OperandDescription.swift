/// A positional argument of a command.
package struct OperandDescription: Hashable, Sendable {
  /// How often the operand may occur on a command line.
  package enum Count: Hashable, Sendable {
    case one
    case optional
    /// One or more; only for the last operand of a command.
    case many
    /// Any number; only for the last operand of a command.
    case any

    var isRequired: Bool { self == .one || self == .many }
    var isUnbounded: Bool { self == .many || self == .any }
  }

  /// The placeholder in the help, such as `JOB`.
  package let name: String
  package let count: Count
  package let help: String

  package init(_ name: String, _ count: Count = .one, help: String) {
    self.name = name
    self.count = count
    self.help = help
  }

  /// The placeholder in a synopsis.
  package var usage: String {
    switch count {
    case .one: name
    case .optional: "[\(name)]"
    case .many: "\(name)..."
    case .any: "[\(name)...]"
    }
  }
}
