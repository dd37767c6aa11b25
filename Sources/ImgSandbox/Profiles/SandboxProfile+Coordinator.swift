import Glibc

extension SandboxProfile {
  /// For the process that starts the others, which inherit what it loses. So it keeps what one of them
  /// needs: executing, new namespaces, connections.
  ///
  /// It writes only below `writablePaths`.
  package static func coordinator(writablePaths: [String]) -> SandboxProfile {
    var access = AccessRules()
    access.refusesTCPConnect = false
    access.refusesAbstractSockets = false
    access.allow([.read, .execute], below: ["/"])
    access.allow([.readAndWrite, .createSpecialFiles], below: writablePaths)
    access.allow(.readAndWriteFiles, below: ["/dev/null", "/dev/random", "/dev/urandom"])
    var calls = SystemCallRules(otherwise: .allow)
    calls.addNeverNeeded()
    return SandboxProfile(systemCalls: calls, access: access)
  }
}
