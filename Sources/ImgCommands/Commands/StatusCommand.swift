import ImgClient
package import ImgModel
package import ImgSettings

/// `imgctl status`: shows the cluster or one job.
package struct StatusCommand: Command {
  /// The subject of the command.
  package enum Subject: Hashable, Sendable {
    case cluster
    case limits
    case job(JobID)
  }

  package let subject: Subject
  /// Whether the command shows the status again after each change.
  package let isWatching: Bool
  package let isJSON: Bool

  private static let job = OperandDescription(
    "JOB", .optional, help: "The number of a job. Default: the whole cluster.")
  private static let watch = OptionDescription("--watch", help: "Show every change until Ctrl-C.")
  private static let limits = OptionDescription(
    "--limits", help: "Show the coordinator's settings: flag, value and default.")

  package static let description = CommandDescription(
    name: "imgctl status", summary: "show the status of the cluster or of one job",
    operands: [job],
    options: [watch, limits, .json] + OptionDescription.startingPlaces,
    notes: [
      "Starts no coordinator. If none runs, the command reads the status of a job from the "
        + "journal. Everything else ends with exit code 3."
    ],
    examples: [
      .init("imgctl status 7 --watch", "Shows job 7 until it has ended."),
      .init("imgctl status --limits", "Shows the limits and their flags."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    isWatching = arguments.contains(Self.watch)
    isJSON = arguments.contains(.json)
    let areLimitsWanted = arguments.contains(Self.limits)
    let job = try arguments.value(of: Self.job, JobID.init(parsing:))
    guard !areLimitsWanted || (job == nil && !isWatching) else {
      throw UsageError("--limits goes with neither JOB nor --watch")
    }
    subject = job.map(Subject.job) ?? (areLimitsWanted ? .limits : .cluster)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    switch subject {
    case .job(let job): try showJob(job, in: context)
    case .limits:
      try LimitTable.show(
        try context.runningCoordinator().status(), isJSON: isJSON, in: context)
    case .cluster: try showCluster(in: context)
    }
  }

  private func showJob(_ job: JobID, in context: CommandContext) throws -> ExitCode {
    guard isWatching else {
      try show(try context.jobs().status(of: job), in: context)
      return .success
    }
    return try JobFollower(in: context, isJSON: isJSON).follow(
      job, continuing: try context.runningCoordinator())
  }

  private func show(_ status: JobStatus, in context: CommandContext) throws {
    if isJSON { return try context.output.write(json: status.withoutCookies) }
    var table = JobListing(at: context.now)
    table.add(status)
    try context.output.write(table.rendered)
    if let shortage = ShortageText(status) { context.note(shortage.warning) }
  }

  private func showCluster(in context: CommandContext) throws -> ExitCode {
    let client = try context.runningCoordinator()
    let screen = ClusterScreen(in: context, client: client, isJSON: isJSON)
    if isWatching { try screen.watch() } else { try screen.show() }
    return .success
  }
}
