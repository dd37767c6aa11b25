/// What a process gives up before it has threads and before it reads anything from outside.
package struct SandboxStart: Hashable, Sendable {
  /// Whether it gets a network of its own, which is connected to nothing, where the kernel allows it.
  let isolatesNetwork: Bool
  /// Whether it keeps capabilities that concern permissions of files, if it has any. It loses all
  /// others.
  let keepsFileCapabilities: Bool
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
      isolatesNetwork: true, keepsFileCapabilities: false, resetsFaultSignals: true,
      keptDescriptors: descriptors)
  }

  /// For a process that fetches and stores.
  ///
  /// - Parameter descriptors: those that it needs, with the standard streams.
  package static func worker(keeping descriptors: Set<Int32>) -> SandboxStart {
    SandboxStart(
      isolatesNetwork: false, keepsFileCapabilities: true, resetsFaultSignals: false,
      keptDescriptors: descriptors)
  }

  /// For the process that starts the others. They inherit what it loses.
  package static let coordinator = SandboxStart(
    isolatesNetwork: false, keepsFileCapabilities: true, resetsFaultSignals: false,
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
