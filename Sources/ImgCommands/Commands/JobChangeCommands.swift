import ImgClient
package import ImgModel
package import ImgSettings

/// `imgctl unpin`: lets the store evict what a job has pinned.
package struct UnpinCommand: Command {
  package let jobs: [JobID]
  package let isJSON: Bool

  package static let description = CommandDescription(
    name: "imgctl unpin", summary: "let the store evict a job's thumbnails",
    operands: [.jobs],
    options: [.json] + OptionDescription.startingPlaces,
    notes: [
      "The thumbnails stay in the store until it needs their room. imgctl export does the same for what it "
        + "has written. If the job runs, its further thumbnails are not pinned either."
    ],
    examples: [.init("imgctl unpin 7", "Jobs that wait for room in the store continue.")])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    jobs = try arguments.jobs()
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    try context.change(jobs, .unpin, isJSON: isJSON) {
      "the \($0.request.keep.noun)s of job \($0.job) are no longer pinned"
    }
  }
}

/// `imgctl cancel`: stops a job.
package struct CancelCommand: Command {
  package let jobs: [JobID]
  package let isJSON: Bool

  package static let description = CommandDescription(
    name: "imgctl cancel", summary: "stop a job; its thumbnails stay while the store has room",
    operands: [.jobs],
    options: [.json] + OptionDescription.startingPlaces,
    notes: [
      "The thumbnails that the job has made are no longer pinned, unless it was submitted with --pin. If the "
        + "store is full, it may evict them at once: imgctl export before the cancel keeps them."
    ],
    examples: [
      .init("imgctl cancel 7", "Returns when the change is on disk; imgctl retry 7 continues it.")
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    jobs = try arguments.jobs()
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let isFull = context.isStoreFull
    return try context.change(jobs, .cancel, isJSON: isJSON) { status in
      let sentence = Self.text(of: status)
      guard isFull, status.done > 0, status.pinPolicy != .untilExported else { return sentence }
      return sentence
        + "\nthe store is full, and may evict what the job has made; to keep it: imgctl export "
        + "\(status.job) DIR"
    }
  }

  /// - Parameter status: of the job after it was cancelled.
  static func text(of status: ImageJob) -> String {
    let retry = "imgctl retry \(status.job)"
    // URLs that are being fetched end as cancelled, or are done.
    let isContinued = status.cancelled + status.retryable > 0 || status.finished < status.total
    let advice =
      isContinued
      ? "; to continue it: \(retry)"
      : status.failed > 0 ? "; to repeat its failures: \(retry) --all" : ""
    return "job \(status.job) cancelled: \(status.done) done, \(status.failed) failed, "
      + "\(status.cancelled) cancelled\(advice)"
  }
}

extension CommandContext {
  /// Whether the store is about to evict, as far as this process may read it. One that evicts stays above 70 % of
  /// its budget, less a record.
  fileprivate var isStoreFull: Bool {
    guard case .size(let size) = try? store.view() else { return false }
    return size.occupiedByteCount > size.effectiveBudgetByteCount / 3 * 2
  }
}

/// `imgctl pause`: starts no more URLs of a job.
package struct PauseCommand: Command {
  package let jobs: [JobID]
  package let isJSON: Bool

  package static let description = CommandDescription(
    name: "imgctl pause", summary: "start no more URLs of a job; running ones finish",
    operands: [.jobs],
    options: [.json] + OptionDescription.startingPlaces,
    notes: [
      "A job stays paused until it is resumed or cancelled, also after a restart of the "
        + "coordinator. After a pause, the count of attempts begins again from one."
    ],
    examples: [.init("imgctl pause 7", "imgctl resume 7 continues the job.")])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    jobs = try arguments.jobs()
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    try context.change(jobs, .pause, isJSON: isJSON) {
      "job \($0.job) paused after \($0.finished) of \($0.total); continue with: imgctl resume \($0.job)"
    }
  }
}

/// `imgctl resume`: continues paused jobs.
package struct ResumeCommand: Command {
  package let jobs: [JobID]
  package let isWaiting: Bool
  package let isJSON: Bool

  package static let description = CommandDescription(
    name: "imgctl resume", summary: "continue paused jobs",
    operands: [.jobs],
    options: [.wait, .json] + OptionDescription.startingPlaces,
    examples: [.init("imgctl resume 7 --wait", "Returns when job 7 has ended.")])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    jobs = try arguments.jobs()
    isWaiting = arguments.contains(.wait)
    isJSON = arguments.contains(.json)
    guard !isWaiting || jobs.count == 1 else {
      throw UsageError("--wait is for one job; imgctl wait JOB follows each of them")
    }
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    func sentence(_ status: ImageJob) -> String {
      "job \(status.job) continues after \(status.finished) of \(status.total)"
    }
    guard isWaiting, let job = jobs.first else {
      return try context.change(jobs, .resume, isJSON: isJSON, orSay: sentence)
    }
    let client = try context.coordinator(of: [job])
    let status = try client.answer(.change(job, .resume))
    if !isJSON { context.note(sentence(status) + "\n") }
    return try JobFollower(in: context, isJSON: isJSON).follow(
      job, continuing: client, readsFiles: true)
  }
}

/// `imgctl priority`: sets the priority of a job.
package struct PriorityCommand: Command {
  package let job: JobID
  package let priority: Int
  package let isJSON: Bool

  private static let priorityOperand = OperandDescription("P", help: RequestOptions.priorityHelp)

  package static let description = CommandDescription(
    name: "imgctl priority", summary: "set the priority of a job",
    operands: [.job, priorityOperand],
    options: [.json] + OptionDescription.startingPlaces,
    notes: ["The priority applies to URLs that have not started. The default of a job is 0."],
    examples: [
      .init("imgctl priority 7 2", "Gives job 7 the highest priority."),
      .init("imgctl priority 7 -2", "Jobs of the default priority run first."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    job = try arguments.job()
    let priority = try arguments.value(
      of: Self.priorityOperand, RequestOptions.priority(parsing:))
    guard let priority else {
      preconditionFailure("the operand is required, so the reader has checked it")
    }
    self.priority = priority
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let priority = ImageJob.Priority(rawValue: priority) ?? .normal
    let status = try context.coordinator(of: [job]).answer(.change(job, .setPriority(priority)))
    return try context.show(
      status, isJSON: isJSON, orSay: "job \(job) has priority \(status.priority.rawValue)")
  }
}

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
    let client = try context.coordinator(of: [job])
    let before = try client.answer(.job(job))
    let after = try client.answer(.change(job, .retry(includesFinal: includesFinal)))
    if !isJSON { context.note(RetryReport(from: before, to: after).text) }
    guard !isWaiting else {
      return try JobFollower(in: context, isJSON: isJSON).follow(
        job, continuing: client, readsFiles: true)
    }
    if isJSON { try context.output.write(json: after) }
    guard client.isOfOwnUser else { return .success }
    try context.output.flush()
    return try FileReading(in: context, isJSON: isJSON).run(job, over: client)
  }
}

/// Describes a retried job: what the retry repeats.
package struct RetryReport: Sendable {
  private let before: ImageJob
  private let after: ImageJob

  /// - Parameters:
  ///   - before: the ended job.
  ///   - after: the job after the retry was recorded.
  package init(from before: ImageJob, to after: ImageJob) {
    self.before = before
    self.after = after
  }

  /// One line with a line feed.
  package var text: String {
    var facts: [String] = []
    if before.failed > 0 {
      facts.append(
        "\(before.failed - after.failed) of \(HumanText.count(before.failed, of: "failure"))")
    }
    if before.cancelled > 0 {
      facts.append(HumanText.count(before.cancelled, of: "cancelled URL"))
    }
    return "job \(after.job) repeats \(facts.joined(separator: " and "))\n"
  }
}

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
  package let consent: Consent
  package let isJSON: Bool

  private static let job = OperandDescription(
    "JOB", .any, help: "The number of a job that has ended.")
  private static let age = OptionDescription(
    "--older-than", "DURATION", help: "All jobs that ended longer ago; 0s for all ended jobs.")
  private static let ageRange = Duration.zero...Settings.durationRange.upperBound

  package static let description = CommandDescription(
    name: "imgctl remove", summary: "remove ended jobs with their lists and outcomes",
    operands: [job],
    options: [age, Consent.option, .json] + OptionDescription.startingPlaces,
    notes: [
      "Thumbnails stay in the store until they expire or others need their room: the job's pins end. The command says how "
        + "much was pinned and not exported, refuses a job that has not ended, and removes the others. --json prints the last status of each removed job."
    ],
    examples: [
      .init("imgctl remove 7 8", "Removes two jobs."),
      .init("imgctl remove --older-than 30d", "Removes all jobs that ended over a month ago."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    let jobs = try arguments.jobs(of: Self.job)
    consent = Consent(arguments)
    isJSON = arguments.contains(.json)
    let age = try arguments.value(of: Self.age) { (text) throws(InvalidValue) in
      try Duration(parsing: text, in: Self.ageRange)
    }
    switch age {
    case nil where jobs.isEmpty, _? where !jobs.isEmpty:
      throw UsageError(
        "give either job numbers or \(Self.age.flag), such as imgctl remove 7 8, or imgctl remove "
          + "--older-than 30d")
    case nil: subject = .jobs(jobs)
    case let age?: subject = .olderThan(age)
    }
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let running = try context.coordinatorIfRunning()
    let jobs = try jobs(of: running, in: context)
    guard !jobs.isEmpty else {
      if !isJSON { context.note("removed 0 jobs\n") }
      return .success
    }
    let client = try running ?? context.coordinator(of: jobs)
    var removedCount = 0
    var isAllDone = false
    // Also if the coordinator ends in the middle: it has removed the jobs before.
    defer {
      if !isJSON, removedCount > 0 || isAllDone {
        context.note("removed \(HumanText.count(removedCount, of: "job"))\n")
      }
    }
    let pinned = pinnedRecords(of: jobs, client, in: context)
    if !isJSON, !pinned.isEmpty, !context.asks(consent) {
      context.note("pinned and not exported, which the store may evict now: \(pinned.text("of"))\n")
    }
    let ended = context.asks(consent) ? endedJobs(among: jobs, client) : []
    let endedNumbers = Set(ended.map(\.job))
    // What is refused is so before the question.
    let others = jobs.filter { !endedNumbers.contains($0) }
    for (index, job) in (others + ended.map(\.job)).enumerated() {
      if index == others.count {
        let loss = context.completed(loss(of: ended, pinned))
        try context.confirm(loss, for: Self.description.name)
      }
      guard let last = try remove(job, through: client, in: context) else { continue }
      removedCount += 1
      if isJSON { try context.output.write(json: last) }
    }
    isAllDone = removedCount == jobs.count || !areJobsNamed
    return isAllDone ? .success : .wrongUse
  }

  private func endedJobs(among jobs: [JobID], _ client: Client) -> [ImageJob] {
    jobs.compactMap { try? client.answer(.job($0)) }.filter(\.hasEnded)
  }

  /// What the jobs that can be removed still pin, because it was not exported.
  private func pinnedRecords(
    of jobs: [JobID], _ client: Client, in context: CommandContext
  ) -> PinnedRecords {
    guard context.hasStore(of: .coordinator(client)), let counts = try? context.store.pinCounts()
    else { return PinnedRecords([:]) }
    let named = Set(jobs)
    return PinnedRecords(
      counts.filter { job, _ in
        named.contains(job)
          && (try? client.answer(.job(job))).map { $0.hasEnded && $0.keepsPins } == true
      })
  }

  private func loss(of ended: [ImageJob], _ pinned: PinnedRecords) -> String {
    let lineCount = ended.reduce(0) { $0 + $1.total }
    return "removes \(HumanText.count(ended.count, of: "job")) with "
      + "\(HumanText.count(lineCount, of: "URL")) and what became of them; "
      + (pinned.first.map {
        "pinned and not exported: \(pinned.text("of")), which the store may then evict; to keep them, first: "
          + "imgctl export \($0) DIR"
      } ?? "thumbnails stay")
  }

  private var areJobsNamed: Bool {
    if case .jobs = subject { true } else { false }
  }

  /// - Returns: the last status of the job; `nil` if the coordinator refuses. If the user named the
  ///   job, the reason is printed. A job found by its age was retried or removed meanwhile.
  private func remove(
    _ job: JobID, through client: Client, in context: CommandContext
  ) throws(ClientError) -> ImageJob? {
    do throws(ClientError) {
      return try client.answer(.change(job, .remove))
    } catch .refused(let code, let message)
      where !code.meansNoCoordinator && (areJobsNamed || code != .journal)
    {
      if areJobsNamed {
        context.report(ClientError.refused(code, message: message))
      }
      return nil
    }
  }

  /// - Parameter client: `nil` if no coordinator runs.
  private func jobs(of client: Client?, in context: CommandContext) throws -> [JobID] {
    switch subject {
    case .jobs(let jobs): return jobs
    case .olderThan(let age):
      let source = try client.map(JobSource.coordinator) ?? context.jobs()
      var jobs: [JobID] = []
      try source.forEachJob { status in
        guard let end = status.endTime, end.duration(to: context.now) >= age else { return }
        jobs.append(status.job)
      }
      return jobs
    }
  }
}

extension CommandContext {
  /// Prints the result of a change to a job: its status as JSON, or a sentence.
  func show(
    _ status: ImageJob, isJSON: Bool, orSay sentence: String
  ) throws -> ExitCode {
    try answer(status.withoutCookies, isJSON: isJSON, orSay: sentence)
    return .success
  }

  /// Makes one change to several jobs. One that the coordinator refuses keeps no other from it.
  func change(
    _ jobs: [JobID], _ change: ImageJobChange, isJSON: Bool, orSay sentence: (ImageJob) -> String
  ) throws -> ExitCode {
    let client = try coordinator(of: jobs)
    var code = ExitCode.success
    for job in jobs {
      do {
        let status = try client.answer(.change(job, change))
        _ = try show(status, isJSON: isJSON, orSay: sentence(status))
      } catch ClientError.refused(let reason, let message) where !reason.meansNoCoordinator {
        let refusal = ClientError.refused(reason, message: message)
        guard jobs.count > 1 else { throw refusal }
        report(refusal)
        code = .wrongUse
      }
    }
    return code
  }
}
