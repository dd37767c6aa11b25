import FoundationEssentials
import ImgModel

/// How the cost of a list grows with its length.
extension Bench {
  func measureLists(into report: inout Report) throws {
    for lineCount in options.listLineCounts {
      for shape in ListShape.allCases {
        report.add(try cost(of: shape, lineCount: lineCount))
      }
    }
  }

  /// On a data directory and a coordinator of its own. The list itself is made before.
  private func cost(of shape: ListShape, lineCount: Int) throws -> ListCost {
    try note("a list of \(lineCount) lines, each \(shape.rawValue)")
    let list = try LongList(shape, lineCount: lineCount, path: options.workDirectory + "/long")
    let cluster = try start("list-\(shape.rawValue)-\(lineCount)")
    if shape == .stored { try fillStore(of: cluster, try list.urls.map(ImageURL.init(parsing:))) }
    let start = ContinuousClock.now
    var trial = ListTrial(list, on: cluster, timeLimit: .seconds(options.scaled(60)))
    let sampler = try StatusSampler(cluster)
    try trial.run()
    let seen = try sampler.finish()
    let restart = try trial.restart()
    let seconds = start.duration(to: .now).inSeconds
    try cluster.stop()
    for path in [list.path, cluster.dataDirectory] {
      try FileManager.default.removeItem(atPath: path)
    }
    return ListCost(list, trial.pass, seen, restart: restart, seconds: seconds)
  }
}
