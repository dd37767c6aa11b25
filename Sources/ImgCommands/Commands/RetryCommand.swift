import ImgClient
package import ImgModel
package import ImgSettings

/// `imgctl retry`: tries failures of a job that has ended again.
package struct RetryCommand: Command {
  package let job: JobID
  /// Whether failures are tried again that will hardly pass by themselves.
  package let includesFinal: Bool
  package let isWaiting: Bool
  package let isJSON: Bool

  private static let all = OptionDescription(
    "--all", help: "Try every failure again, not only those that may pass by themselves.")

  package static let description = CommandDescription(
    name: "imgctl retry", summary: "try again what of a job failed and may pass by itself",
    operands: [.job],
    options: [all, .wait, .json] + OptionDescription.startingPlaces,
    notes: [
      "imgctl status counts what may pass by itself as retryable: timeouts, busy origins and the "
        + "like. Of a cancelled job, what was not done is done as well.",
      "A host that is down is asked once for this; if it answers, the rest follows. Retry-After is "
        + "respected.",
    ],
    examples: [
      .init("imgctl retry 7 --wait", "The failures that may pass; ends when job 7 has."),
      .init("imgctl retry 7 --all", "Every failure, after its reason was removed."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    job = try arguments.job()
    includesFinal = arguments.contains(Self.all)
    isWaiting = arguments.contains(.wait)
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let client = try context.coordinator()
    let before = try client.status(of: job)
    let after = try client.change(job, .retry(includesFinal: includesFinal))
    if !isJSON { context.note(RetryReport(from: before, to: after).text) }
    guard !isWaiting else {
      return try JobFollower(in: context, isJSON: isJSON).follow(job, client: client)
    }
    if isJSON { try context.output.write(json: after) }
    return .success
  }
}
