package import ImgSystem

/// Why a process is not locked down.
package enum SandboxError: Error, Hashable {
  /// The kernel lacks a protection that the settings require.
  case missing([String])
  /// Threads that exist already would keep their rights.
  case hasThreads
  case failed(SystemError)
}

extension SandboxError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .missing(let protections):
      "the sandbox is required (--require-sandbox), and this kernel lacks "
        + protections.joined(separator: " and ")
    case .hasThreads: "the sandbox must be locked before the process starts threads"
    case .failed(let error): "the sandbox cannot be set up: \(error)"
    }
  }
}
