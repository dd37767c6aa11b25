import CLinux
import Glibc

/// A failed system call: the operation and its errno value.
package struct SystemError: Error, Hashable, Sendable {
  /// The call, if useful with its subject, such as `open /etc/motd`.
  package let operation: String
  /// The errno value, such as `ENOENT`.
  package let code: CInt

  package init(operation: String, code: CInt) {
    self.operation = operation
    self.code = code
  }

  /// The error of this thread's last call. Any other call may overwrite it.
  package static func last(_ operation: String) -> SystemError {
    SystemError(operation: operation, code: errno)
  }
}

extension SystemError: CustomStringConvertible {
  /// For example `connect: Connection refused (ECONNREFUSED)`.
  package var description: String {
    guard let text = unsafe img_error_text(code), let name = unsafe img_error_name(code) else {
      return "\(operation): error \(code)"
    }
    return unsafe "\(operation): \(String(cString: text)) (\(String(cString: name)))"
  }
}
