import CLinux
import Glibc

/// A system call that failed: what was attempted, and the errno value that says why.
package struct SystemError: Error, Hashable, Sendable {
  /// The call, with what it was about where that helps, such as `open /etc/motd`.
  package let operation: String
  /// The errno value, to compare with `ENOENT` and its like.
  package let code: CInt

  package init(operation: String, code: CInt) {
    self.operation = operation
    self.code = code
  }

  /// The failure of the call that this thread made last. To be taken before anything else runs that
  /// could make a call of its own.
  package static func last(_ operation: String) -> SystemError {
    SystemError(operation: operation, code: errno)
  }
}

extension SystemError: CustomStringConvertible {
  /// Such as `connect: Connection refused (ECONNREFUSED)`.
  package var description: String {
    guard let text = unsafe img_error_text(code), let name = unsafe img_error_name(code) else {
      return "\(operation): error \(code)"
    }
    return unsafe "\(operation): \(String(cString: text)) (\(String(cString: name)))"
  }
}
