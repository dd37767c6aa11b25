import ImgClient
package import ImgModel
package import ImgSettings

/// `imgctl pause`: starts no more URLs of a job.
package struct PauseCommand: Command {
  package let job: JobID
  package let isJSON: Bool

  package static let description = CommandDescription(
    name: "imgctl pause", summary: "start no more URLs of a job; running ones finish",
    operands: [.job],
    options: [.json] + OptionDescription.startingPlaces,
    notes: [
      "A job stays paused until it is resumed or cancelled, also after a restart of the "
        + "coordinator."
    ],
    examples: [.init("imgctl pause 7", "imgctl resume 7 continues the job.")])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    job = try arguments.job()
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let status = try context.coordinator().change(job, .pause)
    return try context.show(
      status, isJSON: isJSON,
      orSay: "job \(job) paused after \(status.finished) of \(status.total); continue with: "
        + "imgctl resume \(job)")
  }
}
