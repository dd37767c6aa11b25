/// Why a list cannot be read.
package enum ListError: Error, Hashable, Sendable, CustomStringConvertible {
  /// It contains a zero byte in a line, counted from 1.
  case notText(name: String, line: Int)
  case unreadable(reason: String)

  package var description: String {
    switch self {
    case .notText(let name, let line):
      "\(name) is not a text file (line \(line)); a list has one URL a line"
    case .unreadable(let reason): reason
    }
  }
}
