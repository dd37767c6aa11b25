import CLinux
import Glibc
import ImgSystem

/// What a process may do once it has started: a description, which ``Sandbox`` puts in force.
package struct SandboxProfile: Hashable, Sendable {
  package let systemCalls: SystemCallRules
  package let access: AccessRules
}

extension SandboxProfile {
  /// For the process that starts the others, which inherit what it loses. So it keeps what one of them
  /// needs: executing, new namespaces, connections.
  ///
  /// It writes only below `writablePaths`, and makes sockets and their directories below `socketPaths`.
  package static func coordinator(
    writablePaths: [String], socketPaths: [String] = []
  ) -> SandboxProfile {
    var access = AccessRules()
    access.refusesTCPConnect = false
    access.refusesAbstractSockets = false
    access.allow([.read, .execute], below: ["/"])
    access.allow([.readAndWrite, .createSpecialFiles], below: writablePaths)
    access.allow(.createSockets, below: socketPaths)
    access.allow(.readAndWriteFiles, below: ["/dev/null", "/dev/random", "/dev/urandom"])
    var calls = SystemCallRules(otherwise: .allow)
    calls.addNeverNeeded()
    return SandboxProfile(systemCalls: calls, access: access)
  }
}

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

/// The files that a worker needs besides those of the system.
package struct WorkerPlaces: Hashable, Sendable {
  /// Those of the store, which it reads and writes.
  package let dataDirectories: [String]
  /// Where it makes unnamed files for long bodies, if the data directories cannot have them.
  package let spoolDirectories: [String]
  /// The directories of `file:` URLs, which it reads.
  package let allowedDirectories: [String]
  /// The file of certificates of authorities, if the settings name one.
  package let authorityFile: String?

  package init(
    dataDirectories: [String], spoolDirectories: [String], allowedDirectories: [String],
    authorityFile: String?
  ) {
    self.dataDirectories = dataDirectories
    self.spoolDirectories = spoolDirectories
    self.allowedDirectories = allowedDirectories
    self.authorityFile = authorityFile
  }
}

extension SandboxProfile {
  /// For a process that fetches and stores. It executes nothing, starts no process, accepts no
  /// connection, and reaches no files but its own and those that name resolution and TLS need.
  ///
  /// No version of Landlock limits the addresses of connections, so it may connect to all of the
  /// internet's families. It has no Unix sockets but those that it was given: what it shares with its
  /// decoders, and its coordinator.
  package static func worker(_ places: WorkerPlaces) -> SandboxProfile {
    var access = AccessRules()
    access.refusesTCPConnect = false
    access.allow(.read, below: workerPaths + places.allowedDirectories)
    access.allow(.readAndWriteFiles, below: devicePaths + places.spoolDirectories)
    access.allow(.readAndWrite, below: places.dataDirectories)
    if let file = places.authorityFile { access.allow(.read, below: [file]) }
    return SandboxProfile(
      systemCalls: workerCalls(processID: ThisProcess.processID), access: access)
  }

  /// What the C library, libcurl and the TLS library read at any time: configuration, certificates,
  /// and libraries of name services. Directories, because a file that is replaced by another of its
  /// name, such as /etc/resolv.conf after a change of the network, would have no exception.
  private static let workerPaths = [
    "/etc", "/usr", "/lib", "/lib32", "/lib64", "/opt", "/nix/store", "/gnu/store",
    "/run/NetworkManager", "/run/resolvconf", "/run/connman", "/run/systemd/resolve", "/run/nscd",
    "/var/lib/ca-certificates", "/proc/self", "/sys/devices/system",
  ]

  private static let devicePaths = ["/dev/null", "/dev/random", "/dev/urandom"]

  static func workerCalls(processID: Int32) -> SystemCallRules {
    var rules = SystemCallRules.ofService(processID: processID)
    rules.add(.fail(EPERM), ["accept", "accept4", "listen"])
    rules.refuseSockets(except: [AF_UNSPEC, AF_INET, AF_INET6, AF_NETLINK])
    // Which addresses this machine has: what the C library asks to sort those of a host.
    rules.add(
      .fail(EPROTONOSUPPORT), "socket", where: .equals(AF_NETLINK, argument: 0),
      .differs(from: CInt(IMG_NETLINK_ROUTE), argument: 2))
    return rules
  }
}

extension SystemCallRules {
  /// For a process that serves others, and starts none: it reaches no other process and no shared object.
  fileprivate static func ofService(processID: Int32) -> SystemCallRules {
    var rules = SystemCallRules(otherwise: .allow)
    rules.addNeverNeeded()
    rules.refuseNewProcesses()
    rules.refuseOtherProcesses(than: processID)
    rules.refuseExecutableMemory(by: ["mmap", "mprotect", "pkey_mprotect"])
    rules.refuseFileAttributes()
    rules.refuseSharedObjects()
    rules.refuseConnectablePairs()
    return rules
  }
}

extension SandboxProfile {
  /// For a process that listens already, and serves from the store and by a coordinator that others
  /// start. It executes nothing, starts no process, opens no other socket for clients, and connects to
  /// Unix sockets alone.
  ///
  /// - Parameters:
  ///   - storePlace: the directory in which the store lies, which it reads and writes.
  ///   - listeningPath: the path of the socket that it listens at, and removes at its end; `nil` if it has
  ///     none.
  ///   - hasAbstractManager: whether its service manager listens at an abstract socket.
  package static func gateway(
    storePlace: String, listeningPath: String?, hasAbstractManager: Bool
  ) -> SandboxProfile {
    var access = AccessRules()
    access.refusesAbstractSockets = !hasAbstractManager
    access.allow(.read, below: gatewayPaths)
    // libdispatch reads the state of its threads in /proc/TID/stat, which is no part of /proc/self, and ends
    // the process if it cannot. Landlock refuses what /proc has of the memory, the environment and the
    // descriptors of other processes, as it refuses to trace them.
    access.allow(.readFiles, below: ["/proc"])
    access.allow(.readAndWriteFiles, below: devicePaths)
    access.allow(.readAndWrite, below: [storePlace])
    if let path = listeningPath.map(UnixSocket.directory) {
      access.allow(.removeFiles, below: [path])
    }
    return SandboxProfile(
      systemCalls: gatewayCalls(processID: ThisProcess.processID), access: access)
  }

  /// The machine's memory and processors, time zones, and the directories on the way to a socket, which
  /// the gateway looks at before it trusts the socket.
  private static let gatewayPaths = [
    "/etc/localtime", "/proc/self", "/sys/devices/system", "/sys/fs/cgroup",
    "/usr/share/zoneinfo",
  ]

  static func gatewayCalls(processID: Int32) -> SystemCallRules {
    var rules = SystemCallRules.ofService(processID: processID)
    rules.add(.fail(EPERM), ["bind", "listen"])
    rules.refuseSockets(except: [AF_UNSPEC, AF_UNIX])
    return rules
  }
}
