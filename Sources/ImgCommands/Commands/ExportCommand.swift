import ImgClient
package import ImgModel
package import ImgSettings
import ImgSystem
import Synchronization

/// `imgctl export`: writes a job's thumbnails as files.
package struct ExportCommand: Command {
  package let job: JobID
  package let directory: String
  package let isFetching: Bool
  let form: ExportForm
  package let isJSON: Bool

  private static let directoryOperand = OperandDescription(
    "DIR", help: "The directory for the files; created if missing.")

  private static let fetch = OptionDescription(
    "--fetch",
    help:
      "Fetch again what has expired or was evicted, unless DIR has the intact file of an earlier export of the job."
  )

  package static let description = CommandDescription(
    name: "imgctl export", summary: "write a job's thumbnails or facts as files, with a manifest",
    operands: [.job, directoryOperand],
    options: [fetch] + ExportForm.options + [.json] + OptionDescription.startingPlaces,
    notes: [
      "The files are named after the index of their line, such as 0000000.jpg, with the size if the job has several "
        + "(0000000-64x48.jpg), or by --names. Those of local pictures keep the names of these. DIR has the files of one job. No file is "
        + "replaced by another picture: a file of an earlier export stays, and so does a file that is of no export.",
      "\(ExportManifest.name) has an object of JSON for each line of the job: index, line, list, url, job and "
        + "submitted_at; for a file: file, thumbnail or facts (its format, width, height and bytes), sha256, stored_at, "
        + "expires_at, content_type, etag, last_modified, final_url, thumbhash, and other_files of other sizes; without a file: reason, "
        + "http_status and detail. If lines failed, \(FailuresFile.name) has them as imgctl failures --csv. "
        + "Of a job with columns (submit --columns), \(ExportManifest.metadataName) has file_name, url and the columns of each file.",
      "What an earlier export of the job has written stays, with its SHA-256 and dates in the manifest, also if the store "
        + "has no picture or another one now. status there says what has changed: store_differs, file_changed or "
        + "file_missing. A file that has changed is written again if the store has the same picture.",
      "The pins of what is exported end (submit --pin).",
      "The exit code is 1 if something that the job has made could not be written, or is no longer stored, and without "
        + "--fetch also if an original was stored after the job had its own. Lines that failed in the job do not change it.",
      OptionDescription.journalNote,
    ],
    examples: [
      .init("imgctl export 7 thumbnails", "One file for each picture, and the manifest."),
      .init("imgctl export 7 thumbnails --names '{id}'", "Named after the column id of the list."),
      .init(
        "imgctl export 7 shards --output-format webdataset",
        "Archives for training, with the picture, the JSON and the caption of each line."),
      .init(
        "imgctl export 7 thumbnails --fetch",
        "Fetches again what the store no longer has, so that every picture has its file."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    let place = arguments.text(of: Self.directoryOperand)
    directory = place.count > 1 && place.hasSuffix("/") ? String(place.dropLast()) : place
    let first = arguments.text(of: .job)
    guard JobID(first) != nil || JobID(directory) == nil else {
      throw UsageError(
        "the number of the job comes first: imgctl export \(directory) \(first.shellWord)")
    }
    job = try arguments.job()
    isFetching = arguments.contains(Self.fetch)
    form = try ExportForm(in: arguments)
    isJSON = arguments.contains(.json)
    guard !directory.isEmpty else { throw UsageError("DIR: the path is empty") }
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let jobs =
      isFetching ? JobSource.coordinator(try context.coordinator(of: [job])) : try context.jobs()
    var context = context
    if case .coordinator(let client) = jobs { context = try context.withStore(of: client) }
    let status = try jobs.status(of: job)
    var missing: MissingResults?
    if isFetching, case .coordinator(let client) = jobs {
      missing = MissingResults(
        of: status, to: directory, over: client, try context.runningCoordinator(),
        readingFiles: context.fileReader(of:)
      ) {
        if !isJSON { context.note($0) }
      }
      try missing?.removeRemains()
    }
    let export = try output(of: status, jobs, missing, in: context)
    var lines = LineCounts()
    do {
      if status.request.keep != .none, !isJSON, let stock = try stock(of: status, jobs, in: context)
      {
        context.note(stock)
      }
      try jobs.results(of: job, isFailedOnly: false) {
        lines.add($0)
        try export.add($0)
      }
      try export.finish()
    } catch let error where OutputError.meansFullDisk(error) {
      context.report(error)
      if !isJSON {
        context.note("the files that are written stay; once \(directory) has room: \(command)\n")
      }
      return .wrongUse
    }
    removePins(of: status, export, in: context)
    let place = jobs.isServed ? nil : context.placeOfJournal
    let report = ExportReport(self, export.tally, lines, status, journal: place)
    if isJSON {
      try context.output.write(json: report)
    } else {
      context.note(report.text)
    }
    return report.isComplete ? .success : .someFailed
  }

  /// The command as it was typed, for messages.
  var command: String {
    "imgctl export \(job) \(directory.shellWord)" + (isFetching ? " --fetch" : "") + form.text
  }

  /// The command for a directory of its own.
  static func text(
    of job: JobID, besides directory: String, in form: ExportForm = .files(named: nil)
  ) -> String {
    "imgctl export \(job) \("\(directory)-\(job)".shellWord)\(form.text)"
  }

  private func output(
    of status: ImageJob, _ jobs: JobSource, _ missing: MissingResults?, in context: CommandContext
  ) throws -> any JobOutput {
    let note =
      isJSON ? nil : context.completedNote("interrupted; to go on: \(command)\n")
    switch form {
    case .files(let template):
      try ShardExport.requireNoShards(in: directory, status)
      var names = try ExportNames(
        template, columns: status.columns, lineCount: status.total,
        hasSeveralSizes: !status.request.otherVariants.isEmpty)
      try jobs.results(of: job, isFailedOnly: false) { names.add($0) }
      return try JobExport(
        of: status, to: directory, from: context.store, named: names, making: missing,
        sayingAtSignal: note)
    case .webdataset(let linesPerShard, let captionColumn):
      return try ShardExport(
        of: status, to: directory, from: context.store, linesPerShard: linesPerShard,
        captionColumn: captionColumn, making: missing, sayingAtSignal: note)
    }
  }

  private func removePins(
    of status: ImageJob, _ export: any JobOutput, in context: CommandContext
  ) {
    do {
      try export.removePins()
    } catch {
      context.note(
        "the \(status.request.keep.noun)s stay pinned, until imgctl unpin \(job): \(error)\n")
    }
  }

  /// How much there is to export, which is told before anything is written; `nil` if it is all.
  private func stock(
    of status: ImageJob, _ jobs: JobSource, in context: CommandContext
  ) throws -> String? {
    let results = LineResults(of: status, in: context.store)
    var (storedCount, doneCount) = (0, 0)
    try jobs.results(of: job, isFailedOnly: false) { line in
      guard line.isDone else { return }
      doneCount += 1
      if try results.isStored(line) { storedCount += 1 }
    }
    // The counts at the end say the same of nothing.
    guard storedCount < doneCount, storedCount > 0 || isFetching else { return nil }
    return
      "job \(job): \(storedCount) of \(HumanText.count(doneCount, of: status.request.keep.noun)) "
      + (storedCount == 1 || doneCount == 1 ? "is stored\n" : "are stored\n")
  }
}

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
  private let part: PartJob
  /// Of its jobs, so that the same export knows what one has left that was killed.
  private let name: String
  /// The number of lines of the next part.
  private var partCount = MissingResults.firstPartCount
  private var notes = WaitNotes()

  private static let firstPartCount = 16
  /// How often the results are looked at, at least.
  private static let interval = Duration.milliseconds(200)

  /// - Parameters:
  ///   - directory: of the export.
  ///   - client: a connection on which no reply is awaited meanwhile.
  ///   - resultsClient: another one.
  ///   - readFiles: reads the local files of a job.
  ///   - report: is told for people what a job waits for.
  init(
    of original: ImageJob, to directory: String, over client: Client, _ resultsClient: Client,
    readingFiles readFiles: @escaping (JobID) throws -> JobFileReader,
    report: @escaping (String) -> Void
  ) {
    self.original = original
    self.client = client
    self.resultsClient = resultsClient
    self.readFiles = readFiles
    self.report = report
    part = PartJob(socketPath: client.socketPath)
    name = "export of job \(original.job) to \(Self.shown(directory))"
  }

  /// An absolute path, which the name of a job has room for: of a long one, the end.
  private static func shown(_ directory: String) -> String {
    let path =
      directory.hasPrefix("/")
      ? directory : "\(ThisProcess.currentDirectory ?? "")/\(directory)"
    guard path.utf8.count > 160 else { return path }
    return "…" + String(String.UnicodeScalarView(path.unicodeScalars.suffix(40)))
  }

  /// Removes the jobs that the same export has left, because it was killed.
  func removeRemains() throws {
    var remains: [JobID] = []
    try client.forEachJob { if $0.name == name, $0.pinPolicy == .none { remains.append($0.job) } }
    for job in remains {
      part.began(job)
      part.remove()
      part.ended()
    }
    guard !remains.isEmpty else { return }
    report(
      "removed \(remains.count == 1 ? "job" : "jobs") \(remains.map { "\($0)" }.joined(separator: ", ")) "
        + "of an earlier export to this directory that was killed\n")
  }

  /// Removes the job that is under way, for a process that a signal ends.
  var removal: @Sendable () -> Void { { [part] in part.remove() } }

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
    part.began(job)
    defer { part.ended() }
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
    var lost: [LineResult] = []
    _ = try client.watch(job, every: Self.interval) { status in
      if let wait = status.wait, let note = notes.note(on: wait, at: .now) { report(note) }
      try results.forEachNew(hasEnded: status.hasEnded) { made in
        let line = lines[made.index]
        let isWritten = try write(line.with(made.outcome))
        if !isWritten { lost.append(line) }
        return isWritten
      }
      return true
    }
    return lost
  }

  /// That of the original. What expires at a date in the past would be gone before it is written.
  private var expiry: Expiry {
    original.expiry.date.map { $0 <= .now } == true ? .standard : original.expiry
  }

  private func submit(_ lines: [LineResult], namesFiles: Bool) throws -> JobID {
    var batcher = SubmissionBatcher()
    var batches = lines.compactMap { batcher.add(ListLine($0.url)) }
    if let last = batcher.finish() { batches.append(last) }
    var rest = batches[...]
    var request = original.request
    // What is fetched is to be written, also if the origin forbids storing it.
    if request.obeysNoStore { request.fetch.cachePolicy = .reload }
    let options = RequestOptions(
      request, expiry: expiry, priority: original.priority.rawValue,
      hostRatePerMinute: original.hostRatePerMinute, attempts: original.attempts)
    return try client.submit(
      name: name, options: options, namesFiles: namesFiles
    ) {
      rest.popFirst()
    }.job
  }
}

/// The job that makes results again, which is of no use without its export.
private final class PartJob: Sendable {
  private let socketPath: String
  private let job = Mutex<JobID?>(nil)

  private static let attemptCount = 20

  init(socketPath: String) {
    self.socketPath = socketPath
  }

  func began(_ id: JobID) { job.withLock { $0 = id } }

  func ended() { job.withLock { $0 = nil } }

  /// On a connection of its own, because the thread of the export waits at the others.
  func remove() {
    guard let job = job.withLock(\.self), let client = try? Client(socketPath: socketPath) else {
      return
    }
    // One whose end is being recorded can be neither cancelled nor removed yet.
    for _ in 1...Self.attemptCount {
      _ = try? client.answer(.change(job, .cancel))
      if (try? client.answer(.change(job, .remove))) != nil { return }
      ThisProcess.pause(for: .milliseconds(50))
    }
  }
}
