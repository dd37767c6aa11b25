import ImgClient
import ImgModel

/// What a job has made and the store no longer has, for an export: made again by jobs of its own, part by
/// part.
///
/// These jobs pin nothing, so that they never wait for room in the store. Instead each part is so small that
/// the store holds it until it is written: parts grow while it does, and shrink when something was evicted
/// before.
final class MissingResults {
  private let original: ImageJob
  private let client: Client
  /// For the results, while the other connection follows a job.
  private let resultsClient: Client
  private let readFiles: (JobID) throws -> JobFileReader
  private let report: (String) -> Void
  /// The number of lines of the next part.
  private var partCount = MissingResults.firstPartCount

  private static let firstPartCount = 16
  /// How often the results are looked at, at least.
  private static let interval = Duration.milliseconds(200)

  /// - Parameters:
  ///   - client: a connection on which no reply is awaited meanwhile.
  ///   - resultsClient: another one.
  ///   - readFiles: reads the local files of a job.
  ///   - report: is told for people what a job waits for.
  init(
    of original: ImageJob, over client: Client, _ resultsClient: Client,
    readingFiles readFiles: @escaping (JobID) throws -> JobFileReader,
    report: @escaping (String) -> Void
  ) {
    self.original = original
    self.client = client
    self.resultsClient = resultsClient
    self.readFiles = readFiles
    self.report = report
  }

  /// Makes the results of lines again.
  ///
  /// - Parameter write: is called with each line once it has its new outcome, while the rest is made; returns
  ///   whether the line has its files, or never will. What was evicted before is made once more.
  func make(_ lines: [LineResult], _ write: (LineResult) throws -> Bool) throws {
    var rest = lines[...]
    while !rest.isEmpty {
      let part = Array(rest.prefix(partCount))
      rest = rest.dropFirst(part.count)
      let lost = try makePart(part, write)
      if lost.isEmpty {
        partCount = min(partCount * 2, JobExport.missingMaximum)
      } else if part.count > 1 {
        partCount = part.count / 2
        rest = lost + rest
      }
    }
  }

  /// - Returns: the lines that were made and lost.
  private func makePart(
    _ lines: [LineResult], _ write: (LineResult) throws -> Bool
  ) throws -> [LineResult] {
    let namesFiles =
      client.isOfOwnUser
      && lines.contains { (try? ImageURL(line: $0.url))?.isReadByCommand == true }
    let job = try submit(lines, namesFiles: namesFiles)
    do {
      let reader = namesFiles ? try readFiles(job) : nil
      defer { withExtendedLifetime(reader) {} }
      let lost = try follow(job, of: lines, write)
      _ = try client.answer(.change(job, .remove))
      return lost
    } catch {
      // A file cannot be written, or the coordinator has ended. Then a user may remove the job.
      for change in [ImageJobChange.cancel, .remove] {
        _ = try? resultsClient.answer(.change(job, change))
      }
      throw error
    }
  }

  /// Writes the results of a job as they come.
  ///
  /// - Parameter lines: of the original, in the order of the job's lines.
  /// - Returns: those that were made and lost.
  private func follow(
    _ job: JobID, of lines: [LineResult], _ write: (LineResult) throws -> Bool
  ) throws -> [LineResult] {
    let results = FinishedLines(of: job, from: resultsClient)
    var notes = WaitNotes()
    var lost: [LineResult] = []
    _ = try client.watch(job, every: Self.interval) { status in
      if let wait = status.wait, let note = notes.note(on: wait, at: .now) { report(note) }
      try results.forEachNew(hasEnded: status.hasEnded) { made in
        let line = lines[made.index]
        let isWritten = try write(
          LineResult(
            index: line.index, place: line.place, url: line.url, outcome: made.outcome))
        if !isWritten { lost.append(line) }
        return isWritten
      }
      return true
    }
    return lost
  }

  private func submit(_ lines: [LineResult], namesFiles: Bool) throws -> JobID {
    var batcher = SubmissionBatcher()
    var batches = lines.compactMap { batcher.add($0.url) }
    if let last = batcher.finish() { batches.append(last) }
    var rest = batches[...]
    let options = RequestOptions(
      original.request, priority: original.priority.rawValue,
      hostRatePerMinute: original.hostRatePerMinute, attempts: original.attempts)
    return try client.submit(
      name: "export of job \(original.job)", options: options, namesFiles: namesFiles
    ) {
      rest.popFirst()
    }.job
  }
}
