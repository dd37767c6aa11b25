import ImgClient
package import ImgModel
package import ImgSettings

/// `imgctl unpin`: lets the store evict what a job has pinned.
package struct UnpinCommand: Command {
  package let job: JobID
  package let isJSON: Bool

  package static let description = CommandDescription(
    name: "imgctl unpin", summary: "let the store evict a job's thumbnails",
    operands: [.job],
    options: [.json] + OptionDescription.startingPlaces,
    notes: [
      "The thumbnails stay in the store until it needs their room. imgctl export does the same for what it "
        + "has written. If the job runs, its further thumbnails are not pinned either."
    ],
    examples: [.init("imgctl unpin 7", "Jobs that wait for room in the store continue.")])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    job = try arguments.job()
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let status = try context.coordinator().change(job, .unpin)
    return try context.show(
      status, isJSON: isJSON, orSay: "the thumbnails of job \(job) are no longer pinned")
  }
}
