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
  /// No version of Landlock limits the addresses of connections, so it may connect to all of the
  /// internet's families. It has no Unix sockets but those that it was given: what it shares with its
  /// decoders, and its coordinator.
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
    rules.add(.fail(EPERM), ["accept", "accept4", "listen"])
    rules.refuseNewProcesses()
    rules.refuseOtherProcesses(than: processID)
    rules.refuseExecutableMemory(by: ["mmap", "mprotect", "pkey_mprotect"])
    rules.refuseFileAttributes()
    rules.refuseSharedObjects()
    rules.refuseConnectablePairs()
    rules.refuseSockets(except: [AF_UNSPEC, AF_INET, AF_INET6, AF_NETLINK])
    // Which addresses this machine has: what the C library asks to sort those of a host.
    rules.add(
      .fail(EPROTONOSUPPORT), "socket", where: .equals(AF_NETLINK, argument: 0),
      .differs(from: CInt(IMG_NETLINK_ROUTE), argument: 2))
    return rules
  }
}
