import Glibc
import ImgSystem

/// The files that a gateway needs besides those of the system.
package struct GatewayPlaces: Hashable, Sendable {
  /// The directory in which the store lies, which it reads and writes.
  package let storePlace: String
  /// The path of the socket that it listens at, and removes at its end; `nil` if it has none.
  package let listeningPath: String?
  /// Whether its service manager listens at an abstract socket.
  package let hasAbstractManager: Bool

  package init(storePlace: String, listeningPath: String?, hasAbstractManager: Bool) {
    self.storePlace = storePlace
    self.listeningPath = listeningPath
    self.hasAbstractManager = hasAbstractManager
  }
}

extension SandboxProfile {
  /// For a process that listens already, and serves from the store and by a coordinator that others
  /// start. It executes nothing, starts no process, opens no other socket for clients, and connects to
  /// Unix sockets alone.
  package static func gateway(_ places: GatewayPlaces) -> SandboxProfile {
    var access = AccessRules()
    access.refusesAbstractSockets = !places.hasAbstractManager
    access.allow(.read, below: systemPaths)
    // libdispatch reads the state of its threads in /proc/TID/stat, which is no part of /proc/self, and ends
    // the process if it cannot. Landlock refuses what /proc has of the memory, the environment and the
    // descriptors of other processes, as it refuses to trace them.
    access.allow(.readFiles, below: ["/proc"])
    access.allow(.readAndWriteFiles, below: ["/dev/null", "/dev/random", "/dev/urandom"])
    access.allow(.readAndWrite, below: [places.storePlace])
    if let path = places.listeningPath.map(UnixSocket.directory) {
      access.allow(.removeFiles, below: [path])
    }
    return SandboxProfile(
      systemCalls: gatewayCalls(processID: ThisProcess.processID), access: access)
  }

  /// The machine's memory and processors, time zones, and the directories on the way to a socket, which
  /// the gateway looks at before it trusts the socket.
  private static let systemPaths = [
    "/etc/localtime", "/proc/self", "/sys/devices/system", "/sys/fs/cgroup",
    "/usr/share/zoneinfo",
  ]

  static func gatewayCalls(processID: Int32) -> SystemCallRules {
    var rules = SystemCallRules(otherwise: .allow)
    rules.addNeverNeeded()
    rules.add(.fail(EPERM), ["bind", "listen"])
    rules.refuseNewProcesses()
    rules.refuseOtherProcesses(than: processID)
    rules.refuseExecutableMemory(by: ["mmap", "mprotect", "pkey_mprotect"])
    rules.refuseFileAttributes()
    rules.refuseSharedObjects()
    rules.refuseConnectablePairs()
    rules.refuseSockets(except: [AF_UNSPEC, AF_UNIX])
    return rules
  }
}
