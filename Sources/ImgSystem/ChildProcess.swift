import CLinux
import Glibc
import Synchronization

/// A child process, identified by a descriptor (pidfd_open(2)), so that it is never confused with a
/// later process of the same number.
///
/// Destroying this value neither kills nor reaps the process.
package struct ChildProcess: ~Copyable, Sendable {
  package let processID: Int32
  private let pidfd: OwnedDescriptor
  /// The exit status after reaping. The kernel reports it only once.
  private let status = Mutex<ExitStatus?>(nil)

  /// Takes ownership of a child that was not reaped.
  ///
  /// On failure, kills and reaps the child, because without a descriptor it can be neither watched
  /// nor ended safely.
  init(adopting processID: Int32) throws(SystemError) {
    do {
      pidfd = OwnedDescriptor(
        adopting: try systemCall("pidfd_open") { img_pidfd_open(processID) })
    } catch {
      kill(processID, SIGKILL)
      _ = try? systemCall("waitpid") { waitpid(processID, nil, 0) }
      throw error
    }
    self.processID = processID
  }

  /// Readable once the process has ended, reaped or not.
  package var descriptor: CInt { pidfd.rawValue }

  /// Sends a signal. Does nothing if the process has ended.
  package func signal(_ signal: CInt) {
    // For a child, the only documented failure is ESRCH: it has ended.
    _ = img_pidfd_send_signal(pidfd.rawValue, signal)
  }

  /// Lets processes with the priority of this one go first when both need the processor
  /// (setpriority(2)). Call it before the child starts threads, which inherit it.
  package func lowerPriority() {
    let process = __priority_which_t(PRIO_PROCESS.rawValue)
    // Where it is refused, the child keeps the usual priority. Beside a process that is five steps
    // above it and always busy, the child gets a third of that one's time (sched(7)). Its number is
    // its own until it is reaped.
    _ = setpriority(process, id_t(processID), getpriority(process, 0) + 5)
  }

  /// The exit status; `nil` while the process runs. Does not block.
  package func reap() -> ExitStatus? {
    status.withLock { status in
      if status == nil {
        var wasExit = false
        var value: CInt = 0
        if unsafe img_reap(pidfd.rawValue, &wasExit, &value) == 1 {
          status = wasExit ? .exited(value) : .signalled(value)
        }
      }
      return status
    }
  }

  /// Waits for the end; `nil` if `deadline` passes first.
  ///
  /// - Parameter deadline: `nil` for no limit.
  package func waitForExit(until deadline: ContinuousClock.Instant?) -> ExitStatus? {
    // If the wait fails, reap still gives the right answer.
    _ = try? waitForEvents(POLLIN, on: pidfd.rawValue, until: deadline)
    return reap()
  }
}

extension ChildProcess {
  /// Starts a program: posix_spawn(3), with no blocked signals and all default signal actions.
  ///
  /// The child itself sets a parent-death signal if it needs one. It inherits standard input,
  /// output and error unless `descriptors` contains them, and no other descriptors.
  ///
  /// - Parameters:
  ///   - executable: a path. `PATH` is not searched.
  ///   - arguments: without the program's name, which is `executable`.
  ///   - environment: `nil` to inherit this process's environment.
  ///   - descriptors: the descriptors to pass, with their numbers in the child.
  ///   - isDetached: whether the child leads a new session without a terminal.
  package static func spawn(
    executable: String, arguments: [String], environment: [String: String]?,
    descriptors: [(parent: CInt, child: CInt)], isDetached: Bool = false
  ) throws(SystemError) -> ChildProcess {
    let strings = [executable] + arguments + (environment ?? [:]).flatMap { [$0.key, $0.value] }
    guard !strings.contains(where: { $0.utf8.contains(0) }) else {
      throw SystemError(operation: "posix_spawn", code: EINVAL)
    }
    var actions = try FileActions(descriptors)
    var attributes = try SpawnAttributes(isDetached: isDetached)
    let variables = environment?.map { "\($0.key)=\($0.value)" }
    var processID: pid_t = 0
    let code = unsafe withCStrings([executable] + arguments) { argumentVector in
      unsafe withCStrings(variables ?? []) { environmentVector in
        unsafe posix_spawn(
          &processID, executable, &actions.value, &attributes.value, argumentVector,
          variables == nil ? img_environment() : environmentVector)
      }
    }
    guard code == 0 else { throw SystemError(operation: "posix_spawn \(executable)", code: code) }
    return try ChildProcess(adopting: processID)
  }
}

/// The changes to descriptors between fork and exec.
@safe private struct FileActions: ~Copyable {
  var value = unsafe posix_spawn_file_actions_t()
  /// Copies of the parent's descriptors, closed when the child has started.
  private var copies: [CInt] = []

  init(_ descriptors: [(parent: CInt, child: CInt)]) throws(SystemError) {
    // Above the standard streams, because one that is closed here is still a number of the child.
    let firstFree = max(descriptors.map(\.child).max() ?? 0, STDERR_FILENO) + 1
    try check("posix_spawn_file_actions_init", unsafe posix_spawn_file_actions_init(&value))
    for (parent, child) in descriptors {
      // Copy each descriptor above all numbers of the child. So no dup2 overwrites the source of a
      // later one, and none has two equal numbers, which would keep close-on-exec.
      let copy = try systemCall("fcntl F_DUPFD_CLOEXEC") {
        fcntl(parent, F_DUPFD_CLOEXEC, firstFree)
      }
      copies.append(copy)
      try check(
        "posix_spawn_file_actions_adddup2",
        unsafe posix_spawn_file_actions_adddup2(&value, copy, child))
    }
    // This process may have inherited descriptors that are not close-on-exec.
    try check(
      "posix_spawn_file_actions_addclosefrom_np",
      unsafe posix_spawn_file_actions_addclosefrom_np(&value, firstFree))
  }

  deinit {
    for copy in copies { close(copy) }
    var value = unsafe value
    unsafe posix_spawn_file_actions_destroy(&value)
  }
}

/// The signal state and the session of a child at its start.
@safe private struct SpawnAttributes: ~Copyable {
  var value = posix_spawnattr_t()

  init(isDetached: Bool) throws(SystemError) {
    try check("posix_spawnattr_init", unsafe posix_spawnattr_init(&value))
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    try check(
      "posix_spawnattr_setsigmask", unsafe posix_spawnattr_setsigmask(&value, &signals))
    unsafe sigfillset(&signals)
    try check(
      "posix_spawnattr_setsigdefault", unsafe posix_spawnattr_setsigdefault(&value, &signals))
    let session = isDetached ? CInt(IMG_POSIX_SPAWN_SETSID) : 0
    try check(
      "posix_spawnattr_setflags",
      unsafe posix_spawnattr_setflags(
        &value, CShort(CInt(POSIX_SPAWN_SETSIGMASK) | CInt(POSIX_SPAWN_SETSIGDEF) | session)))
  }

  deinit {
    var value = value
    unsafe posix_spawnattr_destroy(&value)
  }
}

/// Passes a null-terminated vector of strings to C.
func withCStrings<Result>(
  _ strings: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
  var pointers = unsafe strings.map { unsafe strdup($0) } + [nil]
  defer { unsafe pointers.forEach { unsafe free($0) } }
  return unsafe pointers.withUnsafeMutableBufferPointer { buffer in
    guard let base = buffer.baseAddress else { preconditionFailure("the vector is never empty") }
    return unsafe body(base)
  }
}

/// How a process ended.
package enum ExitStatus: Hashable, Sendable {
  /// The process called exit with this value, 0…255.
  case exited(Int32)
  /// A signal killed the process.
  case signalled(Int32)
}

extension ExitStatus: CustomStringConvertible {
  /// A predicate for a sentence: `exited with status 1`, `was killed by signal 9 (SIGKILL)`.
  package var description: String {
    switch self {
    case .exited(let status):
      return "exited with status \(status)"
    case .signalled(let signal):
      let name = Signal.name(of: signal).map { " (\($0))" } ?? ""
      return "was killed by signal \(signal)\(name)"
    }
  }
}

/// A process that is not a child, identified by a descriptor (pidfd_open(2)). So its number cannot
/// change its meaning between a check and a signal.
package struct OtherProcess: ~Copyable, Sendable {
  package let processID: Int32
  private let pidfd: OwnedDescriptor

  /// - Returns: `nil` if there is no such process.
  package init?(_ processID: Int32) throws(SystemError) {
    do throws(SystemError) {
      pidfd = OwnedDescriptor(
        adopting: try systemCall("pidfd_open") { img_pidfd_open(processID) })
    } catch {
      guard error.code == ESRCH else { throw error }
      return nil
    }
    self.processID = processID
  }

  /// The name of the program, of at most 15 bytes (proc_pid_comm(5)); `nil` if there is no such process.
  package static func name(of processID: Int32) -> String? {
    let bytes = try? FileIO.contents(of: "/proc/\(processID)/comm", upTo: 64)
    return bytes.map { String(decoding: $0.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self) }
  }

  /// Sends a signal. Does nothing if the process has ended.
  ///
  /// - Throws: EPERM for another user's process.
  package func signal(_ signal: CInt) throws(SystemError) {
    do throws(SystemError) {
      _ = try systemCall("send signal \(signal) to process \(processID)") {
        img_pidfd_send_signal(pidfd.rawValue, signal)
      }
    } catch {
      if error.code != ESRCH { throw error }
    }
  }

  /// Waits for the end of the process.
  ///
  /// - Parameter deadline: the end of the wait; `nil` for no limit.
  /// - Returns: `false` if `deadline` passed first.
  package func waitForExit(until deadline: ContinuousClock.Instant?) throws(SystemError) -> Bool {
    try waitForEvents(POLLIN, on: pidfd.rawValue, until: deadline)
  }
}

/// A pipe (pipe(7)) for what a child process writes. Neither end blocks: what exceeds its buffer is
/// lost, so no child waits for a reader.
///
/// Each end is an open file of its own, so a child that changes its flags changes nothing for the
/// reader. Unlike a socket, a pipe has no call by which a child ends it for others.
package struct OutputPipe: ~Copyable, Sendable {
  /// What a read finds.
  package enum ReadResult: Hashable, Sendable {
    case bytes
    /// A writer may still write.
    case nothing
    /// No process has the other end.
    case closed
  }

  /// What a pipe holds at most, unless a process changes that (pipe(7), "Pipe capacity").
  package static let capacity = 1 << 16

  private var reader: OwnedDescriptor?
  private let writer: OwnedDescriptor

  package init() throws(SystemError) {
    var (reader, writer): (CInt, CInt) = (-1, -1)
    _ = try systemCall("pipe2") { unsafe img_pipe(&reader, &writer) }
    self.reader = OwnedDescriptor(adopting: reader)
    self.writer = OwnedDescriptor(adopting: writer)
  }

  /// The end for the child. This process must close its own by destroying this value, or the pipe
  /// never counts as closed.
  package var writerDescriptor: CInt { writer.rawValue }

  /// Takes the end to read from, once.
  package mutating func takeReader() -> OwnedDescriptor {
    guard let descriptor = reader.take() else { preconditionFailure("the reader was taken") }
    return descriptor
  }

  /// Appends bytes that are there to `buffer`, at most ``capacity``. Does not wait.
  package static func read(
    _ reader: CInt, into buffer: inout [UInt8]
  ) throws(SystemError) -> ReadResult {
    do {
      let count = try unsafe append(to: &buffer, upTo: capacity, operation: "read") {
        unsafe Glibc.read(reader, $0.baseAddress, $0.count)
      }
      return count == 0 ? .closed : .bytes
    } catch {
      guard error.code == EAGAIN else { throw error }
      return .nothing
    }
  }
}

/// A program that turns the bytes of a file into others, such as gzip(1). It ends with this object, also if its output
/// was not read to its end.
package final class FilterProcess {
  private let process: ChildProcess
  private let output: OwnedDescriptor

  /// - Parameters:
  ///   - executable: a path.
  ///   - input: what it reads; nothing else may read that from then on.
  package init(
    executable: String, arguments: [String], input: CInt
  ) throws(SystemError) {
    var pair = try UnixSocket.pair()
    let writer = pair.takeSecond()
    // What it says on standard error has no name of the file; its exit status is told instead.
    let null = try FileIO.open(updating: "/dev/null")
    process = try ChildProcess.spawn(
      executable: executable, arguments: arguments, environment: nil,
      descriptors: [
        (parent: input, child: STDIN_FILENO), (parent: writer.rawValue, child: STDOUT_FILENO),
        (parent: null.rawValue, child: STDERR_FILENO),
      ])
    output = pair.takeFirst()
  }

  deinit {
    process.signal(SIGKILL)
    _ = process.waitForExit(until: nil)
  }

  /// Waits for bytes and appends them to `buffer`, at most `maximumByteCount`.
  ///
  /// - Returns: the number of bytes; 0 at the end.
  package func read(
    into buffer: inout [UInt8], upTo maximumByteCount: Int
  ) throws(SystemError) -> Int {
    try FileIO.read(output.rawValue, into: &buffer, upTo: maximumByteCount)
  }

  /// Waits for its end, which comes once it has closed its output.
  package func waitForExit() -> ExitStatus? { process.waitForExit(until: nil) }
}
