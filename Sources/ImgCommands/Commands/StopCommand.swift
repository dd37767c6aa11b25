import ImgClient
package import ImgSettings

/// `imgctl stop`: makes the coordinator leave.
package struct StopCommand: Command {
  package static let description = CommandDescription(
    name: "imgctl stop", summary: "finish what runs and stop the coordinator",
    options: OptionDescription.places,
    examples: [.init("imgctl stop", "What waits is taken up again at the next start.")])

  package init(_ arguments: ArgumentReader) throws(UsageError) {}

  package func run(in context: CommandContext) throws -> ExitCode {
    let client: Client
    do {
      client = try context.runningCoordinator()
    } catch ClientError.unreachable {
      context.note("no coordinator runs\n")
      return .success
    }
    try client.stop()
    context.note(
      "the coordinator has finished what ran and left; queued URLs go on at the next start\n")
    return .success
  }
}
