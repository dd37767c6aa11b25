import ImgClient
package import ImgModel
package import ImgSettings

/// `imgctl retry`: repeats the failures of a job that has ended.
package struct RetryCommand: Command {
  package let job: JobID
  /// Whether permanent failures are repeated, too.
  package let includesFinal: Bool
  package let isWaiting: Bool
  package let isJSON: Bool

  private static let all = OptionDescription(
    "--all", help: "Repeat every failure, not only temporary ones.")

  package static let description = CommandDescription(
    name: "imgctl retry", summary: "repeat the temporary failures of a job",
    operands: [.job],
    options: [all, .wait, .json] + OptionDescription.startingPlaces,
    notes: [
      "imgctl status counts temporary failures as retryable, such as timeouts and busy origins. "
        + "For a cancelled job, the command also continues with the lines that have no outcome.",
      "If the circuit breaker of a host is open, one transfer probes the host; if it succeeds, the "
        + "others follow. Retry-After is respected.",
    ],
    examples: [
      .init("imgctl retry 7 --wait", "Repeats temporary failures; returns when job 7 has ended."),
      .init("imgctl retry 7 --all", "Repeats every failure, after you removed its cause."),
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
      return try JobFollower(in: context, isJSON: isJSON).follow(job, continuing: client)
    }
    if isJSON { try context.output.write(json: after) }
    return .success
  }
}
