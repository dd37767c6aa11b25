/// Why a list cannot be read.
package enum ListError: Error, Hashable, Sendable, CustomStringConvertible {
  /// It contains a zero byte.
  case notText(name: String)
  case unreadable(reason: String)

  package var description: String {
    switch self {
    case .notText(let name): "\(name) is not a text file; a list has one URL a line"
    case .unreadable(let reason): reason
    }
  }
}
