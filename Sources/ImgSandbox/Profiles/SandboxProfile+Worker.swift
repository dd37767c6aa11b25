import CLinux
import Glibc
import ImgSystem

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
  /// No version of Landlock limits the addresses of connections, so it may connect to all.
  package static func worker(_ places: WorkerPlaces) -> SandboxProfile {
    var access = AccessRules()
    access.refusesTCPConnect = false
    access.allow(.read, below: systemPaths + places.allowedDirectories)
    access.allow(.readAndWriteFiles, below: devicePaths + places.spoolDirectories)
    access.allow(.readAndWrite, below: places.dataDirectories)
    if let file = places.authorityFile { access.allow(.read, below: [file]) }
    return SandboxProfile(
      systemCalls: workerCalls(processID: ThisProcess.processID), access: access)
  }

  /// What the C library, libcurl and the TLS library read at any time: configuration, certificates,
  /// and libraries of name services. Directories, because a file that is replaced by another of its
  /// name, such as /etc/resolv.conf after a change of the network, would have no exception.
  private static let systemPaths = [
    "/etc", "/usr", "/lib", "/lib32", "/lib64", "/opt", "/nix/store", "/gnu/store",
    "/run/NetworkManager", "/run/resolvconf", "/run/connman", "/run/systemd/resolve", "/run/nscd",
    "/var/lib/ca-certificates", "/proc/self", "/sys/devices/system",
  ]

  private static let devicePaths = ["/dev/null", "/dev/random", "/dev/urandom"]

  static func workerCalls(processID: Int32) -> SystemCallRules {
    var rules = SystemCallRules(otherwise: .allow)
    rules.addNeverNeeded()
    rules.add(
      .fail(EPERM),
      [
        "accept", "accept4", "chroot", "execve", "execveat", "fork", "listen", "setns", "unshare",
        "vfork",
      ])
    rules.add(.fail(ENOSYS), "clone3")
    rules.add(.fail(EPERM), "clone", where: .hasNone(of: CInt(IMG_CLONE_THREAD), in: 0))
    rules.refuseOtherProcesses(than: processID)
    // Of other domains there are raw packets, kernel cryptography, Bluetooth, virtual machines.
    let domains = [AF_UNSPEC, AF_UNIX, AF_INET, AF_INET6, AF_NETLINK]
    for domain in 0..<Self.domainCount where !domains.contains(domain) {
      rules.add(.fail(EAFNOSUPPORT), "socket", where: .equals(domain, argument: 0))
    }
    return rules
  }

  /// AF_MAX of <linux/socket.h>, with room for new ones.
  private static let domainCount: CInt = 64
}

extension SystemCallRules {
  /// Refuses to signal, limit or slow down other processes of the user. Landlock refuses signals since
  /// version 6, and never the rest.
  fileprivate mutating func refuseOtherProcesses(than processID: Int32) {
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
