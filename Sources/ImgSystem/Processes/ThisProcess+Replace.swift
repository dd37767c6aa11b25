import CLinux
import Glibc

extension ThisProcess {
  /// Becomes another program, with this process's number, environment and open standard streams
  /// (execv(3)). Returns only by throwing.
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
