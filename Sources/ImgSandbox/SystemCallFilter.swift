import CLinux
import CSeccomp
import Glibc
import ImgSystem

/// A system call filter (seccomp(2)) from rules, built by libseccomp. It also ends a process that makes
/// system calls of another architecture, such as 32-bit ones on a 64-bit machine.
@safe struct SystemCallFilter: ~Copyable {
  private let context: scmp_filter_ctx

  /// A filter with one action for all calls.
  private init(otherwise action: SystemCallRules.Action) throws(SystemError) {
    guard let context = unsafe seccomp_init(Self.action(action)) else {
      throw SystemError(operation: "seccomp_init", code: ENOMEM)
    }
    unsafe self.context = context
  }

  /// Puts the rules in force for all threads. There is no way back.
  static func enforce(_ rules: SystemCallRules) throws(SystemError) {
    if rules.rules.contains(where: { $0.action == .trap }) {
      _ = try systemCall("sigaction SIGSYS") { img_answer_trapped_calls() }
    }
    let filter = try SystemCallFilter(otherwise: rules.otherwise)
    try filter.set(SCMP_FLTATR_ACT_BADARCH, to: UInt32(SCMP_ACT_KILL_PROCESS))
    try filter.set(SCMP_FLTATR_CTL_TSYNC, to: 1)
    for rule in rules.rules { try filter.add(rule) }
    try check("seccomp_load", unsafe seccomp_load(filter.context))
  }

  deinit {
    unsafe seccomp_release(context)
  }

  /// Whether the kernel has filters that end a whole process.
  static var isSupported: Bool { seccomp_api_get() >= 3 }

  private func set(_ attribute: scmp_filter_attr, to value: UInt32) throws(SystemError) {
    try Self.check("seccomp_attr_set", unsafe seccomp_attr_set(context, attribute, value))
  }

  private func add(_ rule: SystemCallRules.Rule) throws(SystemError) {
    let number = try Self.number(of: rule.call)
    let conditions = rule.conditions.map(Self.comparison)
    let result = unsafe conditions.withUnsafeBufferPointer { conditions in
      unsafe seccomp_rule_add_array(
        context, Self.action(rule.action), number, UInt32(conditions.count),
        conditions.baseAddress)
    }
    try Self.check("seccomp_rule_add \(rule.call)", result)
  }

  private static func comparison(_ condition: SystemCallRules.Condition) -> scmp_arg_cmp {
    switch condition.test {
    case .bits(let mask, let value):
      scmp_arg_cmp(
        arg: condition.argument, op: SCMP_CMP_MASKED_EQ, datum_a: mask, datum_b: value)
    case .differs(let value):
      scmp_arg_cmp(arg: condition.argument, op: SCMP_CMP_NE, datum_a: value, datum_b: 0)
    }
  }

  private static func number(of call: String) throws(SystemError) -> CInt {
    let number = unsafe seccomp_syscall_resolve_name(call)
    guard number == unknownCall else { return number }
    guard let number = recentCalls[call] else {
      throw SystemError(operation: "seccomp_syscall_resolve_name \(call)", code: ENOSYS)
    }
    return number
  }

  /// __NR_SCMP_ERROR.
  private static let unknownCall: CInt = -1
  /// Calls that libseccomp 2.5 does not know. Since Linux 5.1, a new call has the same number on all
  /// architectures (<asm-generic/unistd.h>).
  private static let recentCalls: [String: CInt] = [
    "fchmodat2": 452, "setxattrat": 463, "removexattrat": 466, "file_setattr": 469,
  ]

  private static func action(_ action: SystemCallRules.Action) -> UInt32 {
    switch action {
    case .allow: UInt32(SCMP_ACT_ALLOW)
    case .fail(let code): img_seccomp_fail_action(UInt16(code))
    case .trap: UInt32(SCMP_ACT_TRAP)
    case .kill: UInt32(SCMP_ACT_KILL_PROCESS)
    }
  }

  /// libseccomp returns negative errno values.
  private static func check(_ operation: String, _ result: CInt) throws(SystemError) {
    guard result >= 0 else { throw SystemError(operation: operation, code: -result) }
  }
}

/// Which system calls a process may make: a description, which ``SystemCallFilter`` puts in force.
package struct SystemCallRules: Hashable, Sendable {
  /// What the kernel does with a system call.
  package enum Action: Hashable, Sendable {
    case allow
    /// The call does nothing and returns this errno value; with 0, it claims to have succeeded.
    case fail(CInt)
    /// The call does nothing, and a handler of SIGSYS answers in its place, see `img_answer_trapped_calls`.
    case trap
    /// The kernel ends the process with SIGSYS.
    case kill
  }

  /// A condition on an argument, of which the kernel compares all 64 bits. The upper 32 bits of an
  /// `int` are undefined.
  package struct Condition: Hashable, Sendable {
    package enum Test: Hashable, Sendable {
      /// The bits of `mask` have this value. The mask of an `int` leaves out the upper 32.
      case bits(mask: UInt64, value: UInt64)
      /// At least one of the 64 bits is another one.
      case differs(from: UInt64)
    }

    package let argument: UInt32
    package let test: Test
  }

  /// The action for a system call whose arguments meet all conditions.
  package struct Rule: Hashable, Sendable {
    /// The name in the manual, such as `openat`.
    package let call: String
    package let action: Action
    package let conditions: [Condition]
  }

  /// The action for calls that no rule matches.
  package let otherwise: Action
  package private(set) var rules: [Rule] = []

  init(otherwise: Action) {
    self.otherwise = otherwise
  }

  mutating func add(_ action: Action, _ call: String, where conditions: Condition...) {
    rules.append(Rule(call: call, action: action, conditions: conditions))
  }

  mutating func add(_ action: Action, _ calls: [String]) {
    for call in calls { add(action, call) }
  }
}

extension SystemCallRules.Condition {
  /// All of these bits are set.
  static func has(_ bits: CInt, in argument: UInt32) -> Self {
    bitsOf(bits, are: bits, in: argument)
  }

  /// None of these bits is set.
  static func hasNone(of bits: CInt, in argument: UInt32) -> Self {
    bitsOf(bits, are: 0, in: argument)
  }

  static func bitsOf(_ mask: CInt, are value: CInt, in argument: UInt32) -> Self {
    Self(
      argument: argument,
      test: .bits(
        mask: UInt64(UInt32(bitPattern: mask)), value: UInt64(UInt32(bitPattern: value))))
  }

  /// The argument, an `int`, has this value.
  static func equals(_ value: CInt, argument: UInt32) -> Self {
    bitsOf(-1, are: value, in: argument)
  }

  /// The argument, an `int`, has another value. Also met by this value with upper bits set, which no
  /// C library sets: for a refusal that errs on the safe side.
  static func differs(from value: CInt, argument: UInt32) -> Self {
    Self(argument: argument, test: .differs(from: UInt64(UInt32(bitPattern: value))))
  }

  /// The argument is a null pointer.
  static func isNull(argument: UInt32) -> Self {
    Self(argument: argument, test: .bits(mask: .max, value: 0))
  }
}

extension SystemCallRules {
  /// Refuses what no process of this program needs: the memory of other processes, the machine's
  /// settings, and parts of the kernel in which errors were often found.
  mutating func addNeverNeeded() {
    add(
      .fail(EPERM),
      [
        // Other processes.
        "kcmp", "migrate_pages", "move_pages", "perf_event_open", "pidfd_getfd",
        "process_madvise", "process_vm_readv", "process_vm_writev", "ptrace",
        // File systems.
        "fanotify_init", "fsconfig", "fsmount", "fsopen", "fspick", "lookup_dcookie", "mount",
        "mount_setattr", "move_mount", "name_to_handle_at", "open_by_handle_at", "open_tree",
        "pivot_root", "quotactl", "quotactl_fd", "swapoff", "swapon", "umount", "umount2",
        // The kernel and the machine.
        "_sysctl", "acct", "adjtimex", "bpf", "clock_adjtime", "clock_settime", "create_module",
        "delete_module", "finit_module", "get_kernel_syms", "init_module", "ioperm", "iopl",
        "kexec_file_load", "kexec_load", "modify_ldt", "nfsservctl", "personality",
        "query_module", "reboot", "setdomainname", "sethostname", "settimeofday", "stime",
        "syslog", "uselib", "userfaultfd", "ustat", "vhangup", "vm86", "vm86old",
        // Keyrings.
        "add_key", "keyctl", "request_key",
        // Asynchronous input and output.
        "io_cancel", "io_destroy", "io_getevents", "io_pgetevents", "io_setup", "io_submit",
        "io_uring_enter", "io_uring_register", "io_uring_setup",
      ])
    // Types characters into the terminal of the shell.
    add(.fail(EPERM), "ioctl", where: .equals(CInt(TIOCSTI), argument: 1))
  }
}

/// Refusals that several profiles share, beside what no process needs.
extension SystemCallRules {
  /// Refuses memory that is code, to calls whose third argument says what a page may be used for.
  mutating func refuseExecutableMemory(by calls: [String]) {
    for call in calls { add(.fail(EACCES), call, where: .has(PROT_EXEC, in: 2)) }
  }

  /// Refuses to change the mode, the owner, the times and the attributes of files, which Landlock does
  /// not limit. The calls are refused for descriptors, too: one that reads is enough for them.
  mutating func refuseFileAttributes() {
    add(
      .fail(EPERM),
      [
        "chmod", "chown", "chown32", "fchmod", "fchmodat", "fchmodat2", "fchown", "fchown32",
        "fchownat", "file_setattr", "fremovexattr", "fsetxattr", "futimesat", "lchown", "lchown32",
        "lremovexattr", "lsetxattr", "removexattr", "removexattrat", "setxattr", "setxattrat",
        "utime", "utimensat", "utimensat_time64", "utimes",
      ])
    // By name. Landlock refuses it from its third version on, which Debian 12 does not have.
    add(.fail(EPERM), ["truncate", "truncate64"])
    // The attributes of chattr(1).
    for request in [IMG_FS_IOC_SETFLAGS, IMG_FS_IOC_FSSETXATTR] {
      add(.fail(EPERM), "ioctl", where: .equals(CInt(bitPattern: request), argument: 1))
    }
  }

  /// Refuses memory, queues and semaphores that all processes find by number or name (sysvipc(7),
  /// mq_overview(7)).
  mutating func refuseSharedObjects() {
    add(
      .fail(EPERM),
      [
        "ipc", "mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive", "mq_timedsend",
        "mq_unlink", "msgctl", "msgget", "msgrcv", "msgsnd", "semctl", "semget", "semop",
        "semtimedop", "shmat", "shmctl", "shmdt", "shmget",
      ])
  }

  /// Refuses all kinds of sockets but these.
  ///
  /// A Unix socket reaches servers of this machine, such as agents with keys, desktops and containers.
  /// Of other domains there are raw packets, kernel cryptography, Bluetooth, virtual machines.
  mutating func refuseSockets(except domains: Set<CInt>) {
    for domain in 0..<Self.domainCount where !domains.contains(domain) {
      add(.fail(EAFNOSUPPORT), "socket", where: .equals(domain, argument: 0))
    }
  }

  /// AF_MAX of <linux/socket.h>, with room for new ones.
  private static let domainCount: CInt = 64

  /// Refuses pairs of sockets that can be connected to another socket, which streams cannot.
  mutating func refuseConnectablePairs() {
    add(.fail(EAFNOSUPPORT), "socketpair", where: .differs(from: AF_UNIX, argument: 0))
    // The bits beside those of the type are SOCK_CLOEXEC and SOCK_NONBLOCK.
    let typeMask: CInt = 0xF
    for type in 0...typeMask where type != CInt(SOCK_STREAM.rawValue) {
      add(.fail(EPROTONOSUPPORT), "socketpair", where: .bitsOf(typeMask, are: type, in: 1))
    }
  }

  /// Refuses programs, processes and namespaces. Threads remain.
  mutating func refuseNewProcesses() {
    add(
      .fail(EPERM),
      ["chroot", "execve", "execveat", "fork", "setns", "unshare", "vfork"])
    add(.fail(ENOSYS), "clone3")
    add(.fail(EPERM), "clone", where: .hasNone(of: CInt(IMG_CLONE_THREAD), in: 0))
  }

  /// Refuses to signal, limit or slow down other processes of the user. Landlock refuses signals since
  /// version 6, and never the rest.
  mutating func refuseOtherProcesses(than processID: Int32) {
    add(
      .fail(EPERM),
      [
        "ioprio_set", "kill", "pidfd_open", "pidfd_send_signal", "rt_sigqueueinfo",
        "rt_tgsigqueueinfo", "sched_setaffinity", "sched_setattr", "sched_setparam",
        "sched_setscheduler", "setpriority", "tkill",
      ])
    // What abort(3) and pthread_kill(3) send to a thread of this process.
    add(.fail(EPERM), "tgkill", where: .differs(from: processID, argument: 0))
    // 0 is this process. A CPU limit would end another.
    add(.fail(EPERM), "prlimit64", where: .differs(from: 0, argument: 0))
    // Whom the kernel sends a signal, which may be SIGKILL, when a descriptor becomes ready.
    for command in [__F_SETOWN, __F_SETSIG, __F_SETOWN_EX] {
      add(.fail(EPERM), "fcntl", where: .equals(command, argument: 1))
    }
    for request in [FIOSETOWN, SIOCSPGRP] {
      add(.fail(EPERM), "ioctl", where: .equals(CInt(request), argument: 1))
    }
  }
}
