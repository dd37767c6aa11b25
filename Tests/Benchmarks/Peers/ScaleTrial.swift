import FoundationEssentials
import ImgClient
import ImgModel
import ImgSystem
import ImgWire

/// One list from its submission to its end.
struct ScaleTrial {
  let microsecondsEach: Double
  /// The most memory without a file behind it.
  let coordinatorMiB: Double

  init(_ bench: Bench, _ list: PictureList) throws {
    let path = try bench.imgctl.list(named: "scale", list.urls)
    let cluster = try bench.start("scale-\(list.urls.count)")
    defer {
      try? cluster.stop()
      try? FileManager.default.removeItem(atPath: cluster.dataDirectory)
    }
    let start = ContinuousClock.now
    try cluster.run(["submit", path])
    let client = try cluster.client()
    guard let job = try client.jobs().jobs.first?.job else { throw BenchError("there is no job") }
    var peak = 0
    let status = try client.watch(job, every: .milliseconds(200)) { _ in
      let memory = ThisProcess.memoryUse(of: client.coordinatorProcessID)
      peak = max(peak, memory?.privateByteCount ?? 0)
      return true
    }
    guard status.done == list.urls.count else {
      throw BenchError("\(status.done) of \(list.urls.count) tiny pictures were done")
    }
    microsecondsEach = start.duration(to: .now) / .microseconds(1) / Double(list.urls.count)
    coordinatorMiB = Double(peak) / Double(1 << 20)
  }
}
