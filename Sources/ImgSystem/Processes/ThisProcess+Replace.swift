import CLinux
import Glibc

extension ThisProcess {
  /// Replaces this program by another one (execv(3)), which keeps the process number, the
  /// environment and the standard streams. Returns only by throwing.
  package static func replace(
    with executable: String, arguments: [String]
  ) throws(SystemError) -> Never {
    let error = unsafe withCStrings([executable] + arguments) { vector in
      unsafe execv(executable, vector)
      return SystemError.last("execv \(executable)")
    }
    throw error
  }
}
