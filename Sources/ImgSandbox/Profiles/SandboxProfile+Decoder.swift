import CLinux
import Glibc
import ImgSystem

extension SandboxProfile {
  /// For a process that decodes pictures from memory into memory: what libvips and the image libraries
  /// call after their start, measured with pictures of all formats. It has no network, creates no
  /// process and no executable code, and opens nothing but fonts, to read them.
  ///
  /// Some libraries of libvips use libcurl. No rule allows `socket` or `socketpair`, so all that they
  /// could use is the connection to the worker.
  package static var decoder: SandboxProfile {
    var access = AccessRules()
    access.allow(.read, below: fontPaths)
    return SandboxProfile(
      systemCalls: decoderCalls(processID: ThisProcess.processID), access: access)
  }

  /// Text in SVG pictures. fontconfig has read its configuration and its caches at the start.
  private static let fontPaths = [
    "/usr/local/share/fonts", "/usr/share/X11/fonts", "/usr/share/fonts",
  ]

  static func decoderCalls(processID: Int32) -> SystemCallRules {
    var rules = SystemCallRules(otherwise: .kill)
    rules.add(.allow, harmlessCalls)
    rules.addMemory()
    rules.addThreads(of: processID)
    rules.addFiles()
    rules.addControl()
    return rules
  }

  /// Calls that read the clock or the process's own state, use its memory, or use descriptors that it
  /// has. A name of another architecture has no effect.
  private static let harmlessCalls = [
    // Descriptors.
    "close", "eventfd2", "fadvise64", "fstat", "fstatfs", "getdents64", "lseek", "poll", "ppoll",
    "pread64", "read", "readv", "recvfrom", "recvmsg", "sendmsg", "sendto", "write", "writev",
    // Memory.
    "brk", "madvise", "membarrier", "mremap", "munmap",
    // Threads and signals.
    "exit", "exit_group", "futex", "getcpu", "gettid", "restart_syscall", "rseq", "rt_sigaction",
    "rt_sigprocmask", "rt_sigreturn", "sched_getaffinity", "sched_yield", "set_robust_list",
    "sigaltstack",
    // Time.
    "clock_getres", "clock_gettime", "clock_nanosleep", "getitimer", "gettimeofday", "nanosleep",
    "setitimer", "time", "times",
    // Its own state.
    "getegid", "geteuid", "getgid", "getpid", "getppid", "getrandom", "getrusage", "getuid",
    "sysinfo", "umask", "uname",
  ]
}

extension SystemCallRules {
  /// No code comes into being: neither from a file nor from bytes that the process has written.
  ///
  /// What is mapped is private or from a descriptor. Shared memory without one, and memory that grows
  /// like a stack, would not count against RLIMIT_DATA.
  fileprivate mutating func addMemory() {
    add(.allow, "mprotect", where: .hasNone(of: PROT_EXEC, in: 2))
    add(
      .allow, "mmap", where: .hasNone(of: PROT_EXEC, in: 2),
      .bitsOf(MAP_TYPE | MAP_GROWSDOWN, are: MAP_PRIVATE, in: 3))
    add(
      .allow, "mmap", where: .hasNone(of: PROT_EXEC, in: 2),
      .bitsOf(MAP_TYPE | MAP_GROWSDOWN | MAP_ANONYMOUS, are: MAP_SHARED, in: 3))
    refuseExecutableMemory(by: ["mmap", "mprotect"])
  }

  fileprivate mutating func addThreads(of processID: Int32) {
    // Its flags are behind a pointer, out of a filter's sight. The C library then uses clone.
    add(.fail(ENOSYS), "clone3")
    add(.allow, "clone", where: .has(CInt(IMG_CLONE_THREAD), in: 0))
    // What abort(3) and pthread_kill(3) send to a thread of this process.
    add(.allow, "tgkill", where: .equals(processID, argument: 0))
  }

  /// Fonts are opened when a text needs them. There may be thousands, so they cannot all be open
  /// before. No filter sees a path: which files the process can open, Landlock says. Without it, it can
  /// read all files of its user.
  ///
  /// Landlock limits neither `access` nor O_PATH nor the state of a file, so nothing of these tells
  /// about a path. fontconfig asks whether it may read a font: it is told that it may, and finds out
  /// when it opens the font. The C library asks for the state of a descriptor by `newfstatat` with an
  /// empty path, which no filter tells from another path, so a handler does.
  fileprivate mutating func addFiles() {
    add(.fail(0), ["access", "faccessat", "faccessat2"])
    add(.trap, "newfstatat")
    // Libraries then use the call above.
    add(.fail(ENOSYS), "statx")
    let refused = [O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, CInt(IMG_OPEN_PATH)]
    add(.allow, "openat", where: .hasNone(of: refused.reduce(0, |), in: 2))
    for flag in refused { add(.fail(EACCES), "openat", where: .has(flag, in: 2)) }
    // Libraries look for files, and write caches, in these ways. They can do without.
    add(
      .fail(EACCES),
      [
        "lstat", "mkdir", "mkdirat", "open", "openat2", "readlink", "readlinkat", "stat",
        "statfs", "unlink", "unlinkat",
      ])
  }

  fileprivate mutating func addControl() {
    for command in [F_GETFD, F_SETFD, F_GETFL] {
      add(.allow, "fcntl", where: .equals(command, argument: 1))
    }
    for option in [PR_SET_NAME, PR_GET_NAME] {
      add(.allow, "prctl", where: .equals(option, argument: 0))
    }
    // Its own limits: it may read them.
    add(.allow, "prlimit64", where: .equals(0, argument: 0), .isNull(argument: 2))
    // GLib asks what standard error is.
    add(.fail(ENOTTY), "ioctl")
    add(.fail(ENOTSOCK), "getpeername")
  }
}
