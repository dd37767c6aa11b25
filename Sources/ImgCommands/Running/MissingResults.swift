import ImgClient
import ImgModel

/// What a job has made and the store no longer has, for an export: made again by a job of its own, which
/// is removed when its results are written.
final class MissingResults {
  private let original: JobStatus
  private let client: Client
  /// The job that has made the last lines.
  private var job: JobID?

  /// How often its job is looked at.
  private static let interval = Duration.seconds(1)

  /// - Parameter client: a connection on which no reply is awaited meanwhile.
  init(of original: JobStatus, over client: Client) {
    self.original = original
    self.client = client
  }

  /// Waits until a job has made the results of some lines.
  ///
  /// - Returns: the lines with their new outcomes, by their index in the original list.
  func make(_ lines: [LineResult]) throws -> [Int: LineResult] {
    guard !lines.isEmpty else { return [:] }
    var batcher = SubmissionBatcher()
    var batches = lines.compactMap { batcher.add($0.url) }
    if let last = batcher.finish() { batches.append(last) }
    var rest = batches[...]
    let options = RequestOptions(
      variant: original.variant, otherVariants: original.otherVariants ?? [],
      isLenient: original.isLenient, priority: original.priority, keep: original.keep,
      fetch: original.fetch)
    let submitted = try client.submit(
      name: "export of job \(original.job)", options: options
    ) { rest.popFirst() }
    job = submitted.job
    _ = try client.watch(submitted.job, every: Self.interval) { _ in true }
    var made: [Int: LineResult] = [:]
    try client.results(of: submitted.job, isFailedOnly: false) { result in
      let line = lines[result.index]
      made[line.index] = LineResult(index: line.index, url: line.url, outcome: result.outcome)
    }
    return made
  }

  /// The results of the last lines are written.
  func release() throws {
    guard let job = job.take() else { return }
    _ = try client.change(job, .remove)
  }
}
