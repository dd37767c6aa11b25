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
