/// How a process ended.
package enum ExitStatus: Hashable, Sendable {
  /// The process called exit with this value, 0…255.
  case exited(Int32)
  /// A signal killed the process.
  case signalled(Int32)
}

extension ExitStatus: CustomStringConvertible {
  /// A predicate for a sentence: `exited with status 1`, `was killed by signal 9 (SIGKILL)`.
  package var description: String {
    switch self {
    case .exited(let status):
      return "exited with status \(status)"
    case .signalled(let signal):
      let name = Signal.name(of: signal).map { " (\($0))" } ?? ""
      return "was killed by signal \(signal)\(name)"
    }
  }
}
