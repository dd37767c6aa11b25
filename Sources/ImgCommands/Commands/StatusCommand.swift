import ImgClient
package import ImgSettings
package import ImgWire

/// `imgctl status`: how the cluster or one job is.
package struct StatusCommand: Command {
  /// What is looked at.
  package enum Subject: Hashable, Sendable {
    case cluster
    case limits
    case job(JobID)
  }

  package let subject: Subject
  /// Whether the status is shown again whenever it changes.
  package let isWatching: Bool
  package let isJSON: Bool

  private static let job = OperandDescription(
    "JOB", .optional, help: "The number of a job; without it, the whole cluster.")
  private static let watch = OptionDescription("--watch", help: "Show every change from now on.")
  private static let limits = OptionDescription(
    "--limits", help: "Show the limits of the cluster: flag, value and default.")

  package static let description = CommandDescription(
    name: "imgctl status", summary: "show how the cluster or one job is",
    operands: [job],
    options: [watch, limits, .json] + OptionDescription.places,
    examples: [
      .init("imgctl status 7 --watch", "Job 7, until it has ended."),
      .init("imgctl status --limits", "What the cluster allows, and the flags that say so."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    isWatching = arguments.contains(Self.watch)
    isJSON = arguments.contains(.json)
    let areLimitsWanted = arguments.contains(Self.limits)
    let job = try arguments.value(of: Self.job, JobID.init(parsing:))
    guard !areLimitsWanted || (job == nil && !isWatching) else {
      throw UsageError("--limits is about the whole cluster and does not change; give it alone")
    }
    subject = job.map(Subject.job) ?? (areLimitsWanted ? .limits : .cluster)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    switch subject {
    case .job(let job): try showJob(job, in: context)
    case .limits: try showLimits(in: context)
    case .cluster: try showCluster(in: context)
    }
  }

  private func showJob(_ job: JobID, in context: CommandContext) throws -> ExitCode {
    let client = try context.coordinator()
    guard isWatching else {
      try show(try client.status(of: job), in: context)
      return .success
    }
    let follower = JobFollower(in: context, isQuiet: isJSON)
    let status = try follower.follow(job, client: client)
    if isJSON { try context.output.write(json: status) }
    return try follower.conclude(status)
  }

  private func show(_ status: JobStatus, in context: CommandContext) throws {
    if isJSON { return try context.output.write(json: status) }
    var table = JobTable(at: context.now)
    table.add(status)
    try context.output.write(table.rendered)
  }

  private func showLimits(in context: CommandContext) throws -> ExitCode {
    let limits = try context.runningCoordinator().status().limits
    if isJSON {
      try context.output.write(json: limits)
    } else {
      var table = Table([.text("limit"), .text("flag"), .text("value"), .text("default")])
      for row in Setting.rows(of: limits) {
        table.addRow([row.name, row.flag, row.value, row.defaultText])
      }
      try context.output.write(table.rendered)
    }
    return .success
  }

  private func showCluster(in context: CommandContext) throws -> ExitCode {
    let client = try context.runningCoordinator()
    let screen = ClusterScreen(in: context, client: client, isJSON: isJSON)
    if isWatching { try screen.watch() } else { try screen.show() }
    return .success
  }
}
