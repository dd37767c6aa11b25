import ImgClient
package import ImgModel
package import ImgSettings

/// `imgctl cancel`: stops a job.
package struct CancelCommand: Command {
  package let job: JobID
  package let isJSON: Bool

  package static let description = CommandDescription(
    name: "imgctl cancel", summary: "stop a job; its thumbnails stay in the store",
    operands: [.job],
    options: [.json] + OptionDescription.startingPlaces,
    examples: [
      .init("imgctl cancel 7", "Returns when the change is on disk; imgctl retry 7 continues it.")
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    job = try arguments.job()
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let status = try context.coordinator().change(job, .cancel)
    return try context.show(
      status, isJSON: isJSON,
      orSay: "job \(job) cancelled: \(status.done) done, \(status.failed) failed, "
        + "\(status.cancelled) cancelled")
  }
}
