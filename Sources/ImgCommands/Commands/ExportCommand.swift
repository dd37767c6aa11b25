import ImgClient
package import ImgModel
package import ImgSettings

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
      "Fetch again what has expired or was evicted, unless an earlier export has written it to DIR."
  )

  package static let description = CommandDescription(
    name: "imgctl export", summary: "write a job's thumbnails or facts as files, with a manifest",
    operands: [.job, directoryOperand],
    options: [fetch, .json] + OptionDescription.startingPlaces,
    notes: [
      "Other files in the directory stay. The manifest lists every line of this job; if a line has "
        + "no file, it gives the reason.",
      OptionDescription.journalNote,
    ],
    examples: [
      .init("imgctl export 7 thumbnails", "One file for each picture, and the manifest."),
      .init(
        "imgctl export 7 thumbnails --fetch",
        "Fetches again what the store no longer has, so that every picture has its file."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    job = try arguments.job()
    directory = arguments.text(of: Self.directoryOperand)
    isFetching = arguments.contains(Self.fetch)
    isJSON = arguments.contains(.json)
    guard !directory.isEmpty else { throw UsageError("DIR: the path is empty") }
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let jobs = isFetching ? JobSource.coordinator(try context.coordinator()) : try context.jobs()
    if case .coordinator(let client) = jobs {
      try client.requireStore(in: context.settings.storeDirectory)
    }
    let status = try jobs.status(of: job)
    var missing: MissingResults?
    if isFetching, case .coordinator(let client) = jobs {
      missing = MissingResults(of: status, over: client, try context.runningCoordinator()) {
        if !isJSON { context.note($0) }
      }
    }
    let export = try JobExport(of: status, to: directory, from: context.store, making: missing)
    if export.keep != .none, !isJSON { context.note(try stock(of: export, status, jobs)) }
    try jobs.results(of: job, isFailedOnly: false) { try export.add($0) }
    try export.finish()
    removePins(of: export, in: context)
    if isJSON {
      try context.output.write(json: Report(export))
    } else {
      context.note(text(of: export))
    }
    return export.missingCount > 0 ? .someFailed : .success
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
    of export: JobExport, _ status: JobStatus, _ jobs: JobSource
  ) throws -> String {
    var storedCount = 0
    try jobs.results(of: job, isFailedOnly: false) { line in
      if try export.isStored(line) { storedCount += 1 }
    }
    return "job \(job): \(storedCount) of \(HumanText.count(status.done, of: export.noun)) "
      + (storedCount == 1 ? "is stored\n" : "are stored\n")
  }

  private func text(of export: JobExport) -> String {
    let exported = HumanText.count(export.exportedCount, of: export.noun)
    let missing = HumanText.count(export.missingCount, of: "URL")
    var lines = [
      "exported \(exported) to \(directory), none for \(missing); "
        + "\(JobExport.manifestName) lists all"
    ]
    if export.presentCount > 0 {
      lines.append(
        "\(HumanText.count(export.presentCount, of: "file")) of an earlier export stayed")
    }
    if export.keep == .none {
      lines.append("the job stored nothing (--keep none)")
    } else if export.goneCount > 0 {
      let remedy =
        isFetching ? "" : "; to fetch them again: imgctl export \(job) \(directory) --fetch"
      lines.append(
        HumanText.count(export.goneCount, of: export.noun) + " expired or evicted since\(remedy)")
    }
    return lines.map { $0 + "\n" }.joined()
  }

  private struct Report: Encodable {
    private let exported: Int
    private let present: Int
    private let missing: Int
    private let gone: Int

    private enum CodingKeys: String, CodingKey {
      case exported, present, missing
      case gone = "not_in_store"
    }

    init(_ export: JobExport) {
      exported = export.exportedCount
      present = export.presentCount
      missing = export.missingCount
      gone = export.goneCount
    }
  }
}
