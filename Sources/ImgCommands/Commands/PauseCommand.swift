import ImgClient
package import ImgModel
package import ImgSettings

/// `imgctl pause`: holds back what of a job has not begun.
package struct PauseCommand: Command {
  package let job: JobID
  package let isJSON: Bool

  package static let description = CommandDescription(
    name: "imgctl pause", summary: "let nothing more of a job begin; what runs is finished",
    operands: [.job],
    options: [.json] + OptionDescription.startingPlaces,
    notes: ["A paused job stays so when the coordinator ends, until it is resumed or cancelled."],
    examples: [.init("imgctl pause 7", "Job 7 waits for: imgctl resume 7.")])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    job = try arguments.job()
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let status = try context.coordinator().change(job, .pause)
    return try context.show(
      status, isJSON: isJSON,
      orSay: "job \(job) paused after \(status.finished) of \(status.total); it goes on with: "
        + "imgctl resume \(job)")
  }
}
