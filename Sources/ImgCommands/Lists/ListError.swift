package import ImgSystem

/// Why a list cannot be read.
package enum ListError: Error, Hashable, Sendable, CustomStringConvertible {
  /// It holds what no text does.
  case notText(name: String)
  case unreadable(SystemError)

  package var description: String {
    switch self {
    case .notText(let name): "\(name) is not a text file; a list is one URL a line"
    case .unreadable(let error): error.description
    }
  }
}
