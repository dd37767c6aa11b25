import ImgClient

/// What one coordinator can feed: 64 workers that answer at once, see ``NullWorker``.
extension Bench {
  private static let workerCount = 64
  private static let pictureCount = 200_000

  /// The processor time of the coordinator decides how many processors it can feed. How fast the list ends beside
  /// that depends on the workers, which share this machine's processors with it.
  func measureCoordinator(into report: inout Report) throws {
    let list = try LongList(
      .refused, lineCount: options.scaled(Self.pictureCount),
      path: options.workDirectory + "/coordinator-list")
    let cluster = try start(
      "coordinator",
      settings: [
        "--workers", "\(Self.workerCount)", "--transfers", "4096",
        "--worker-executable", options.programDirectory + "/imgbench",
      ])
    defer { try? cluster.stop() }
    let coordinator = try cluster.client().coordinatorProcessID
    var (rates, costs): ([Double], [Double]) = ([], [])
    for round in 1...options.rounds {
      try note("a coordinator of \(Self.workerCount) workers, round \(round) of \(options.rounds)")
      let before = try ProcessorTime.seconds(of: coordinator)
      let duration = try cluster.run(["submit", "--wait", list.path])
      let seconds = try ProcessorTime.seconds(of: coordinator) - before
      rates.append(Double(list.lineCount) / duration.inSeconds)
      costs.append(seconds / Double(list.lineCount) * 1e6)
    }
    let command =
      "imgctl submit --wait LIST (\(list.lineCount) URLs, \(Self.workerCount) workers that answer at once)"
    report.add("coordinator: a picture", Samples(costs), "µs", command: command)
    report.add(
      "coordinator: one processor feeds", Samples(costs.map { 1e6 / $0 }), "pictures/s",
      command: command)
    report.add("coordinator: whole list", Samples(rates), "pictures/s", command: command)
  }
}
