/// One thing that a command works on, given by its place.
package struct OperandDescription: Hashable, Sendable {
  /// How often the operand stands on a command line.
  package enum Count: Hashable, Sendable {
    case one
    case optional
    /// Once or more; only the last operand of a command.
    case many
    /// Any number of times; only the last operand of a command.
    case any

    var isRequired: Bool { self == .one || self == .many }
    var isUnbounded: Bool { self == .many || self == .any }
  }

  /// What stands for the operand in the help, such as `JOB`.
  package let name: String
  package let count: Count
  package let help: String

  package init(_ name: String, _ count: Count = .one, help: String) {
    self.name = name
    self.count = count
    self.help = help
  }

  /// The name as a synopsis writes it.
  package var usage: String {
    switch count {
    case .one: name
    case .optional: "[\(name)]"
    case .many: "\(name)..."
    case .any: "[\(name)...]"
    }
  }
}
