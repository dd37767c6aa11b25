import ImgModel
import ImgSystem
import TestPictures

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
      let list = try PictureList(
        "tiny", directory: directory, origin: origin, urlCount: length)
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
