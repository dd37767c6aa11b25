import CLinux
import Glibc
package import ImgModel
package import ImgSystem

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

/// Why a process is not locked down.
package enum SandboxError: Error, Hashable {
  /// The kernel lacks a protection that the settings require.
  case missing([String])
  /// Threads that exist already would keep their rights.
  case hasThreads
  case failed(SystemError)
}

extension SandboxError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .missing(let protections):
      "the sandbox is required (--require-sandbox), and this kernel lacks "
        + protections.joined(separator: " and ")
    case .hasThreads: "the sandbox must be locked before the process starts threads"
    case .failed(let error): "the sandbox cannot be set up: \(error)"
    }
  }
}

/// What a process gives up before it has threads and before it reads anything from outside.
package struct SandboxStart: Hashable, Sendable {
  /// Whether it gets a network of its own, which is connected to nothing, where the kernel allows it.
  let isolatesNetwork: Bool
  /// The capabilities that a process may keep, if it has any (capabilities(7)). It loses all others.
  enum KeptCapabilities: Hashable, Sendable {
    case none
    /// Those that reach files in spite of their permissions.
    case accessToFiles
    /// Also those that change the owner and the permissions of files.
    case files

    /// A bit for each.
    var mask: UInt32 {
      switch self {
      case .none: 0
      case .accessToFiles: UInt32(IMG_CAPABILITIES_OF_ACCESS)
      case .files: UInt32(IMG_CAPABILITIES_OF_FILES)
      }
    }
  }

  let keptCapabilities: KeptCapabilities
  /// Whether a fault ends it at once. The Swift runtime's handler would start a program that reads the
  /// process's memory.
  let resetsFaultSignals: Bool
  /// The descriptors that stay open; `nil` for all.
  let keptDescriptors: Set<Int32>?

  /// For a process that decodes.
  ///
  /// - Parameter descriptors: those that it needs, with the standard streams.
  package static func decoder(keeping descriptors: Set<Int32>) -> SandboxStart {
    SandboxStart(
      isolatesNetwork: true, keptCapabilities: .none, resetsFaultSignals: true,
      keptDescriptors: descriptors)
  }

  /// For a process that fetches and stores.
  ///
  /// - Parameter descriptors: those that it needs, with the standard streams.
  package static func worker(keeping descriptors: Set<Int32>) -> SandboxStart {
    SandboxStart(
      isolatesNetwork: false, keptCapabilities: .accessToFiles, resetsFaultSignals: false,
      keptDescriptors: descriptors)
  }

  /// For a process that serves clients, and starts no other.
  package static let gateway = SandboxStart(
    isolatesNetwork: false, keptCapabilities: .accessToFiles, resetsFaultSignals: false,
    keptDescriptors: nil)

  /// For the process that starts the others. They inherit what it loses.
  package static let coordinator = SandboxStart(
    isolatesNetwork: false, keptCapabilities: .files, resetsFaultSignals: false,
    keptDescriptors: nil)

  /// The ranges of numbers between the kept descriptors.
  var closedRanges: [ClosedRange<UInt32>] {
    guard let keptDescriptors else { return [] }
    var ranges: [ClosedRange<UInt32>] = []
    var next: UInt32 = 0
    for kept in keptDescriptors.filter({ $0 >= 0 }).map(UInt32.init).sorted() {
      if kept > next { ranges.append(next...(kept - 1)) }
      next = kept + 1
    }
    return ranges + [next...(.max)]
  }
}

/// The namespaces (namespaces(7)) that the process does not share with others.
struct Namespaces {
  private(set) var hasOwnUsers = false
  private(set) var hasOwnNetwork = false

  /// Leaves the network and, to be allowed to do that without privileges, the users. Some systems
  /// refuse it, so this does as much as it can.
  static func leave() -> Namespaces {
    let network = CInt(IMG_CLONE_NEWNET) | CInt(IMG_CLONE_NEWIPC)
    var namespaces = Namespaces()
    if img_unshare(CInt(IMG_CLONE_NEWUSER) | network) == 0 {
      namespaces.hasOwnUsers = true
      namespaces.hasOwnNetwork = true
    } else {
      // Works for root where user namespaces are disabled.
      namespaces.hasOwnNetwork = img_unshare(network) == 0
    }
    return namespaces
  }
}

/// Limits of a process that decodes (getrlimit(2)). The process cannot raise them.
package struct ProcessLimits: Hashable, Sendable {
  /// Heap, stacks and anonymous mappings (RLIMIT_DATA).
  package let privateByteCount: Int64
  /// Everything that is mapped (RLIMIT_AS): also libraries, shared memory and reserved addresses.
  package let addressSpaceByteCount: Int64
  /// Open descriptors (RLIMIT_NOFILE). Beside the standard streams and the connection these are one
  /// memory file at a time, and fonts, which are opened one by one to draw text. There are few, because
  /// a process that keeps the memory files that it is passed keeps their memory.
  package let descriptorCount = 16
  /// Processes and threads of the user namespace (RLIMIT_NPROC), which contains only this process.
  /// Decoders of AVIF and JPEG XL start some threads for each core.
  package let threadCount = 1_024

  /// The space for what is mapped besides. While a thousand pictures of all formats were decoded, that
  /// was at most 234 MiB: libraries, fonts, and addresses that the allocator reserves for threads. The
  /// rest is for larger builds of the libraries, and for larger fonts.
  private static let reservedByteCount: Int64 = 512 << 20

  /// - Parameters:
  ///   - privateByteCount: what a decode may use.
  ///   - sharedByteCount: the memory that it shares with other processes.
  package init(privateByteCount: Int64, sharedByteCount: Int64) {
    self.privateByteCount = privateByteCount
    addressSpaceByteCount = privateByteCount + sharedByteCount + Self.reservedByteCount
  }

  /// - Parameter hasOwnUsers: whether the process has a user namespace of its own. Without it, the
  ///   kernel would count all processes of the user.
  func enforce(hasOwnUsers: Bool) throws(SystemError) {
    try Self.limit(RLIMIT_DATA, "DATA", to: privateByteCount)
    try Self.limit(RLIMIT_AS, "AS", to: addressSpaceByteCount)
    try Self.limit(RLIMIT_NOFILE, "NOFILE", to: Int64(descriptorCount))
    try Self.limit(RLIMIT_FSIZE, "FSIZE", to: 0)
    if hasOwnUsers { try Self.limit(__RLIMIT_NPROC, "NPROC", to: Int64(threadCount)) }
  }

  /// Sets the soft and the hard limit, and leaves lower ones as they are.
  private static func limit(
    _ resource: __rlimit_resource, _ name: String, to value: Int64
  ) throws(SystemError) {
    let number = __rlimit_resource_t(resource.rawValue)
    var limit = rlimit()
    _ = try systemCall("getrlimit RLIMIT_\(name)") { unsafe getrlimit(number, &limit) }
    limit.rlim_max = min(limit.rlim_max, rlim_t(value))
    limit.rlim_cur = min(limit.rlim_cur, limit.rlim_max)
    _ = try systemCall("setrlimit RLIMIT_\(name)") { unsafe setrlimit(number, &limit) }
  }
}
