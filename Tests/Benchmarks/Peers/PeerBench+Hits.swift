import FoundationEssentials
import ImgModel
import ImgSystem

/// One stored thumbnail, from the map and through the socket.
extension PeerBench {
  private static let storedCount = 1_000_000
  private static let pipelinedCount = 100_000

  func hitsFigures() throws -> [PeerFigure] {
    try mapFigures() + socketFigures()
  }

  private func mapFigures() throws -> [PeerFigure] {
    let directory = bench.options.workDirectory + "/hits-sized"
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let count = bench.options.scaled(Self.storedCount)
    try bench.note("a store of \(count) thumbnails")
    let trial = try bench.hitTrial(of: count, .small, in: directory).trial
    return [
      PeerFigure(
        .hits, "in process, median", "µs", own: [trial.median], target: .atMost(2),
        command: "ThumbnailStore.withThumbnail, \(count) thumbnails")
    ]
  }

  private func socketFigures() throws -> [PeerFigure] {
    let cluster = try bench.start("socket-hits")
    defer { try? cluster.stop() }
    let urls = try bench.hitURLs()
    try bench.fillStore(of: cluster, urls)
    var report = Report()
    var (medians, rates): ([Double], [Double]) = ([], [])
    let count = bench.options.scaled(Self.pipelinedCount)
    for round in 1...bench.options.rounds {
      try bench.note("hits through the socket, round \(round) of \(bench.options.rounds)")
      report = Report()
      try bench.measureCalls(urls, on: cluster, into: &report)
      medians += report.figures.filter { $0.name == "hit by the socket, median" }.map(\.median)
      let pipeline = try HitPipeline(socketPath: bench.imgctl.socketPath)
      rates.append(Double(count) / (try pipeline.run(urls, count: count).inSeconds))
    }
    return [
      PeerFigure(
        .hits, "socket, median", "µs", own: medians, target: .atMost(100),
        command: "Client.get, one after the other"),
      PeerFigure(
        .hits, "socket, pipelined", "/s", own: rates, target: .atLeast(50_000),
        command: "get requests, \(HitPipeline.depth) at a time on a connection (\(count))"),
    ]
  }
}
