import CLinux
import Glibc

/// Lets a call write up to `maximumByteCount` bytes at the end of `buffer`, without clearing that
/// memory first.
///
/// - Parameter call: returns the number of bytes it wrote, or -1 with errno.
func append(
  to buffer: inout [UInt8], upTo maximumByteCount: Int, operation: String,
  _ call: (UnsafeMutableBufferPointer<UInt8>) -> Int
) throws(SystemError) -> Int {
  var appendedCount = 0
  try buffer.append(addingCapacity: maximumByteCount) { output throws(SystemError) in
    try unsafe output.withUnsafeMutableBufferPointer { bytes, count throws(SystemError) in
      appendedCount = try systemCall(operation) { unsafe call(bytes) }
      count += appendedCount
    }
  }
  return appendedCount
}

/// Checks a call that returns its error instead of setting errno: those of pthreads and
/// posix_spawn.
func check(_ operation: String, _ code: CInt) throws(SystemError) {
  guard code == 0 else { throw SystemError(operation: operation, code: code) }
}

/// Durations in the units of system calls.
extension Duration {
  /// The timeout for poll(2) and epoll_wait(2), in milliseconds. Rounded up, so that a wait never
  /// ends just before its deadline; 0 for the past; at most 24 days.
  var pollTimeout: CInt {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    guard seconds < Int64(CInt.max) / 1000 else { return CInt.max }
    let attosecondsPerMillisecond: Int64 = 1_000_000_000_000_000
    let milliseconds = (attoseconds + attosecondsPerMillisecond - 1) / attosecondsPerMillisecond
    return CInt(seconds * 1000 + milliseconds)
  }

  /// For nanosleep(2).
  var timespec: timespec {
    let (seconds, attoseconds) = components
    return Glibc.timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
  }

  /// The time that a clock shows.
  init(_ time: timespec) {
    self = .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }
}

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

/// A failed system call: the operation and its errno value.
package struct SystemError: Error, Hashable, Sendable {
  /// The call, if useful with its subject, such as `open /etc/motd`.
  package let operation: String
  /// The errno value, such as `ENOENT`.
  package let code: CInt
  /// True if no call failed: this program refuses a place, and the operation says why.
  package let isRefusal: Bool

  package init(operation: String, code: CInt, isRefusal: Bool = false) {
    self.operation = operation
    self.code = code
    self.isRefusal = isRefusal
  }

  /// The error of this thread's last call. Any other call may overwrite it.
  package static func last(_ operation: String) -> SystemError {
    SystemError(operation: operation, code: errno)
  }
}

extension SystemError: CustomStringConvertible {
  /// For example `connect: Connection refused (ECONNREFUSED)`.
  package var description: String {
    "\(operation): \(reason)"
  }

  /// Whether a file could not be written because of the room on its disk, or that of its user.
  package var meansFullDisk: Bool { [ENOSPC, EDQUOT].contains(code) }

  /// For people: the description, without the name of an error where no call failed.
  package var sentence: String { isRefusal ? "it would \(operation)" : description }

  /// For a sentence that names the operation, such as `Connection refused (ECONNREFUSED)`.
  package var reason: String {
    guard let text = unsafe img_error_text(code), let name = unsafe img_error_name(code) else {
      return "error \(code)"
    }
    return unsafe "\(String(cString: text)) (\(String(cString: name)))"
  }
}

/// The unique owner of an open file descriptor, which it closes in `deinit`.
///
/// Every descriptor of this module is close-on-exec, so a child gets only the descriptors that
/// `ChildProcess.spawn` passes.
package struct OwnedDescriptor: ~Copyable, Sendable {
  /// The number, for calls. Valid only while the owner lives.
  package let rawValue: CInt

  /// Takes ownership of an open descriptor.
  package init(adopting descriptor: CInt) {
    precondition(descriptor >= 0, "not a descriptor")
    rawValue = descriptor
  }

  deinit {
    // Not repeated after EINTR: Linux has already freed the number, and another thread may have it
    // (close(2), "Dealing with error returns").
    if close(rawValue) != 0 {
      precondition(errno != EBADF, "descriptor \(rawValue) was closed behind its owner's back")
    }
  }

  /// Releases ownership without closing. The caller closes the descriptor.
  package consuming func release() -> CInt {
    let descriptor = rawValue
    discard self
    return descriptor
  }

  /// A second descriptor of the same open file.
  package func duplicate() throws(SystemError) -> OwnedDescriptor {
    OwnedDescriptor(
      adopting: try systemCall("fcntl F_DUPFD_CLOEXEC") { fcntl(rawValue, F_DUPFD_CLOEXEC, 0) })
  }
}

/// An open file that one process passes to another beside a message: a memory file, or one end of a
/// socket pair.
///
/// All users share this object. The descriptor closes with the last reference. The peer may have
/// passed any file, so the user of a received one checks it, see ``MemoryFile/contents(byteCount:)``.
package final class PassedFile: Sendable {
  private let file: OwnedDescriptor

  /// Takes ownership of the descriptor, without checks.
  package init(adopting descriptor: consuming OwnedDescriptor) {
    file = descriptor
  }

  /// The number, for calls. Valid only while this object lives.
  package var descriptor: CInt { file.rawValue }
}

/// The time since a moment that all processes of the machine share (CLOCK_MONOTONIC). It never
/// jumps, and stands still while the machine sleeps.
package enum MonotonicClock {
  package static func nanoseconds() -> UInt64 {
    let time = read(CLOCK_MONOTONIC)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}

/// The processor time of the calling thread (CLOCK_THREAD_CPUTIME_ID). It stands still while the
/// thread does not run.
package enum ThreadClock {
  package static func time() -> Duration {
    Duration(read(CLOCK_THREAD_CPUTIME_ID))
  }
}

/// The processor time of all threads of a process (clock_getcpuclockid(3)).
package struct ProcessClock {
  private let clock: clockid_t

  /// - Returns: `nil` if there is no such process.
  package init?(ofProcess processID: Int32) {
    var clock = clockid_t()
    guard unsafe clock_getcpuclockid(processID, &clock) == 0 else { return nil }
    self.clock = clock
  }

  /// `nil` once the process has ended.
  package var time: Duration? {
    var time = timespec()
    return unsafe clock_gettime(clock, &time) == 0 ? Duration(time) : nil
  }
}

private func read(_ clock: clockid_t) -> timespec {
  var time = timespec()
  let result = unsafe clock_gettime(clock, &time)
  precondition(result == 0, "every Linux has clock \(clock)")
  return time
}
