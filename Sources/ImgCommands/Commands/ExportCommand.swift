import ImgClient
package import ImgModel
package import ImgSettings
import ImgSystem

/// `imgctl export`: writes a job's thumbnails as files.
package struct ExportCommand: Command {
  package let job: JobID
  package let directory: String
  package let isFetching: Bool
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
    options: [fetch, .json] + OptionDescription.startingPlaces,
    notes: [
      "The files are named after the index of their line, such as 0000000.jpg, with the size if the job has several "
        + "(0000000-64x48.jpg). Those of local pictures keep the names of these. Other files in DIR stay.",
      "\(ExportManifest.name) has an object of JSON for each line of the job: index, line, list, url, job and "
        + "submitted_at; for a file: file, thumbnail or facts (its format, width, height and bytes), sha256, stored_at, "
        + "expires_at, etag, last_modified, final_url, thumbhash, and other_files of other sizes; without a file: reason, "
        + "http_status and detail. If lines failed, \(JobExport.failuresName) has them as imgctl failures --csv.",
      "What the store no longer has keeps its file and its line of the manifest, if an earlier export of the job has "
        + "written the file and its SHA-256 still fits.",
      "The exit code is 1 if something that the job has made could not be written, or is no longer stored. "
        + "Lines that failed in the job do not change it.",
      OptionDescription.journalNote,
    ],
    examples: [
      .init("imgctl export 7 thumbnails", "One file for each picture, and the manifest."),
      .init(
        "imgctl export 7 thumbnails --fetch",
        "Fetches again what the store no longer has, so that every picture has its file."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    directory = arguments.text(of: Self.directoryOperand)
    let first = arguments.text(of: .job)
    guard JobID(first) != nil || JobID(directory) == nil else {
      throw UsageError(
        "the number of the job comes first: imgctl export \(directory) \(first.shellWord)")
    }
    job = try arguments.job()
    isFetching = arguments.contains(Self.fetch)
    isJSON = arguments.contains(.json)
    guard !directory.isEmpty else { throw UsageError("DIR: the path is empty") }
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let jobs =
      isFetching ? JobSource.coordinator(try context.coordinatorOfJobs()) : try context.jobs()
    var context = context
    if case .coordinator(let client) = jobs { context = try context.withStore(of: client) }
    let status = try jobs.status(of: job)
    var missing: MissingResults?
    if isFetching, case .coordinator(let client) = jobs {
      missing = MissingResults(
        of: status, over: client, try context.runningCoordinator(),
        readingFiles: context.fileReader(of:)
      ) {
        if !isJSON { context.note($0) }
      }
    }
    var names = ExportNames()
    try jobs.results(of: job, isFailedOnly: false) { names.add($0.url, at: $0.index) }
    let export = try JobExport(
      of: status, to: directory, from: context.store, named: names, making: missing)
    if export.keep != .none, !isJSON { context.note(try stock(of: export, status, jobs)) }
    try jobs.results(of: job, isFailedOnly: false) { try export.add($0) }
    try export.finish()
    removePins(of: export, in: context)
    if isJSON {
      try context.output.write(
        json: JSONObject([
          "exported": export.exportedCount, "present": export.presentCount,
          "missing": export.missingCount, "not_in_store": export.goneCount,
          "not_made": export.unmadeCount,
        ]))
    } else {
      context.note(text(of: export, status))
    }
    return export.goneCount + export.unmadeCount > 0 ? .someFailed : .success
  }

  private func removePins(of export: JobExport, in context: CommandContext) {
    do {
      try export.removePins()
    } catch {
      context.note("the thumbnails stay pinned, until imgctl unpin \(job): \(error)\n")
    }
  }

  /// What there is to export, which is told before anything is written.
  private func stock(
    of export: JobExport, _ status: ImageJob, _ jobs: JobSource
  ) throws -> String {
    var storedCount = 0
    try jobs.results(of: job, isFailedOnly: false) { line in
      if try export.isStored(line) { storedCount += 1 }
    }
    return "job \(job): \(storedCount) of \(HumanText.count(status.done, of: export.noun)) "
      + (storedCount == 1 ? "is stored\n" : "are stored\n")
  }

  private func text(of export: JobExport, _ status: ImageJob) -> String {
    let exported = HumanText.count(export.exportedCount, of: export.noun)
    let missing = HumanText.count(export.missingCount, of: "URL")
    var lines = [
      "exported \(exported) to \(directory), none for \(missing); "
        + "\(ExportManifest.name) lists all"
    ]
    if export.presentCount > 0 {
      lines.append(
        "\(HumanText.count(export.presentCount, of: "file")) of an earlier export stayed")
    }
    if export.keep == .none {
      lines.append("the job stored nothing (--keep none)")
    } else if export.goneCount > 0 {
      let command = "imgctl export \(job) \(directory.shellWord) --fetch"
      let remedy = isFetching ? "" : "; to fetch them again: \(command)"
      lines.append(
        HumanText.count(export.goneCount, of: export.noun) + " expired or evicted since\(remedy)")
    }
    if export.unmadeCount > 0 {
      lines.append(
        "\(HumanText.count(export.unmadeCount, of: export.noun)) could not be made again")
    }
    if status.failed > 0 {
      lines.append(
        "\(status.failed) failed: imgctl failures \(job), or \(directory)/\(JobExport.failuresName)"
      )
    }
    if status.finished < status.total {
      lines.append("the job has not ended: \(status.total - status.finished) URLs wait or run")
    }
    return lines.map { $0 + "\n" }.joined()
  }
}

/// Writes a job's thumbnails as files, or its originals or facts if it stored nothing else, with a
/// manifest.
///
/// The manifest has one JSON object for each line of the list, in order: the file, or the reason
/// why there is none. A line has a file for each size of the job.
final class JobExport {
  static let failuresName = "failures.csv"

  private let directory: String
  private let request: ThumbnailRequest
  private let results: LineResults
  private let names: ExportNames
  /// Makes again what the store no longer has; `nil` leaves it out.
  private let missing: MissingResults?
  private let manifest: ExportManifest
  private let failuresFile: ReplacementFile
  private let failures: Output
  private let job: ImageJob
  /// The lines that wait to be written: the first is to be made again, and the others come after it in the list.
  private var waiting: [Waiting] = []
  /// Whether a line of the job has failed.
  private var hasFailures = false
  /// How many of these are to be made again.
  private var awaitedCount = 0

  private(set) var exportedCount = 0
  /// The files of earlier exports of this job whose thumbnails the store no longer has.
  private(set) var presentCount = 0
  private(set) var missingCount = 0
  /// The missing files whose thumbnail was made but has expired or was evicted since.
  private(set) var goneCount = 0
  /// The lines with missing files that could not be made again.
  private(set) var unmadeCount = 0

  private struct Waiting {
    let result: LineResult
    let earlier: EarlierFiles
    /// What the manifest says of it; `nil` before it is made.
    let line: ManifestLine?
  }
  /// What earlier exports have written for a line and the store no longer has, by the position of the variant.
  private typealias EarlierFiles = [Int: ManifestLine.File]

  /// The most lines that are made again at a time.
  static let missingMaximum = 1_000
  /// The most lines that wait for them, because the manifest has the order of the list.
  private static let waitingMaximum = 10_000

  /// - Parameters:
  ///   - store: without a store, every file is missing.
  ///   - names: of the files.
  ///   - missing: makes again what the store no longer has.
  init(
    of job: ImageJob, to directory: String, from store: LocalStore, named names: ExportNames,
    making missing: MissingResults?
  ) throws {
    self.directory = directory
    self.names = names
    self.missing = missing
    self.job = job
    request = job.request
    results = LineResults(of: request, in: store)
    try Directory.create(directory)
    manifest = try ExportManifest(in: directory, of: job)
    failuresFile = try ReplacementFile(path: "\(directory)/\(Self.failuresName)")
    failures = Output(descriptor: failuresFile.descriptor)
    try failures.write(FailureTable.header(.comma))
    try Termination.prepare { [manifest = manifest.interruption, failures = failuresFile.removal] in
      manifest()
      failures()
    }
  }

  var keep: Keep { request.keep }
  /// What a file is, for people.
  var noun: String { keep.isFacts ? "fact file" : "thumbnail" }

  /// Whether the store has all that the job made of a line.
  func isStored(_ entry: LineResult) throws -> Bool {
    try entry.isDone && results.isStored(entry)
  }

  /// Writes the files of a line, or has them made again together with those of other lines.
  func add(_ entry: LineResult) throws {
    if case .failed(let failure, _) = entry.outcome {
      try failures.write(FailureTable.row(of: entry, failure, .comma))
      hasFailures = true
    }
    let found = try stored(entry)
    let earlier = earlierFiles(of: entry, besides: found)
    guard missing == nil || isComplete(found, earlier) else {
      waiting.append(Waiting(result: entry, earlier: earlier, line: nil))
      awaitedCount += 1
      if awaitedCount == Self.missingMaximum { try makeAwaited() }
      return
    }
    let line = try write(entry, found, earlier)
    if waiting.isEmpty { return try manifest.write(line) }
    waiting.append(Waiting(result: entry, earlier: earlier, line: line))
    if waiting.count == Self.waitingMaximum { try makeAwaited() }
  }

  /// Makes the rest, and gives the manifest its name.
  func finish() throws {
    try makeAwaited()
    try manifest.commit()
    try failures.flush()
    // Also to replace that of an export before a retry.
    if hasFailures || (try? FileStatus(at: "\(directory)/\(Self.failuresName)")) != nil {
      try failuresFile.commit()
    }
  }

  /// What is exported needs no pins any more.
  func removePins() throws {
    try results.removePins(of: job.job)
  }

  /// Makes the missing results of the lines that wait. Each is written as soon as it is made, and is in the
  /// manifest as soon as those before it are.
  private func makeAwaited() throws {
    var lines = waiting[...]
    waiting = []
    awaitedCount = 0
    let earlier = Dictionary(uniqueKeysWithValues: lines.map { ($0.result.index, $0.earlier) })
    var made: [Int: ManifestLine] = [:]
    do {
      try missing?.make(lines.filter { $0.line == nil }.map(\.result)) { entry in
        let found = try stored(entry)
        let earlier = earlier[entry.index] ?? [:]
        guard isComplete(found, earlier) else { return false }
        if !entry.isDone { unmadeCount += 1 }
        made[entry.index] = try write(entry, found, earlier)
        while let next = lines.first, let line = next.line ?? made[next.result.index] {
          try manifest.write(line)
          lines.removeFirst()
        }
        try manifest.flush()
        return true
      }
    } catch {
      // For the next export. The order of the list has gaps then.
      for line in lines.compactMap({ $0.line ?? made[$0.result.index] }) {
        try? manifest.write(line)
      }
      throw error
    }
    for line in lines {
      let entry = line.result
      try manifest.write(
        try line.line ?? made[entry.index] ?? write(entry, stored(entry), line.earlier))
    }
  }

  /// What the store has of a line, in the order of the job's variants.
  private func stored(_ entry: LineResult) throws -> [StoredResult?] {
    entry.isDone ? try results.parts(of: entry) : []
  }

  private func earlierFiles(
    of entry: LineResult, besides found: [StoredResult?]
  ) -> EarlierFiles {
    guard found.contains(where: { $0 == nil }) else { return [:] }
    let files = manifest.earlierFiles(ofLine: entry.index)
    var earlier: EarlierFiles = [:]
    for (variant, result) in found.enumerated() where result == nil {
      earlier[variant] = files.first {
        $0.variant == variant && $0.name == fileName(of: entry, $0.content)
          && $0.isIntact(in: directory)
      }
    }
    return earlier
  }

  /// Whether making a line again would add nothing to what was found of it.
  private func isComplete(_ found: [StoredResult?], _ earlier: EarlierFiles) -> Bool {
    keep == .none || found.indices.allSatisfy { found[$0] != nil || earlier[$0] != nil }
  }

  /// Writes what was found of a line.
  ///
  /// - Returns: its line of the manifest.
  private func write(
    _ entry: LineResult, _ found: [StoredResult?], _ earlier: EarlierFiles
  ) throws -> ManifestLine {
    var files = earlier
    for (variant, result) in found.enumerated() {
      guard let result else { continue }
      files[variant] = try write(result, of: entry, variant)
    }
    let writtenCount = found.count { $0 != nil }
    exportedCount += writtenCount
    presentCount += files.count - writtenCount
    if job.pinPolicy != .none, found.contains(where: { $0 != nil }) {
      try results.endPins(of: entry)
    }
    if files.isEmpty { missingCount += 1 }
    if keep != .none { goneCount += found.indices.count { files[$0] == nil } }
    return ManifestLine(entry, of: job, files.sorted { $0.key < $1.key }.map(\.value))
  }

  private func write(
    _ result: StoredResult, of entry: LineResult, _ variant: Int
  ) throws -> ManifestLine.File {
    let name = fileName(of: entry, result.record.thumbnail)
    let content = try content(of: result, entry)
    if let slash = name.lastIndex(of: "/") {
      try Directory.create("\(directory)/\(name[..<slash])")
    }
    try FileIO.replaceRegular(path: "\(directory)/\(name)", with: content)
    return ManifestLine.File(name: name, content, of: result.record, variant: variant)
  }

  /// What the store has of a line; facts as one line of JSON, as `imgctl info --json` prints them.
  private func content(of result: StoredResult, _ entry: LineResult) throws -> [UInt8] {
    guard keep.isFacts else { return result.bytes }
    let report = try FactsReport(
      json: result.bytes, of: RequestedURL(entry.url), ImageURL(line: entry.url),
      fetch: .stored(result.record, isFromCache: true), showsPlace: true)
    return Array(try Output.json(of: report).utf8)
  }

  /// Of a job with several sizes, the name has the size, which differs from file to file unless the pictures are
  /// equal.
  private func fileName(of entry: LineResult, _ thumbnail: Thumbnail) -> String {
    let size = request.otherVariants.isEmpty ? "" : "-\(thumbnail.width)x\(thumbnail.height)"
    return names.name(
      of: entry.url, at: entry.index,
      ending: "\(size).\(keep.isFacts ? "json" : thumbnail.format.fileExtension)")
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
