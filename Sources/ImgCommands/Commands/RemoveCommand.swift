import ImgClient
package import ImgModel
package import ImgSettings

/// `imgctl remove`: removes jobs that have ended.
package struct RemoveCommand: Command {
  /// The jobs to remove.
  package enum Subject: Hashable, Sendable {
    /// At least one.
    case jobs([JobID])
    /// All jobs that ended at least this long ago.
    case olderThan(Duration)
  }

  package let subject: Subject
  package let isJSON: Bool

  private static let job = OperandDescription(
    "JOB", .any, help: "The number of a job that has ended.")
  private static let age = OptionDescription(
    "--older-than", "DURATION", help: "All jobs that ended longer ago; 0s for all ended jobs.")
  private static let ageRange = Duration.zero...Settings.durationRange.upperBound

  package static let description = CommandDescription(
    name: "imgctl remove", summary: "remove ended jobs with their lists and outcomes",
    operands: [job],
    options: [age, .json] + OptionDescription.startingPlaces,
    notes: [
      "Thumbnails stay in the store until they expire. The command refuses a job that has not "
        + "ended, and removes the others. --json prints the last status of each removed job."
    ],
    examples: [
      .init("imgctl remove 7 8", "Removes two jobs."),
      .init("imgctl remove --older-than 30d", "Removes all jobs that ended over a month ago."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    var jobs: [JobID] = []
    for text in arguments.texts(of: Self.job) {
      do {
        jobs.append(try JobID(parsing: text))
      } catch {
        throw UsageError(Self.job.name, error)
      }
    }
    isJSON = arguments.contains(.json)
    let age = try arguments.value(of: Self.age) { (text) throws(InvalidValue) in
      try Duration(parsing: text, in: Self.ageRange)
    }
    switch age {
    case nil where jobs.isEmpty, _? where !jobs.isEmpty:
      throw UsageError("give either job numbers or \(Self.age.flag)")
    case nil: subject = .jobs(jobs)
    case let age?: subject = .olderThan(age)
    }
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let client = try context.coordinator()
    let jobs = try jobs(of: client, at: context.now)
    var removedCount = 0
    var isAllDone = false
    // Also if the coordinator ends in the middle: it has removed the jobs before.
    defer {
      if !isJSON, removedCount > 0 || isAllDone {
        context.note("removed \(HumanText.count(removedCount, of: "job"))\n")
      }
    }
    for job in jobs {
      guard let last = try remove(job, through: client, in: context) else { continue }
      removedCount += 1
      if isJSON { try context.output.write(json: last) }
    }
    isAllDone = removedCount == jobs.count || !areJobsNamed
    return isAllDone ? .success : .wrongUse
  }

  private var areJobsNamed: Bool {
    if case .jobs = subject { true } else { false }
  }

  /// - Returns: the last status of the job; `nil` if the coordinator refuses. If the user named the
  ///   job, the reason is printed. A job found by its age was retried or removed meanwhile.
  private func remove(
    _ job: JobID, through client: Client, in context: CommandContext
  ) throws(ClientError) -> JobStatus? {
    do throws(ClientError) {
      return try client.change(job, .remove)
    } catch .refused(let code, let message) where !code.meansNoCoordinator {
      if areJobsNamed {
        context.report(ClientError.refused(code, message: message))
      }
      return nil
    }
  }

  private func jobs(of client: Client, at now: WallTime) throws -> [JobID] {
    switch subject {
    case .jobs(let jobs): return jobs
    case .olderThan(let age):
      var jobs: [JobID] = []
      try client.forEachJob { status in
        guard let end = status.finishedAt, end.duration(to: now) >= age else { return }
        jobs.append(status.job)
      }
      return jobs
    }
  }
}
