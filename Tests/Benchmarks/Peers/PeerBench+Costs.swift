import ImgClient
import ImgModel
import ImgSystem

/// What a picture costs beside its decoding, in processor time.
extension PeerBench {
  private static let fetchedCount = 4_000
  private static let hitCount = 200_000

  func costFigures() throws -> [PeerFigure] {
    try fetchedFigures() + hitFigures()
  }

  private func fetchedFigures() throws -> [PeerFigure] {
    let list = try smallList(urlCount: bench.options.scaled(Self.fetchedCount))
    let path = try bench.imgctl.list(named: "costs-urls", list.urls)
    let passes = try (1...bench.options.rounds).map { round in
      try bench.note("costs, round \(round) of \(bench.options.rounds)")
      return try bench.pass("costs-\(round)", list: path)
    }
    func milliseconds(_ time: (ProcessorTime) -> Double) -> [Double] {
      passes.map { time($0.processorTime) / Double(list.urls.count) * 1_000 }
    }
    let command = "\(Self.submit(list.urls.count)), /proc/PID/stat"
    return [
      PeerFigure(
        .costs, "coordinator, a fetched picture", "ms", own: milliseconds(\.coordinator),
        target: .atMost(0.15), command: command),
      PeerFigure(
        .costs, "worker and store beside decoding", "ms", own: milliseconds(\.workers),
        target: .atMost(0.5), command: command),
    ]
  }

  /// Lists whose lines are all stored, so that a line is looked up, found and recorded.
  private func hitFigures() throws -> [PeerFigure] {
    let list = try LongList(
      .stored, lineCount: bench.options.scaled(Self.hitCount),
      path: bench.options.workDirectory + "/hits")
    let cluster = try bench.start("hits")
    defer { try? cluster.stop() }
    try bench.fillStore(of: cluster, try list.urls.map(ImageURL.init(parsing:)))
    var (rates, costs): ([Double], [Double]) = ([], [])
    for round in 1...bench.options.rounds {
      try bench.note("a list of hits, round \(round) of \(bench.options.rounds)")
      let coordinator = try cluster.client().coordinatorProcessID
      let before = try ProcessorTime.seconds(of: coordinator)
      let duration = try cluster.run(["submit", "--wait", list.path])
      let after = try ProcessorTime.seconds(of: coordinator)
      rates.append(Double(list.lineCount) / duration.inSeconds)
      costs.append((after - before) / Double(list.lineCount) * 1e6)
    }
    let command = "imgctl submit --wait LIST (\(list.lineCount) URLs, all stored)"
    return [
      PeerFigure(
        .costs, "coordinator, a hit", "µs", own: costs, target: .atMost(10), command: command),
      PeerFigure(
        .costs, "list of hits", "/s", own: rates, target: .atLeast(200_000), command: command),
    ]
  }
}
