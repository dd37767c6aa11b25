package import ImgModel

/// What is said of a job that was taken up again: what of it was reopened.
package struct RetryReport: Sendable {
  private let before: JobStatus
  private let after: JobStatus

  /// - Parameters:
  ///   - before: the job as it had ended.
  ///   - after: the job when the retry was durable.
  package init(from before: JobStatus, to after: JobStatus) {
    self.before = before
    self.after = after
  }

  /// One line, ended.
  package var text: String {
    var facts: [String] = []
    if before.failed > 0 {
      facts.append(
        "\(before.failed - after.failed) of \(HumanText.count(before.failed, of: "failure"))")
    }
    if before.cancelled > 0 {
      facts.append(HumanText.count(before.cancelled, of: "cancelled URL"))
    }
    return "job \(after.job) tries \(facts.joined(separator: " and ")) again\n"
  }
}
