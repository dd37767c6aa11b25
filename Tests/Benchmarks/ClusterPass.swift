import FoundationEssentials
import ImgSystem

/// One list of `imgctl submit --wait` on a cluster of its own.
struct ClusterPass {
  let seconds: Double
  let processorTime: ProcessorTime
  /// The most memory that one of its decoders had resident, in MiB.
  let decoderPeakMiB: Double
}

extension Bench {
  /// - Parameter name: of the data directory, which is removed.
  func pass(_ name: String, list: String) throws -> ClusterPass {
    let cluster = try start(name)
    defer { try? FileManager.default.removeItem(atPath: cluster.dataDirectory) }
    do {
      let before = try cluster.processorTime(originProcessID: options.originProcessID)
      let duration = try cluster.run(["submit", "--wait", list])
      let after = try cluster.processorTime(originProcessID: options.originProcessID)
      let decoders = try cluster.decoders()
      try cluster.stop()
      return ClusterPass(
        seconds: duration.inSeconds, processorTime: after - before,
        decoderPeakMiB: decoders.map(\.peakMiB).max() ?? 0)
    } catch {
      // The next cluster listens at the same socket.
      try? cluster.stop()
      throw error
    }
  }
}
