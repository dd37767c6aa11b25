import ImgClient
package import ImgModel
package import ImgSettings

/// `imgctl resume`: continues a paused job.
package struct ResumeCommand: Command {
  package let job: JobID
  package let isWaiting: Bool
  package let isJSON: Bool

  package static let description = CommandDescription(
    name: "imgctl resume", summary: "continue a paused job",
    operands: [.job],
    options: [.wait, .json] + OptionDescription.startingPlaces,
    examples: [.init("imgctl resume 7 --wait", "Returns when job 7 has ended.")])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    job = try arguments.job()
    isWaiting = arguments.contains(.wait)
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let client = try context.coordinator()
    let status = try client.change(job, .resume)
    let sentence = "job \(job) continues after \(status.finished) of \(status.total)"
    guard isWaiting else { return try context.show(status, isJSON: isJSON, orSay: sentence) }
    if !isJSON { context.note(sentence + "\n") }
    return try JobFollower(in: context, isJSON: isJSON).follow(job, continuing: client)
  }
}
