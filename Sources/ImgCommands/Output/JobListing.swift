package import ImgModel

/// A table of jobs, one a row. The columns for unusual options and for the reason of a wait appear
/// only if a job has them.
package struct JobListing {
  private static let columns: [Table.Column] = [
    .number("job"), .text("state"), .number("total"), .number("done"), .number("failed"),
    .number("retryable").ifItFits, .number("cancelled").ifItFits, .number("cached").ifItFits,
    .number("queued").ifItFits, .number("running").ifItFits, .text("submitted").ifItFits,
  ]

  private let now: WallTime
  private var rows: [(cells: [String], terms: String, waiting: String, name: String)] = []

  package init(at now: WallTime) {
    self.now = now
  }

  package mutating func add(_ status: ImageJob) {
    let cells = [
      "\(status.job)", status.state.rawValue, "\(status.total)", "\(status.done)",
      "\(status.failed)", "\(status.retryable)", "\(status.cancelled)", "\(status.fromCache)",
      "\(status.queued)", "\(status.running)", HumanText.age(of: status.submissionTime, at: now),
    ]
    let waiting = status.wait.map { WaitText($0, at: now).text } ?? ""
    rows.append((cells, terms(of: status), waiting, status.name ?? ""))
  }

  package var rendered: String { rendered(within: nil) }

  /// - Parameter width: see ``Table/rendered(within:)``.
  package func rendered(within width: Int?) -> String {
    let hasTerms = rows.contains { !$0.terms.isEmpty }
    let hasWaits = rows.contains { !$0.waiting.isEmpty }
    var table = Table(
      Self.columns + (hasTerms ? [.text("options")] : []) + [.text("name")]
        + (hasWaits ? [.text("waiting")] : []))
    for row in rows {
      table.addRow(
        row.cells + (hasTerms ? [row.terms] : []) + [row.name] + (hasWaits ? [row.waiting] : []))
    }
    return table.rendered(within: width)
  }

  /// The job's options that differ from the defaults: priority, order, leniency with the number of
  /// damaged pictures, and a delay that still runs.
  private func terms(of status: ImageJob) -> String {
    var terms: [String] = []
    if status.priority != .normal { terms.append("priority \(status.priority.rawValue)") }
    if status.order != .firstInFirstOut { terms.append(status.order.rawValue) }
    if status.pinPolicy == .untilExported { terms.append("pinned") }
    if status.request.isLenient {
      terms.append("lenient" + (status.damaged > 0 ? ", \(status.damaged) damaged" : ""))
    }
    if !status.hasEnded, let notBefore = status.notBefore, notBefore > now {
      terms.append("starts in " + HumanText.duration(now.duration(to: notBefore)))
    }
    return terms.joined(separator: ", ")
  }
}
