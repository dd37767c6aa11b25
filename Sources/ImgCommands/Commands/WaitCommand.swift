package import ImgModel
package import ImgSettings

/// `imgctl wait`: waits until a job has ended.
package struct WaitCommand: Command {
  package let job: JobID
  package let isJSON: Bool

  package static let description = CommandDescription(
    name: "imgctl wait", summary: "wait until a job has ended, and show how far it is",
    operands: [.job],
    options: [.json] + OptionDescription.startingPlaces,
    notes: [
      "On a terminal a bar shows how far the job is. Elsewhere each change is a line, one a second "
        + "at most, and one a minute while nothing changes. With --json each change is an object. "
        + "A paused job is waited for until it is resumed and has ended."
    ],
    examples: [.init("imgctl wait 7", "Ends with 1 when some images failed.")])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    job = try arguments.job()
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    try JobFollower(in: context, isJSON: isJSON).follow(job, client: try context.coordinator())
  }
}
