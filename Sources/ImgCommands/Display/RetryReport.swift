package import ImgModel

/// Describes a retried job: what the retry repeats.
package struct RetryReport: Sendable {
  private let before: JobStatus
  private let after: JobStatus

  /// - Parameters:
  ///   - before: the ended job.
  ///   - after: the job after the retry was recorded.
  package init(from before: JobStatus, to after: JobStatus) {
    self.before = before
    self.after = after
  }

  /// One line with a line feed.
  package var text: String {
    var facts: [String] = []
    if before.failed > 0 {
      facts.append(
        "\(before.failed - after.failed) of \(HumanText.count(before.failed, of: "failure"))")
    }
    if before.cancelled > 0 {
      facts.append(HumanText.count(before.cancelled, of: "cancelled URL"))
    }
    return "job \(after.job) repeats \(facts.joined(separator: " and "))\n"
  }
}
