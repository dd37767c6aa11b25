package import ImgModel
package import ImgSettings

/// `imgctl wait`: shows the progress of a job until it has ended.
package struct WaitCommand: Command {
  package let job: JobID
  package let isJSON: Bool

  package static let description = CommandDescription(
    name: "imgctl wait", summary: "show the progress of a job until it has ended",
    operands: [.job],
    options: [.json] + OptionDescription.startingPlaces,
    notes: [
      "On a terminal, a bar shows the progress. Elsewhere, each change prints a line, at most one "
        + "a second, and one a minute without changes. --json prints an object for each change. "
        + "The command waits for a paused job, too.",
      "If the coordinator is restarted meanwhile, the command goes on. If none answers for 10s, the "
        + "exit code is 3, and accepted jobs continue when it is started again.",
    ],
    examples: [.init("imgctl wait 7", "The exit code is 1 if some images failed.")])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    job = try arguments.job()
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    try JobFollower(in: context, isJSON: isJSON).follow(
      job, continuing: try context.coordinator())
  }
}
