package import ImgModel
package import ImgSettings

/// `imgctl watch`: shows the updates of a job until it has ended.
package struct WatchCommand: Command {
  package let job: JobID
  package let isJSON: Bool

  package static let description = CommandDescription(
    name: "imgctl watch", summary: "show every update of a job, for programs and people",
    operands: [.job],
    options: [.json] + OptionDescription.startingPlaces,
    notes: [
      "--json prints an object for each update, at most ten a second; the last one is the end. "
        + "Otherwise the display is that of imgctl wait.",
      "Starts no coordinator. If the coordinator is restarted, the command goes on; if none answers "
        + "for 10s, the exit code is 3.",
      "Once the job has ended, the exit code is 0, whatever its outcomes are. imgctl wait tells "
        + "them by its exit code.",
    ],
    examples: [
      .init("imgctl watch 7 --json", "One object for each update, as imgctl status 7 --json.")
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    job = try arguments.job()
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let end = try JobFollower(in: context, isJSON: isJSON).follow(
      job, continuing: try context.runningCoordinator())
    return end == .someFailed ? .success : end
  }
}
