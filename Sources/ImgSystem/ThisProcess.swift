import CLinux
import Glibc

/// The current process.
package enum ThisProcess {
  package static var processID: Int32 { getpid() }

  /// The effective user.
  package static var userID: UInt32 { geteuid() }

  /// The environment variables. If a name occurs twice, the first one counts, as for getenv(3).
  package static var environment: [String: String] {
    var variables: [String: String] = [:]
    var entry = unsafe img_environment()
    while let text = unsafe entry.pointee {
      let parts = unsafe String(cString: text).split(
        separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2, variables[String(parts[0])] == nil {
        variables[String(parts[0])] = String(parts[1])
      }
      unsafe entry += 1
    }
    return variables
  }

  /// Sets a variable of the environment for children and for the program that replaces this one. Call
  /// this before other threads start.
  package static func setVariable(_ name: String, to value: String) {
    unsafe setenv(name, value, 1)
  }

  /// Removes a variable from the environment, so that children do not inherit it. Call this before
  /// other threads start.
  ///
  /// - Returns: its value; `nil` if it is not set.
  package static func takeVariable(_ name: String) -> String? {
    guard let value = environment[name] else { return nil }
    unsafe unsetenv(name)
    return value
  }

  /// Protects the secrets in this process's memory from other processes of the user and from the
  /// disk: no core file (RLIMIT_CORE, PR_SET_DUMPABLE), no debugger except root's, and files in
  /// /proc that only root and the process itself can read. execve(2) resets this.
  ///
  /// `IMGCTL_CORE_DUMPS` allows core files for developers.
  package static func forbidDumps() {
    guard environment["IMGCTL_CORE_DUMPS"] == nil else { return }
    let result = img_forbid_dumps()
    precondition(result == 0, "every process may lower its limits")
  }

  /// The directory of the running program with resolved symbolic links, which also contains the
  /// other programs; `nil` if /proc is not mounted.
  package static var executableDirectory: String? {
    var characters = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe readlink("/proc/self/exe", &characters, characters.count)
    guard count > 0 else { return nil }
    let path = characters.prefix(count).map(UInt8.init(bitPattern:))
    let directory = path.prefix(path.lastIndex(of: UInt8(ascii: "/")) ?? 0)
    return directory.isEmpty ? "/" : String(decoding: directory, as: UTF8.self)
  }

  /// Asks the kernel to send `signal` when the thread that started this process ends:
  /// PR_SET_PDEATHSIG.
  ///
  /// This does not notice a parent that ended before the call. Its end of the socket closes then.
  package static func dieWithParent(signal: CInt) {
    let result = img_die_with_parent(signal)
    precondition(result == 0, "\(signal) is not a signal")
  }

  /// Makes a write to a closed pipe an error (EPIPE) instead of ending the process. Children get
  /// the default action.
  package static func ignoreBrokenPipe() {
    Glibc.signal(SIGPIPE, SIG_IGN)
  }

  /// Makes a write beyond the maximum file size (RLIMIT_FSIZE) an error (EFBIG) instead of ending
  /// the process. Children get the default action.
  package static func ignoreFileSizeSignal() {
    Glibc.signal(SIGXFSZ, SIG_IGN)
  }

  /// Makes every fault end the process at once, without a handler of the Swift runtime.
  package static func resetFaultSignals() {
    for signal in CrashRegion.signals { Glibc.signal(signal, SIG_DFL) }
  }

  /// Raises the limit of open descriptors to the maximum allowed.
  ///
  /// - Returns: the new limit, or the old one if it cannot be raised.
  package static func raiseDescriptorLimit() -> Int {
    _ = img_raise_descriptor_limit()
    return max(sysconf(CInt(_SC_OPEN_MAX)), 0)
  }

  /// The memory use of a process.
  package struct MemoryUse: Hashable, Sendable {
    /// All pages in memory.
    package let residentByteCount: Int
    /// The pages in memory that no file backs.
    package let privateByteCount: Int
  }

  /// The memory use of any process; `nil` if there is no such process.
  package static func memoryUse(of processID: Int32) -> MemoryUse? {
    // Pages: size, resident, shared with files, … (proc(5)).
    guard let bytes = try? FileIO.contents(of: "/proc/\(processID)/statm", upTo: 256) else {
      return nil
    }
    let fields = String(decoding: bytes, as: UTF8.self).split(separator: " ")
    guard fields.count > 2, let resident = Int(fields[1]), let shared = Int(fields[2]) else {
      return nil
    }
    return MemoryUse(
      residentByteCount: resident * pageByteCount,
      privateByteCount: (resident - shared) * pageByteCount)
  }

  /// The resident memory of a process; `nil` if there is no such process.
  package static func residentByteCount(of processID: Int32) -> Int? {
    memoryUse(of: processID)?.residentByteCount
  }
}

/// The resources of this process and its limits.
extension ThisProcess {
  /// The working directory; `nil` if it was removed.
  package static var currentDirectory: String? {
    guard let path = unsafe getcwd(nil, 0) else { return nil }
    defer { unsafe free(path) }
    return unsafe String(cString: path)
  }

  /// The number of online cores, at least 1.
  package static var coreCount: Int { max(sysconf(CInt(_SC_NPROCESSORS_ONLN)), 1) }

  /// The number of cores that the calling thread may use (sched_getaffinity(2)), at least 1. A container or a
  /// service can have fewer than the machine.
  package static var usableCoreCount: Int {
    let count = Int(img_usable_processor_count())
    return count > 0 ? count : coreCount
  }

  /// The threads of this process; `nil` if /proc is not mounted.
  package static var threadCount: Int? {
    // The directory contains one directory for each thread.
    (try? FileStatus(following: "/proc/self/task")).map { $0.linkCount - 2 }
  }

  /// The size of a memory page, which is also the page size of LMDB files.
  package static var pageByteCount: Int { max(sysconf(CInt(_SC_PAGESIZE)), 1) }

  /// Limits the private memory (RLIMIT_DATA: heap, stacks and anonymous mappings, but not the
  /// shared map of a store). An allocation beyond it fails, which usually ends the process.
  package static func limitPrivateMemory(byteCount: Int64) throws(SystemError) {
    var limit = rlimit(rlim_cur: rlim_t(byteCount), rlim_max: rlim_t(byteCount))
    _ = try systemCall("setrlimit RLIMIT_DATA") {
      unsafe setrlimit(__rlimit_resource_t(RLIMIT_DATA.rawValue), &limit)
    }
  }

  /// The maximum size of a file, also of one in memory (RLIMIT_FSIZE).
  package static var maximumFileByteCount: Int {
    var limit = rlimit()
    let result = unsafe getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
    precondition(result == 0, "every process has this limit")
    return Int(clamping: limit.rlim_cur)
  }

  /// Makes the C library keep freed memory, for a process that often needs buffers of some hundred
  /// kilobytes. By default, it returns all but 128 KiB of the free memory at the end of its heap,
  /// and the kernel must clear each page again: about 200 for each thumbnail of a photograph. Call
  /// this before other threads start.
  ///
  /// Blocks larger than 1 MiB are returned when freed. By default this threshold grows with freed
  /// blocks, up to 32 MiB (mallopt(3), M_MMAP_THRESHOLD). Each heap may keep 4 MiB, so all threads
  /// share two heaps, instead of up to eight for each core.
  package static func keepFreedMemory() {
    for (parameter, value) in [
      (M_TRIM_THRESHOLD, 4 << 20), (M_MMAP_THRESHOLD, 1 << 20), (M_ARENA_MAX, 2),
    ] as [(CInt, CInt)] {
      // Fails with another allocator than the C library's, which does not matter.
      _ = mallopt(parameter, value)
    }
  }

  /// Makes the C library return blocks of so many bytes when they are freed, for a process whose threads hold images for
  /// a while. By default, this threshold grows with freed blocks, up to 32 MiB (mallopt(3), M_MMAP_THRESHOLD), and the
  /// heaps keep more than the images that are left. Call this before other threads start.
  package static func returnFreedBlocks(from byteCount: Int) {
    // Fails with another allocator than the C library's, which does not matter.
    _ = mallopt(M_MMAP_THRESHOLD, CInt(clamping: byteCount))
  }

  /// Returns what ``keepFreedMemory()`` kept, also from the middle of each heap (malloc_trim(3)).
  package static func releaseFreedMemory() {
    // Its result says whether any memory was returned.
    _ = malloc_trim(0)
  }

  /// Blocks the calling thread, for pauses between attempts. Never call it in an event loop.
  package static func pause(for duration: Duration) {
    var wanted = duration.timespec
    var left = timespec()
    while unsafe nanosleep(&wanted, &left) != 0, errno == EINTR { wanted = left }
  }
}

/// Limits of time that the kernel enforces on this process.
extension ThisProcess {
  /// Ends this process by SIGALRM when so much time has passed, and by SIGPROF when its threads have
  /// used so much processor time together (setitimer(2)). A later call restarts both.
  ///
  /// Not RLIMIT_CPU: it counts whole seconds, and a filter of system calls can then refuse every
  /// change of a limit.
  ///
  /// - Parameter duration: `nil` stops both.
  package static func setTimers(_ duration: Duration?) {
    // A timer of zero is a stopped timer.
    let time = duration.map { max($0, .microseconds(1)) } ?? .zero
    let result = img_set_timers(Int64(time / .microseconds(1)))
    precondition(result == 0, "both timers exist")
  }
}

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

/// How much memory a process of this machine can still have.
package struct AvailableMemory: Hashable, Sendable {
  package let availableByteCount: Int
  package let totalByteCount: Int

  package init(availableByteCount: Int, totalByteCount: Int) {
    self.availableByteCount = availableByteCount
    self.totalByteCount = totalByteCount
  }

  /// The machine's, and that of the process's control group if it is limited; none without /proc.
  package static var now: [AvailableMemory] {
    let machine = text("/proc/meminfo").flatMap(AvailableMemory.init(memoryInformation:))
    return [machine, ofControlGroup].compactMap(\.self)
  }

  /// - Parameter text: the content of /proc/meminfo (proc_meminfo(5)).
  init?(memoryInformation text: String) {
    func byteCount(_ name: String) -> Int? {
      for line in text.split(separator: "\n") where line.hasPrefix(name + ":") {
        return line.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 << 10 }
      }
      return nil
    }
    guard let available = byteCount("MemAvailable"), let total = byteCount("MemTotal") else {
      return nil
    }
    self.init(availableByteCount: available, totalByteCount: total)
  }

  /// `nil` unless it is limited (cgroups(7), version 2). Pages of files count as available, because the
  /// kernel takes them back; shared memory does not.
  private static var ofControlGroup: AvailableMemory? {
    guard
      let line = text("/proc/self/cgroup")?.split(separator: "\n").first(where: {
        $0.hasPrefix("0::")
      })
    else { return nil }
    let directory = "/sys/fs/cgroup" + line.dropFirst(3)
    guard let maximum = number("\(directory)/memory.max"),
      let used = number("\(directory)/memory.current")
    else { return nil }
    let statistics = text("\(directory)/memory.stat") ?? ""
    func byteCount(_ name: String) -> Int {
      statistics.split(separator: "\n").first { $0.hasPrefix(name + " ") }
        .flatMap { Int($0.dropFirst(name.utf8.count + 1)) } ?? 0
    }
    // The files are read one after the other.
    let available = maximum - used + byteCount("file") - byteCount("shmem")
    return AvailableMemory(
      availableByteCount: min(max(0, available), maximum), totalByteCount: maximum)
  }

  private static func number(_ path: String) -> Int? {
    text(path).flatMap { Int($0.prefix { $0.isNumber }) }
  }

  private static func text(_ path: String) -> String? {
    (try? FileIO.contents(of: path, upTo: 64 << 10)).map { String(decoding: $0, as: UTF8.self) }
  }
}

/// The service manager that runs this process, if one does. It receives the datagrams of a unit of
/// `Type=notify` (sd_notify(3)).
package struct ServiceManager {
  /// The environment variable that names the manager's socket.
  package static let variable = "NOTIFY_SOCKET"

  /// What the manager acts on.
  package enum State: String {
    /// Clients can connect.
    case ready = "READY=1"
    /// What runs is finished, then the process ends.
    case stopping = "STOPPING=1"
  }

  /// `nil` where no manager waits.
  private let address: String?

  package init(environment: [String: String]) {
    address = environment[Self.variable].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Whether it listens at an abstract socket (unix(7)).
  package var isAbstract: Bool { address?.hasPrefix("@") == true }

  /// - Parameter status: a line for people, which `systemctl status` shows.
  package func notify(_ state: State, status: String) {
    guard let address else { return }
    // A manager that misses the message ends the service after its own timeout, and logs that.
    try? UnixDatagram.send("\(state.rawValue)\nSTATUS=\(status)", to: address)
  }
}
