import CLinux
import Glibc
package import ImgModel
import ImgSystem

/// The rights that this process gives up, in two steps: ``init(start:)`` as the first thing that it
/// does, and ``lock(_:isRequired:)`` when it has loaded its libraries and before it reads anything from
/// outside. A process never gets a right back, and its children inherit the loss.
///
/// Both steps require that the process has one thread.
package struct Sandbox: ~Copyable {
  private let namespaces: Namespaces

  /// The first step: closes descriptors, and gives up privileges, dumps and, for a decoder, the network.
  ///
  /// A parent-death signal must be set later, because a change of privileges may reset it (prctl(2),
  /// PR_SET_PDEATHSIG).
  package init(start: SandboxStart) throws(SandboxError) {
    try Self.checkThreads()
    for range in start.closedRanges {
      try Self.attempt("close_range") { img_close_range(range.lowerBound, range.upperBound) }
    }
    let namespaces = start.isolatesNetwork ? Namespaces.leave() : Namespaces()
    try Self.attempt("prctl PR_SET_NO_NEW_PRIVS") { img_forbid_new_privileges() }
    try Self.attempt("capset") {
      img_keep_capabilities(start.keptCapabilities.mask)
    }
    ThisProcess.forbidDumps()
    if start.resetsFaultSignals { ThisProcess.resetFaultSignals() }
    self.namespaces = namespaces
  }

  /// Sets the limits of a process that decodes. It can then write no file: standard error must be a pipe
  /// for its messages to arrive.
  package func limit(to limits: ProcessLimits) throws(SandboxError) {
    ThisProcess.ignoreFileSizeSignal()
    do throws(SystemError) {
      try limits.enforce(hasOwnUsers: namespaces.hasOwnUsers)
    } catch {
      throw .failed(error)
    }
  }

  /// The second step: from now on the process can do only what `profile` allows. What the kernel lacks
  /// is left out.
  ///
  /// - Parameter isRequired: whether to throw if the kernel lacks an essential protection.
  /// - Returns: the protections in force.
  package consuming func lock(
    _ profile: SandboxProfile, isRequired: Bool
  ) throws(SandboxError) -> SandboxReport {
    try Self.checkThreads()
    var report = SandboxReport(
      hasNoNewPrivileges: img_has_no_new_privileges() == 1,
      isNotDumpable: img_is_dumpable() == 0, hasOwnNetwork: namespaces.hasOwnNetwork)
    do throws(SystemError) {
      if let version = LandlockRuleset.version {
        try LandlockRuleset.enforce(profile.access, version: version)
        report.landlockVersion = version
      }
      if SystemCallFilter.isSupported {
        try SystemCallFilter.enforce(profile.systemCalls)
        report.hasSystemCallFilter = true
      }
    } catch {
      throw .failed(error)
    }
    guard !isRequired || report.missing.isEmpty else { throw .missing(report.missing) }
    return report
  }

  private static func attempt(
    _ operation: String, _ call: () -> CInt
  ) throws(SandboxError) {
    do throws(SystemError) {
      _ = try systemCall(operation, call)
    } catch {
      throw .failed(error)
    }
  }

  /// Landlock and namespaces restrict the calling thread alone.
  private static func checkThreads() throws(SandboxError) {
    guard ThisProcess.threadCount ?? 1 == 1 else { throw .hasThreads }
  }
}
