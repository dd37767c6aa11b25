import CLinux

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
