import CLinux
import Glibc

/// The start parameters of a thread, which it gets through a single pointer.
private final class ThreadStart {
  let name: String
  let body: @Sendable () -> Void

  init(name: String, body: @escaping @Sendable () -> Void) {
    self.name = name
    self.body = body
  }
}

/// Starts a thread that blocks all signals, so that they reach the ``SignalSource`` of the main thread,
/// except those of its own faults, see ``CrashRegion``.
///
/// - Parameter name: the name in ps and debuggers. The kernel keeps 15 bytes.
func startThread(
  name: String, stackByteCount: Int, body: @escaping @Sendable () -> Void
) throws(SystemError) -> pthread_t {
  var attributes = pthread_attr_t()
  try check("pthread_attr_init", unsafe pthread_attr_init(&attributes))
  defer { unsafe pthread_attr_destroy(&attributes) }
  try check(
    "pthread_attr_setstacksize", unsafe pthread_attr_setstacksize(&attributes, stackByteCount))
  var signals = sigset_t()
  unsafe sigfillset(&signals)
  for signal in CrashRegion.signals { unsafe sigdelset(&signals, signal) }
  try check("pthread_attr_setsigmask_np", unsafe pthread_attr_setsigmask_np(&attributes, &signals))

  // The new thread owns it. Released here if there is no thread.
  let start = unsafe Unmanaged.passRetained(ThreadStart(name: name, body: body))
  var thread = pthread_t()
  let code = unsafe pthread_create(
    &thread, &attributes,
    { context in
      guard let context = unsafe context else { return nil }
      let start = unsafe Unmanaged<ThreadStart>.fromOpaque(context).takeRetainedValue()
      unsafe pthread_setname_np(
        pthread_self(), String(decoding: start.name.utf8.prefix(15), as: UTF8.self))
      start.body()
      return nil
    }, start.toOpaque())
  if code != 0 { unsafe start.release() }
  try check("pthread_create", code)
  return thread
}
