import ImgClient
import ImgModel
import ImgSystem
import ImgWire

/// How long one picture takes while a list runs flat out, beside an idle machine.
extension PeerBench {
  private static let callCount = 200
  /// Long enough to run for as long as all calls take.
  private static let loadCount = 40_000

  func latencyFigures() throws -> [PeerFigure] {
    let cluster = try bench.start("latency")
    defer { try? cluster.stop() }
    let client = try cluster.client()
    let callCount = bench.options.scaled(Self.callCount)
    let callPairs = callCount * 2 * bench.options.rounds
    let urls = try smallList(urlCount: callPairs + 1).urls.map { "\($0)-alone" }
    let load = try smallList(urlCount: bench.options.scaled(Self.loadCount)).urls
    var rest = urls[1...]
    var (idle, loaded): ([LatencyTrial], [LatencyTrial]) = ([], [])
    _ = try LatencyTrial(client, newURLs: [urls[0]], cachedURL: urls[0])
    for round in 1...bench.options.rounds {
      try bench.note("latency, round \(round) of \(bench.options.rounds)")
      func trial() throws -> LatencyTrial {
        defer { rest = rest.dropFirst(callCount) }
        return try LatencyTrial(client, newURLs: rest.prefix(callCount), cachedURL: urls[0])
      }
      idle.append(try trial())
      let list = try bench.imgctl.list(named: "load", load.map { "\($0)-\(round)" })
      try cluster.run(["submit", list])
      guard let job = try client.jobs().jobs.first?.job else { throw BenchError("no job") }
      // The list runs flat out once some of it has ended.
      _ = try cluster.client().watch(job, every: .milliseconds(20)) { $0.done < load.count / 50 }
      loaded.append(try trial())
      let status = try cluster.client().watch(job, every: .seconds(1)) { _ in false }
      guard !status.hasEnded else { throw BenchError("the list ended before the calls did") }
      try cluster.run(["cancel", "\(job)"])
      // The next round begins on an idle machine.
      while try client.status().transfers > 0 { ThisProcess.pause(for: .milliseconds(10)) }
    }
    return Self.figures(idle, loaded)
  }

  private static func figures(
    _ idle: [LatencyTrial], _ loaded: [LatencyTrial]
  ) -> [PeerFigure] {
    let kinds: [(name: String, samples: (LatencyTrial) -> Samples, bounds: [Double])] = [
      ("new picture", \.new, [2, 4]), ("stored picture", \.cached, [1.5, 3]),
    ]
    return kinds.flatMap { kind in
      zip([0.5, 0.99], kind.bounds).map { share, bound in
        PeerFigure(
          .latency, "\(kind.name), \(share == 0.5 ? "median" : "99 %")", "ms",
          own: loaded.map { kind.samples($0).quantile(share) }, beside: "the idle machine",
          idle.map { kind.samples($0).quantile(share) }, target: .atMost(bound),
          command: "Client.get while imgctl submit LIST runs : Client.get")
      }
    }
  }
}
