package import ImgModel

/// The summary of an ended job, with the commands to type next.
package struct JobSummary: Sendable {
  private let status: JobStatus
  private let commonFailure: Failure?
  private let limitNote: String?
  private let lostCount: Int
  private let diskNote: String?

  /// - Parameters:
  ///   - commonFailure: the first failure of a job whose lines all failed with its code; `nil` for another
  ///     job.
  ///   - limitNote: see ``TransferLimitWatch/note``.
  ///   - lostCount: how many of its thumbnails the store no longer has.
  ///   - diskNote: that the store is smaller than its budget; `nil` if it is not.
  package init(
    _ status: JobStatus, commonFailure: Failure? = nil, limitNote: String? = nil,
    lostCount: Int = 0, diskNote: String? = nil
  ) {
    self.status = status
    self.commonFailure = commonFailure
    self.limitNote = limitNote
    self.lostCount = lostCount
    self.diskNote = diskNote
  }

  /// One line or more, each with a line feed.
  package var text: String {
    var lines = ["job \(status.job) \(status.state.rawValue): \(facts.joined(separator: ", "))"]
    if let commonFailure {
      lines.append("all failed alike, the first: \(HumanText.printable("\(commonFailure)"))")
    }
    if lostCount > 0 {
      lines.append(
        "\(lostCount) of \(HumanText.count(status.done, of: "thumbnail")) "
          + "\(lostCount == 1 ? "is" : "are") no longer stored; to fetch them again: "
          + "imgctl export \(status.job) DIR --fetch")
    }
    if let diskNote { lines.append(diskNote) }
    if status.failed > 0 { lines.append("list the failures: imgctl failures \(status.job)") }
    if status.retryable > 0 {
      let which = status.retryable == status.failed ? "all" : "\(status.retryable)"
      lines.append(
        "\(status.failed) failed, \(which) of them temporarily: imgctl retry \(status.job)")
    }
    if let limitNote { lines.append(limitNote) }
    return lines.map { $0 + "\n" }.joined()
  }

  private var facts: [String] {
    var facts = ["\(status.done) of \(status.total) done"]
    if status.damaged > 0 { facts.append("\(status.damaged) of them damaged") }
    facts.append("\(status.failed) failed")
    if status.cancelled > 0 { facts.append("\(status.cancelled) cancelled") }
    facts.append("\(status.fromCache) from cache")
    facts.append("\(HumanText.size(status.bytesFetched)) fetched")
    if let started = status.startedAt, let finished = status.finishedAt {
      facts.append("in " + HumanText.duration(started.duration(to: finished)))
    }
    return facts
  }
}

/// A state of a job that is followed, as `--json` prints it: its status, and what the summary notes.
package struct FollowedJob: Encodable {
  private let status: JobStatus
  private let limitNote: String?

  /// - Parameter limitNote: see ``TransferLimitWatch/note``.
  package init(_ status: JobStatus, limitNote: String?) {
    self.status = status
    self.limitNote = limitNote
  }

  private enum CodingKeys: String, CodingKey {
    case limitNote = "transfer_limit_note"
  }

  package func encode(to encoder: any Encoder) throws {
    try status.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(limitNote, forKey: .limitNote)
  }
}
