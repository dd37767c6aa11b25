import Glibc

/// Makes a system call and gives its result; the one place where a failure becomes an error.
///
/// A call that a signal interrupted before it did anything (EINTR, signal(7)) is made again.
func systemCall<Result: FixedWidthInteger & SignedInteger>(
  _ operation: @autoclosure () -> String, _ call: () -> Result
) throws(SystemError) -> Result {
  while true {
    let result = call()
    if result != -1 { return result }
    let code = errno
    if code != EINTR { throw SystemError(operation: operation(), code: code) }
  }
}

/// Makes a system call that takes `path`, which the error then names.
///
/// - Throws: EINVAL for a path that holds a zero byte: C would read only what stands before it.
func pathCall<Result: FixedWidthInteger & SignedInteger>(
  _ operation: String, _ path: String, _ call: () -> Result
) throws(SystemError) -> Result {
  guard !path.utf8.contains(0) else { throw SystemError(operation: operation, code: EINVAL) }
  return try systemCall("\(operation) \(path)", call)
}
