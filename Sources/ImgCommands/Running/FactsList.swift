import Glibc
import ImgClient
import ImgModel
import ImgSystem

/// `imgctl info --list`: submits the list as a job, and prints the facts of its lines as they come, one
/// JSON object a line. Ctrl-C ends the output, not the job.
struct FactsList {
  private let path: String
  private let options: RequestOptions
  private let showsPlace: Bool
  private let context: CommandContext
  private let facts: LineResults

  /// How often the results are looked at, at least.
  private static let interval = Duration.milliseconds(200)

  init(path: String, options: RequestOptions, showsPlace: Bool, context: CommandContext) {
    self.path = path
    self.options = options
    self.showsPlace = showsPlace
    self.context = context
    facts = LineResults(of: options.request, in: context.store)
  }

  func run() throws -> ExitCode {
    var list = try ListSubmission(paths: [path], of: InfoCommand.description)
    let client = try context.coordinatorOfStore()
    let submitted = try list.submit(to: client, options: options)
    context.note("job \(submitted.job)\n")
    // Replies to other requests would be lost on the connection that follows the job.
    let results = FinishedLines(of: submitted.job, from: try context.runningCoordinator())
    let signals = try SignalSource([SIGINT])
    let status = try client.watch(submitted.job, every: Self.interval) { status in
      try results.forEachNew(hasEnded: status.hasEnded) { try print($0) }
      try context.output.flush()
      return signals.take().isEmpty
    }
    guard status.hasEnded else {
      context.note(
        "job \(status.job) continues; to print its facts: imgctl export \(status.job) DIR\n")
      return .interrupted
    }
    return results.hasFailures ? .someFailed : status.exitCode
  }

  private func print(_ entry: LineResult) throws -> Bool {
    let requested = RequestedURL(entry.url)
    guard let outcome = entry.outcome else { return false }
    if let failure = outcome.failure() {
      try context.output.write(json: FailureReport(requested, index: entry.index, failure))
      return false
    }
    guard let report = try report(of: entry, outcome, requested) else {
      try context.output.write(json: FailureReport(requested, index: entry.index, .isGone))
      return false
    }
    try context.output.write(json: report)
    return true
  }

  /// - Returns: `nil` if the facts are no longer in the store, or never came there.
  private func report(
    of entry: LineResult, _ outcome: Outcome, _ requested: RequestedURL
  ) throws -> FactsReport? {
    let url = try ImageURL(line: entry.url)
    guard case .done(_, let isFromCache, _) = outcome,
      let found = try facts.results(of: entry).first
    else { return nil }
    var report = try FactsReport(
      json: found.bytes, of: requested, url,
      fetch: .stored(found.record, isFromCache: isFromCache), showsPlace: showsPlace)
    report.index = entry.index
    return report
  }
}
