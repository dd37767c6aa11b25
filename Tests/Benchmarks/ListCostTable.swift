import ImgCommands

/// How costs grow with the length of a list, for people, and what each column means.
struct ListCostTable {
  private struct Column: Sendable {
    let heading: String
    let meaning: String
    let text: @Sendable (ListCost) -> String
  }

  private let costs: [ListCost]

  init(_ costs: [ListCost]) {
    self.costs = costs
  }

  var rendered: String {
    var table = Table([.number("lines"), .text("each")] + Self.columns.map { .number($0.heading) })
    for cost in costs {
      table.addRow(["\(cost.lineCount)", cost.shape.rawValue] + Self.columns.map { $0.text(cost) })
    }
    var legend = Table([.text("column"), .text("what it is, by which command")])
    legend.addRow(["stored", "a line whose thumbnail is stored: looked up, found, recorded"])
    legend.addRow([
      "refused", "a line at a refused address: looked up, given to a worker, failed, recorded",
    ])
    for column in Self.columns { legend.addRow([column.heading, column.meaning]) }
    return table.rendered + "\n" + legend.rendered
  }

  private static let columns = [
    column("submit/s", "lines submitted: imgctl submit LIST, the process") {
      $0.submittedPerSecond
    },
    column("CPU µs", "processor time of the coordinator, a submitted line") {
      $0.submitMicroseconds
    },
    column("run/s", "lines ended, from the job's start to its end or to when it was cut short") {
      $0.endedPerSecond
    },
    column("CPU µs each", "processor time of the coordinator, a line ended") {
      $0.runMicroseconds
    },
    Column(
      heading: "ended", meaning: "lines ended; a short list several times over",
      text: { "\($0.endedCount)" }),
    column("private MiB", "the coordinator's memory that no file stands behind, at its peak") {
      $0.privatePeakMiB
    },
    column("mapped MiB", "its pages of the journal's map, at their peak; they are page cache") {
      $0.mappedPeakMiB
    },
    column("status ms", "imgctl status --json, the process, all the while: the median") {
      $0.statusMedianMilliseconds
    },
    column("99 %", "the same: of 100 calls, 99 took no longer") { $0.status99Milliseconds },
    column("answer ms", "Client.status over a connection that stands: the median") {
      $0.answerMedianMilliseconds
    },
    column("answer 99 %", "the same: of 100 calls, 99 took no longer") {
      $0.answer99Milliseconds
    },
    column("highest", "the same: the longest") { $0.answerHighestMilliseconds },
    column("list B", "the journal's file, a submitted line") { $0.listByteCount },
    column("outcome B", "the journal's file, a line ended, on top") { $0.outcomeByteCount },
    column("restart ms", "imgctl priority JOB 0, the process, after a SIGKILL amid the job") {
      $0.restartMilliseconds
    },
    column("took s", "this row") { $0.seconds },
  ]

  private static func column(
    _ heading: String, _ meaning: String, _ value: @escaping @Sendable (ListCost) -> Double
  ) -> Column {
    Column(heading: heading, meaning: meaning, text: { Report.text(value($0)) })
  }
}
