import CLinux
import Glibc

/// The process this code runs in, and its numbers in /proc.
package enum ThisProcess {
  package static var processID: Int32 { getpid() }

  /// The effective user, whose rights count.
  package static var userID: UInt32 { geteuid() }

  /// The variables this process was started with; of two with one name the first counts, as for
  /// getenv(3).
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

  /// Takes a variable out of the environment that children inherit, before there are other threads.
  ///
  /// - Returns: its value; `nil` when there is none of that name.
  package static func takeVariable(_ name: String) -> String? {
    guard let value = environment[name] else { return nil }
    unsafe unsetenv(name)
    return value
  }

  /// Keeps the secrets in this process's memory from other processes of the user and from the disk:
  /// no core file (RLIMIT_CORE, PR_SET_DUMPABLE), no debugger but root's, and files in /proc that only
  /// root and the process itself may read. A program has to do it again after execve(2).
  ///
  /// A developer who needs core files sets `IMGCTL_CORE_DUMPS`.
  package static func forbidDumps() {
    guard environment["IMGCTL_CORE_DUMPS"] == nil else { return }
    let result = img_forbid_dumps()
    precondition(result == 0, "every process may lower its limits")
  }

  /// Where the running program lies, symbolic links resolved: its companions lie beside it. `nil`
  /// when /proc is not mounted.
  package static var executableDirectory: String? {
    var characters = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe readlink("/proc/self/exe", &characters, characters.count)
    guard count > 0 else { return nil }
    let path = characters.prefix(count).map(UInt8.init(bitPattern:))
    let directory = path.prefix(path.lastIndex(of: UInt8(ascii: "/")) ?? 0)
    return directory.isEmpty ? "/" : String(decoding: directory, as: UTF8.self)
  }

  /// Asks the kernel to send us `signal` when the thread that started us ends: PR_SET_PDEATHSIG.
  ///
  /// A parent that ended before this call goes unnoticed here; the end of the socket it held tells.
  package static func dieWithParent(signal: CInt) {
    let result = img_die_with_parent(signal)
    precondition(result == 0, "\(signal) is not a signal")
  }

  /// Makes writing to a closed pipe an error (EPIPE) instead of a death. Children get the default
  /// back.
  package static func ignoreBrokenPipe() {
    Glibc.signal(SIGPIPE, SIG_IGN)
  }

  /// Makes writing beyond the allowed size of a file (RLIMIT_FSIZE) an error (EFBIG) instead of a
  /// death. Children get the default back.
  package static func ignoreFileSizeSignal() {
    Glibc.signal(SIGXFSZ, SIG_IGN)
  }

  /// Raises the limit of open descriptors as far as is allowed; where it is not allowed at all, it
  /// stays as it is.
  ///
  /// - Returns: the limit that holds now.
  package static func raiseDescriptorLimit() -> Int {
    _ = img_raise_descriptor_limit()
    return max(sysconf(CInt(_SC_OPEN_MAX)), 0)
  }

  /// What a process keeps in memory.
  package struct MemoryUse: Hashable, Sendable {
    /// All pages that are in memory.
    package let residentByteCount: Int
    /// Of those, the ones that no file stands behind: what the process alone is to blame for.
    package let privateByteCount: Int
  }

  /// The memory use of any process; `nil` when there is none of that number.
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

  /// The bytes of a process that are in memory; `nil` when there is none of that number.
  package static func residentByteCount(of processID: Int32) -> Int? {
    memoryUse(of: processID)?.residentByteCount
  }
}
