import ImgClient
package import ImgSettings
package import ImgWire

/// `imgctl export`: a job's thumbnails as files.
package struct ExportCommand: Command {
  package let job: JobID
  package let directory: String

  private static let directoryOperand = OperandDescription(
    "DIR", help: "Where the files go; made when there is none.")

  package static let description = CommandDescription(
    name: "imgctl export", summary: "write a job's thumbnails as files, with a manifest",
    operands: [.job, directoryOperand],
    options: OptionDescription.places,
    examples: [
      .init("imgctl export 7 thumbnails", "One file a picture, and which URL each came from.")
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    job = try arguments.job()
    directory = arguments.text(of: Self.directoryOperand)
    guard !directory.isEmpty else { throw UsageError("DIR: a path is not empty") }
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let client = try context.coordinator()
    let variant = try client.status(of: job).variant
    let export = try JobExport(
      to: directory, variant: variant, reader: try StoreReader(directory: client.storeDirectory))
    try client.results(of: job, isFailedOnly: false) { try export.add($0) }
    try export.finish()
    context.note(
      "exported \(export.exportedCount) thumbnails to \(directory), "
        + "\(export.missingCount) URLs have none; \(JobExport.manifestName) names all\n")
    return export.missingCount > 0 ? .someFailed : .success
  }
}
