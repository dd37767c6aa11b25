/// Checks a call that returns its error instead of setting errno: those of pthreads and
/// posix_spawn.
func check(_ operation: String, _ code: CInt) throws(SystemError) {
  guard code == 0 else { throw SystemError(operation: operation, code: code) }
}
