import Glibc

/// Makes a system call and returns its result, or throws its error.
///
/// Repeats a call that a signal interrupted before it did anything (EINTR, signal(7)).
package func systemCall<Result: FixedWidthInteger & SignedInteger>(
  _ operation: @autoclosure () -> String, _ call: () -> Result
) throws(SystemError) -> Result {
  while true {
    let result = call()
    if result != -1 { return result }
    let code = errno
    if code != EINTR { throw SystemError(operation: operation(), code: code) }
  }
}

/// Makes a system call that takes `path`. Its error names the path.
///
/// - Throws: EINVAL for a path with a zero byte, because C reads only the part before it.
func pathCall<Result: FixedWidthInteger & SignedInteger>(
  _ operation: String, _ path: String, _ call: () -> Result
) throws(SystemError) -> Result {
  guard unsafe path.withCString({ unsafe strlen($0) }) == path.utf8.count else {
    throw SystemError(operation: operation, code: EINVAL)
  }
  return try systemCall("\(operation) \(path)", call)
}
