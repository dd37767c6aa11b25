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
    for call in ["mmap", "mprotect"] { add(.fail(EACCES), call, where: .has(PROT_EXEC, in: 2)) }
  }

  fileprivate mutating func addThreads(of processID: Int32) {
    // Its flags are behind a pointer, out of a filter's sight. The C library then uses clone.
    add(.fail(ENOSYS), "clone3")
    add(.allow, "clone", where: .has(CInt(IMG_CLONE_THREAD), in: 0))
    // What abort(3) and pthread_kill(3) send to a thread of this process.
    add(.allow, "tgkill", where: .equals(processID, argument: 0))
  }

  /// Fonts are opened when a text needs them, after `access` has said that they can be. There may be
  /// thousands, so they cannot all be open before. No filter sees a path: which files the process can
  /// open, Landlock says. Without it, it can read all files of its user.
  ///
  /// Nothing else is asked of a path. What looks like a path in `newfstatat` and `statx` is how the C
  /// library asks for the state of a descriptor.
  fileprivate mutating func addFiles() {
    add(.allow, ["access", "faccessat", "faccessat2"])
    for (call, flags) in [("newfstatat", UInt32(3)), ("statx", UInt32(2))] {
      add(.allow, call, where: .has(Self.emptyPath, in: flags))
      add(.fail(EACCES), call, where: .hasNone(of: Self.emptyPath, in: flags))
    }
    let writing = [O_WRONLY, O_RDWR, O_CREAT, O_TRUNC]
    add(.allow, "openat", where: .hasNone(of: writing.reduce(0, |), in: 2))
    for flag in writing { add(.fail(EACCES), "openat", where: .has(flag, in: 2)) }
    // Libraries look for files, and write caches, in these ways. They can do without.
    add(
      .fail(EACCES),
      [
        "lstat", "mkdir", "mkdirat", "open", "openat2", "readlink", "readlinkat", "stat",
        "statfs", "unlink", "unlinkat",
      ])
  }

  /// AT_EMPTY_PATH, which <fcntl.h> declares only under _GNU_SOURCE.
  private static let emptyPath: CInt = 0x1000

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
