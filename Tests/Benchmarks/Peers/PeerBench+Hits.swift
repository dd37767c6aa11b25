import FoundationEssentials
import ImgClient
import ImgModel
import ImgSystem
import ImgWire

/// One stored thumbnail, from the map and through the socket.
extension PeerBench {
  private static let storedCount = 1_000_000
  private static let pipelinedCount = 100_000

  private static let lineCount = 200_000

  func hitsFigures() throws -> [PeerFigure] {
    try listFigures() + socketFigures()
  }

  /// Lists whose lines are all stored, so that a line is looked up, found and recorded.
  private func listFigures() throws -> [PeerFigure] {
    let list = try LongList(
      .stored, lineCount: bench.options.scaled(Self.lineCount),
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
      PeerFigure(.hits, "list", "/s", own: rates, target: .atLeast(200_000), command: command),
      PeerFigure(
        .hits, "coordinator, a line", "µs", own: costs, target: .atMost(5), command: command),
    ]
  }

  /// Hits without a coordinator, in the process that wants them.
  func libraryFigures() throws -> [PeerFigure] {
    var report = Report()
    let cluster = try bench.start("library")
    defer { try? cluster.stop() }
    let urls = try bench.hitURLs()
    try bench.fillStore(of: cluster, urls)
    try bench.measureClientHits(urls, on: cluster, into: &report)
    let rates = try report.figure(named: "hits by 1 task")
    return [
      PeerFigure(
        .library, "hit by a task", "µs", own: rates.values.map { 1e6 / $0 }, target: .atMost(5),
        command: "\(rates.command), one after the other")
    ] + (try mapFigures())
  }

  private func mapFigures() throws -> [PeerFigure] {
    let directory = bench.options.workDirectory + "/hits-sized"
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let count = bench.options.scaled(Self.storedCount)
    try bench.note("a store of \(count) thumbnails")
    let trial = try bench.hitTrial(of: count, .small, in: directory).trial
    return [
      PeerFigure(
        .library, "thumbnail of the map, median", "µs", own: [trial.median], target: .atMost(2),
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

/// A client that sends the next requests before the earlier ones are answered.
struct HitPipeline {
  /// Requests on their way.
  static let depth = 64

  private let channel: Channel<CoordinatorReply, ClientMessage>
  private let deadline = ContinuousClock.now + .seconds(120)

  init(socketPath: String) throws {
    channel = try Channel(try UnixSocket.connect(path: socketPath))
    try channel.send(.hello(Hello(processID: ThisProcess.processID)))
    guard case .hello = try channel.next(until: deadline) else {
      throw BenchError("the coordinator did not greet")
    }
  }

  /// Gets `count` stored thumbnails, each of `urls` in turn.
  ///
  /// - Returns: how long that took.
  func run(_ urls: [ImageURL], count: Int) throws -> Duration {
    let options = RequestOptions(variant: .standard)
    let start = ContinuousClock.now
    var (sent, answered) = (0, 0)
    while answered < count {
      while sent < count, sent - answered < Self.depth {
        let request = GetRequest(url: urls[sent % urls.count].text, options: options)
        try channel.send(.get(RequestID(rawValue: UInt64(sent + 1)), request))
        sent += 1
      }
      try channel.flush(until: deadline)
      let reply = try channel.next(until: deadline)
      guard case .got(_, let got) = reply, case .done = got.outcome else {
        throw BenchError("a stored thumbnail was not answered with: \(reply)")
      }
      answered += 1
    }
    return start.duration(to: .now)
  }
}

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
      guard let job = try client.answer(.jobs()).jobs.first?.job else { throw BenchError("no job") }
      // The list runs flat out once some of it has ended.
      _ = try cluster.client().watch(job, every: .milliseconds(20)) { $0.done < load.count / 50 }
      loaded.append(try trial())
      let status = try cluster.client().watch(job, every: .seconds(1)) { _ in false }
      guard !status.hasEnded else { throw BenchError("the list ended before the calls did") }
      try cluster.run(["cancel", "\(job)"])
      // The next round begins on an idle machine.
      while try client.answer(.status).transfers > 0 { ThisProcess.pause(for: .milliseconds(10)) }
    }
    return Self.figures(idle, loaded)
  }

  private static func figures(_ idle: [LatencyTrial], _ loaded: [LatencyTrial]) -> [PeerFigure] {
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

/// How long `get` takes, again and again, on a connection of its own.
struct LatencyTrial {
  let new: Samples
  let cached: Samples

  /// - Parameters:
  ///   - newURLs: pictures that were never fetched; each is used once.
  ///   - cachedURL: a stored one.
  init(_ client: Client, newURLs: some Sequence<String>, cachedURL: String) throws {
    let options = RequestOptions(variant: .standard)
    func milliseconds(_ url: String) throws -> Double {
      try Bench.microseconds {
        guard case .done = try client.answer(.get(GetRequest(url: url, options: options))).outcome
        else {
          throw BenchError("\(url) has no thumbnail")
        }
      } / 1_000
    }
    var (new, cached) = (Samples(), Samples())
    for url in newURLs {
      new.add(try milliseconds(url))
      cached.add(try milliseconds(cachedURL))
    }
    (self.new, self.cached) = (new, cached)
  }
}
