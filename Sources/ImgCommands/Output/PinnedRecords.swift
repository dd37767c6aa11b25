import ImgClient
package import ImgModel

/// How many records jobs pin, of those that a command is about.
///
/// It encodes as an array with an object for each job, in the order of the jobs.
package struct PinnedRecords: Hashable, Sendable {
  /// The records of one job. Several jobs may pin one record.
  private struct Count: Hashable, Sendable, Encodable {
    let job: JobID
    let records: Int
  }

  private let counts: [Count]

  /// The maximum number of jobs in a text.
  private static let namedMaximum = 5

  package init(_ counts: [JobID: Int]) {
    self.counts = counts.sorted { $0.key < $1.key }
      .map { Count(job: $0.key, records: $0.value) }
  }

  var isEmpty: Bool { counts.isEmpty }

  /// Continues a sentence about the records; empty if none is pinned.
  ///
  /// - Parameter start: the words before it.
  package func clause(_ start: String = "") -> String {
    isEmpty ? "" : "\(start), pinned: \(text())"
  }

  /// The records of the jobs with the lowest numbers, such as `2 by job 1, 1 by job 3`.
  ///
  /// - Parameter word: stands before each job.
  func text(_ word: String = "by") -> String {
    var parts = counts.prefix(Self.namedMaximum).map { "\($0.records) \(word) job \($0.job)" }
    let otherCount = counts.count - parts.count
    if otherCount > 0 {
      parts.append("more \(word) \(HumanText.count(otherCount, of: "other job"))")
    }
    return parts.joined(separator: ", ")
  }
}

extension CommandContext {
  /// - Parameter counts: how many records each job pins. Those of a job that keeps no pins are about to end.
  func pinnedRecords(_ counts: [JobID: Int]) -> PinnedRecords {
    guard !counts.isEmpty, let jobs = silentJobs, hasStore(of: jobs) else {
      return PinnedRecords(counts)
    }
    return PinnedRecords(
      counts.filter { job, _ in
        // A job that is not found is one of another data directory with the same store.
        (try? jobs.status(of: job)).map(\.keepsPins) ?? true
      })
  }
}

extension ImageJob {
  /// Whether what the job has pinned is to stay pinned.
  var keepsPins: Bool {
    hasEnded ? pinPolicy == .untilExported : pinPolicy != .none
  }
}

extension PinnedRecords: Encodable {
  package func encode(to encoder: any Encoder) throws {
    try counts.encode(to: encoder)
  }
}
