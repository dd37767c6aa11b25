import CLinux
import Glibc

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
