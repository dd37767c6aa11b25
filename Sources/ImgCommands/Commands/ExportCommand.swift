import ImgClient
package import ImgModel
package import ImgSettings

/// `imgctl export`: writes a job's thumbnails as files.
package struct ExportCommand: Command {
  package let job: JobID
  package let directory: String
  package let isJSON: Bool

  private static let directoryOperand = OperandDescription(
    "DIR", help: "The directory for the files; created if missing.")

  package static let description = CommandDescription(
    name: "imgctl export", summary: "write a job's thumbnails or facts as files, with a manifest",
    operands: [.job, directoryOperand],
    options: [.json] + OptionDescription.startingPlaces,
    notes: [
      "Other files in the directory stay. The manifest lists every line of this job; if a line has "
        + "no file, it gives the reason.",
      OptionDescription.journalNote,
    ],
    examples: [
      .init("imgctl export 7 thumbnails", "One file for each picture, and the manifest.")
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    job = try arguments.job()
    directory = arguments.text(of: Self.directoryOperand)
    isJSON = arguments.contains(.json)
    guard !directory.isEmpty else { throw UsageError("DIR: the path is empty") }
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let jobs = try context.jobs()
    if case .coordinator(let client) = jobs {
      try client.requireStore(in: context.settings.storeDirectory)
    }
    let export = try JobExport(
      of: try jobs.status(of: job), to: directory, from: context.store)
    try jobs.results(of: job, isFailedOnly: false) { try export.add($0) }
    try export.finish()
    if isJSON {
      try context.output.write(json: Report(export))
    } else {
      context.note(text(of: export))
    }
    return export.missingCount > 0 ? .someFailed : .success
  }

  private func text(of export: JobExport) -> String {
    let exported = HumanText.count(export.exportedCount, of: export.noun)
    let missing = HumanText.count(export.missingCount, of: "URL")
    let summary =
      "exported \(exported) to \(directory), none for \(missing); "
      + "\(JobExport.manifestName) lists all\n"
    if export.keep == .none { return summary + "the job stored nothing (--keep none)\n" }
    guard export.goneCount > 0 else { return summary }
    return summary
      + HumanText.count(export.goneCount, of: export.noun)
      + " expired or evicted since; submit the list again to make them again\n"
  }

  private struct Report: Encodable {
    private let exported: Int
    private let missing: Int
    private let gone: Int

    private enum CodingKeys: String, CodingKey {
      case exported, missing
      case gone = "not_in_store"
    }

    init(_ export: JobExport) {
      exported = export.exportedCount
      missing = export.missingCount
      gone = export.goneCount
    }
  }
}
