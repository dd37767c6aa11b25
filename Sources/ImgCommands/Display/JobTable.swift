package import ImgWire

/// Jobs as a table, one a row.
package struct JobTable {
  private var table = Table([
    .number("job"), .text("state"), .number("total"), .number("done"), .number("failed"),
    .number("retryable"), .number("cancelled"), .number("cached"), .number("queued"),
    .number("running"),
    .text("submitted"), .text("name"),
  ])
  private let now: WallTime

  package init(at now: WallTime) {
    self.now = now
  }

  package mutating func add(_ status: JobStatus) {
    table.addRow([
      "\(status.job)", status.state.rawValue, "\(status.total)", "\(status.done)",
      "\(status.failed)", "\(status.retryable)", "\(status.cancelled)", "\(status.fromCache)",
      "\(status.queued)", "\(status.running)", HumanText.age(of: status.submittedAt, at: now),
      status.name ?? "",
    ])
  }

  package var rendered: String { table.rendered }
}
