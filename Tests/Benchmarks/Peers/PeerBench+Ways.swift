import FoundationEssentials
import ImgClient
import ImgModel
import ImgSystem
import ImgWire
import TestPictures

/// A list, run in two ways that imgctl has.
extension PeerBench {
  private static let smallURLCount = 4_000
  private static let largeURLCount = 300
  private static let sizes = ["64", "256", "1024"]

  /// What a file tells of its picture, beside the whole files.
  func factsFigures() throws -> [PeerFigure] {
    let lists = [
      try smallList(urlCount: bench.options.scaled(Self.smallURLCount)),
      try largeList(urlCount: bench.options.scaled(Self.largeURLCount)),
    ]
    return try lists.flatMap { list in
      try figures(
        .facts, list, [["info", "--list"]], beside: "the files fetched whole",
        [["submit", "--wait", "--keep", "original"]])
    }
  }

  /// Several sizes from one fetch and one decode, beside a job for each.
  func sizesFigures() throws -> [PeerFigure] {
    let submit = ["submit", "--wait"]
    return try figures(
      .sizes, largeList(urlCount: bench.options.scaled(Self.largeURLCount)),
      [submit + Self.sizes.flatMap { ["--size", $0] }], beside: "a job for each size",
      Self.sizes.map { submit + ["--size", $0] })
  }

  /// In pairs of changing order: whatever else the machine does meanwhile meets both.
  ///
  /// - Parameters:
  ///   - own: the words of imgctl's commands, to which the list's path is added.
  ///   - others: those of the other way.
  private func figures(
    _ row: PeerRow, _ list: PictureList, _ own: [[String]], beside: String, _ others: [[String]]
  ) throws -> [PeerFigure] {
    let path = try bench.imgctl.list(named: "\(row)-\(list.name)", list.urls)
    var passes: (own: [CommandPass], others: [CommandPass]) = ([], [])
    func run(_ commands: [[String]]) throws -> CommandPass {
      try bench.pass("\(row)", commands.map { $0 + [path] }, lineCount: list.urls.count)
    }
    for round in 1...bench.options.rounds {
      try bench.note("\(row), \(list.name), round \(round) of \(bench.options.rounds)")
      if round.isMultiple(of: 2) { passes.others.append(try run(others)) }
      passes.own.append(try run(own))
      if !round.isMultiple(of: 2) { passes.others.append(try run(others)) }
    }
    let count = Double(list.urls.count)
    let pictures = "\(list.pictureCount) \(list.name) pictures"
    let stores = "(\(list.urls.count) URLs, new stores)"
    let command = "\(Self.text(own)) : \(Self.text(others)) \(stores)"
    func figure(_ name: String, _ unit: String, _ value: (CommandPass) -> Double) -> PeerFigure {
      PeerFigure(
        row, name, unit, own: passes.own.map(value), beside: beside, passes.others.map(value),
        target: nil, command: command)
    }
    return [
      figure(pictures, "/s") { count / $0.seconds },
      figure("\(pictures), fetched for each", "KB") { Double($0.byteCount) / count / 1_000 },
    ]
  }

  private static func text(_ commands: [[String]]) -> String {
    commands.map { "imgctl \($0.joined(separator: " ")) LIST" }.joined(separator: "; ")
  }
}

/// Commands that run one list, one after the other, on a cluster of their own.
struct CommandPass {
  let seconds: Double
  /// The bytes of all response bodies.
  let byteCount: Int64
}

extension Bench {
  /// - Parameters:
  ///   - name: of the data directory, which is removed.
  ///   - commands: each makes one job of the list and ends with it.
  func pass(_ name: String, _ commands: [[String]], lineCount: Int) throws -> CommandPass {
    let cluster = try start(name)
    defer {
      // The next cluster listens at the same socket.
      try? cluster.stop()
      try? FileManager.default.removeItem(atPath: cluster.dataDirectory)
    }
    let seconds = try commands.reduce(0) { try $0 + cluster.run($1).inSeconds }
    let jobs = try cluster.client().answer(.jobs()).jobs
    guard jobs.map(\.done) == commands.map({ _ in lineCount }) else {
      throw BenchError("of \(lineCount) pictures, the jobs did \(jobs.map(\.done))")
    }
    return CommandPass(seconds: seconds, byteCount: jobs.reduce(0) { $0 + $1.fetchedByteCount })
  }
}

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

/// Transfers alone, and how a list's cost grows with its length.
extension PeerBench {
  func transferFigures() throws -> [PeerFigure] {
    try oneKilobyteFigures() + scaleFigures()
  }

  private func oneKilobyteFigures() throws -> [PeerFigure] {
    var report = Report()
    try bench.measureTransfers(bodyCount: 1, into: &report)
    func figure(_ name: String) throws -> Report.Figure {
      guard let figure = report.figures.first(where: { $0.name == "1 KB: \(name)" }) else {
        throw BenchError("1 KB: \(name) was not measured")
      }
      return figure
    }
    let (own, curl) = (try figure("transfers"), try figure("transfers, curl"))
    return [
      PeerFigure(
        .transfers, "1 KB", "/s", own: own.values, beside: "curl --parallel", curl.values,
        target: .atLeast(1), command: "\(own.command) : \(curl.command)")
    ]
  }

  /// One run a length: the longest takes minutes.
  private func scaleFigures() throws -> [PeerFigure] {
    let directory = bench.options.workDirectory + "/tiny-pictures"
    try PhotographCuts.writeTiny(to: directory)
    let trials = try bench.options.listLineCounts.map { length in
      let list = try PictureList("tiny", directory: directory, origin: origin, urlCount: length)
      try bench.note("a list of \(list.urls.count) tiny pictures")
      return (count: list.urls.count, cost: try ScaleTrial(bench, list))
    }
    // The start of a very short list is a large part of it.
    let first = trials[min(1, trials.count - 1)]
    return trials.flatMap { count, cost in
      let command = "imgctl submit LIST (\(count) : \(first.count) URLs of tiny pictures)"
      return [
        PeerFigure(
          .transfers, "list of \(count), each", "µs", own: [cost.microsecondsEach],
          beside: "list of \(first.count)", [first.cost.microsecondsEach],
          target: count > first.count ? .atMost(1.2) : nil, command: command),
        PeerFigure(
          .transfers, "list of \(count), coordinator's memory", "MiB",
          own: [cost.coordinatorMiB], beside: "list of \(first.count)",
          [first.cost.coordinatorMiB], target: count > first.count ? .atMost(1.5) : nil,
          command: "\(command), private pages at their peak"),
      ]
    }
  }
}

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
    guard let job = try client.answer(.jobs()).jobs.first?.job else {
      throw BenchError("there is no job")
    }
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
