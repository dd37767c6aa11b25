import ImgClient
package import ImgSettings
package import ImgWire

/// `imgctl cancel`: stops a job.
package struct CancelCommand: Command {
  package let job: JobID

  package static let description = CommandDescription(
    name: "imgctl cancel", summary: "stop a job; what it has made stays",
    operands: [.job],
    options: OptionDescription.places,
    examples: [.init("imgctl cancel 7", "Ends when the job has stopped.")])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    job = try arguments.job()
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let status = try context.coordinator().cancel(job)
    context.note(
      "job \(job) cancelled: \(status.done) done, \(status.failed) failed, "
        + "\(status.cancelled) cancelled\n")
    return .success
  }
}
