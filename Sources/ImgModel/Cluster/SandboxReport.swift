/// The protections that are in force in a process.
///
/// A kernel may lack some: they depend on its version, its configuration and the container that the
/// process runs in.
package struct SandboxReport: Hashable, Sendable, Codable {
  /// A program that the process executes gains no privileges (PR_SET_NO_NEW_PRIVS).
  package var hasNoNewPrivileges: Bool
  /// The process can be neither dumped nor traced by other processes of its user (PR_SET_DUMPABLE).
  package var isNotDumpable: Bool
  /// A filter refuses the system calls that the process does not need (seccomp(2)).
  package var hasSystemCallFilter: Bool
  /// The version of Landlock (landlock(7)) that limits files, sockets and signals; `nil` for none.
  package var landlockVersion: Int?
  /// The process has a network of its own, which is connected to nothing (network_namespaces(7)).
  package var hasOwnNetwork: Bool

  package init(
    hasNoNewPrivileges: Bool = false, isNotDumpable: Bool = false,
    hasSystemCallFilter: Bool = false, landlockVersion: Int? = nil, hasOwnNetwork: Bool = false
  ) {
    self.hasNoNewPrivileges = hasNoNewPrivileges
    self.isNotDumpable = isNotDumpable
    self.hasSystemCallFilter = hasSystemCallFilter
    self.landlockVersion = landlockVersion
    self.hasOwnNetwork = hasOwnNetwork
  }

  private enum CodingKeys: String, CodingKey {
    case hasNoNewPrivileges = "no_new_privileges"
    case isNotDumpable = "not_dumpable"
    case hasSystemCallFilter = "seccomp"
    case landlockVersion = "landlock"
    case hasOwnNetwork = "own_network"
  }
}

extension SandboxReport {
  /// The essential protections that this kernel lacks, each as a phrase; empty if there are none. A
  /// network namespace is not essential, because the filter and Landlock refuse sockets, too.
  package var missing: [String] {
    var missing: [String] = []
    if !hasNoNewPrivileges { missing.append("no_new_privs") }
    if !hasSystemCallFilter { missing.append("system call filters (seccomp)") }
    if landlockVersion == nil { missing.append("Landlock") }
    return missing
  }
}

extension SandboxReport {
  /// The protections that are in force in all of several processes; `nil` for no process.
  package init?(ofAll reports: [SandboxReport]) {
    guard !reports.isEmpty else { return nil }
    let versions = reports.compactMap(\.landlockVersion)
    self.init(
      hasNoNewPrivileges: reports.allSatisfy(\.hasNoNewPrivileges),
      isNotDumpable: reports.allSatisfy(\.isNotDumpable),
      hasSystemCallFilter: reports.allSatisfy(\.hasSystemCallFilter),
      landlockVersion: versions.count == reports.count ? versions.min() : nil,
      hasOwnNetwork: reports.allSatisfy(\.hasOwnNetwork))
  }
}

extension SandboxReport: CustomStringConvertible {
  /// A line for people, such as `seccomp, Landlock 7, own network, no_new_privs, not dumpable`.
  package var description: String {
    var present: [String] = []
    if hasSystemCallFilter { present.append("seccomp") }
    if let landlockVersion { present.append("Landlock \(landlockVersion)") }
    if hasOwnNetwork { present.append("own network") }
    if hasNoNewPrivileges { present.append("no_new_privs") }
    if isNotDumpable { present.append("not dumpable") }
    let protections = present.isEmpty ? "none" : present.joined(separator: ", ")
    return missing.isEmpty
      ? protections : "\(protections); the kernel lacks \(missing.joined(separator: " and "))"
  }
}
