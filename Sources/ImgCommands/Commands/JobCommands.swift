import ImgClient
package import ImgModel
package import ImgSettings
import ImgSystem

/// `imgctl list`: lists all jobs.
package struct ListCommand: Command {
  /// Empty for jobs in any state.
  package let states: Set<ImageJob.State>
  /// `nil` for all jobs.
  package let limit: Int?
  package let isJSON: Bool

  private static let state = OptionDescription(
    "--state", "STATE",
    help: "Only jobs in this state: "
      + ImageJob.State.allCases.map(\.rawValue).joined(separator: ", ")
      + ". Repeatable, or several with commas.",
    isRepeatable: true)
  private static let limit = OptionDescription(
    "--limit", "N", help: "At most the newest N of them.")

  package static let description = CommandDescription(
    name: "imgctl list", summary: "list the jobs, newest first",
    options: [state, limit, .json] + OptionDescription.startingPlaces,
    notes: [
      OptionDescription.journalNote,
      "A URL that is done stays so when its thumbnail has expired, or was evicted or removed: imgctl status JOB counts "
        + "those.",
    ],
    examples: [
      .init("imgctl list --json", "One object a line."),
      .init("imgctl list --state running,paused", "The jobs that have begun and have not ended."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    states = Set(try arguments.values(of: Self.state, ImageJob.State.init(parsing:)))
    limit = try arguments.value(of: Self.limit) { (text) throws(InvalidValue) in
      Int(try UnitScale.count.value(parsing: text, in: 1...Int64(Int32.max)))
    }
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    var table = JobListing(at: context.now, places: context.places)
    var waiting = WaitingJobs()
    var count = 0
    let jobs = try context.jobs()
    try jobs.forEachJob { status in
      // The note is about all jobs.
      waiting.add(status)
      guard states.isEmpty || states.contains(status.state), count < limit ?? .max else { return }
      count += 1
      if isJSON { try context.output.write(json: status) } else { table.add(status) }
    }
    if !isJSON {
      try context.output.write(table.rendered(within: Output.columnCount))
      if !jobs.isServed { context.note(waiting.note(context.placeOfJournal)) }
    }
    return .success
  }
}

/// `imgctl wait`: shows the progress of a job until it has ended.
package struct WaitCommand: Command {
  package let job: JobID
  package let isVerbose: Bool
  package let isJSON: Bool

  package static let description = CommandDescription(
    name: "imgctl wait", summary: "show the progress of a job until it has ended",
    operands: [.job],
    options: [.verbose, .json] + OptionDescription.startingPlaces,
    notes: [
      "On a terminal, a bar shows the progress. Elsewhere, each change prints a line, at most one "
        + "a second, and one a minute without changes. --json prints an object for each change. "
        + "The command waits for a paused job, too.",
      "If the coordinator is restarted meanwhile, the command goes on. If none answers for 10s, the "
        + "exit code is 3, and accepted jobs continue when it is started again.",
      "If none runs and the job has ended, the command reads that from the journal and starts none.",
    ],
    examples: [.init("imgctl wait 7", "The exit code is 1 if some images failed.")])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    job = try arguments.job()
    isVerbose = arguments.contains(.verbose)
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let follower = JobFollower(in: context, isJSON: isJSON, isVerbose: isVerbose)
    if let client = try context.coordinatorIfRunning() {
      return try follower.follow(job, continuing: client, readsFiles: true)
    }
    if let ended = context.endedJobOfJournal(job) { return try follower.reportEnd(of: ended) }
    return try follower.follow(
      job, continuing: try context.coordinator(of: [job]), readsFiles: true)
  }
}

extension CommandContext {
  /// A job that has ended, from the journal that no coordinator has open; `nil` if the job has not ended or the
  /// journal cannot be read. Then a coordinator tells.
  fileprivate func endedJobOfJournal(_ job: JobID) -> ImageJob? {
    guard readsJournal, let status = try? journalJobs().status(of: job),
      status.hasEnded
    else { return nil }
    return status
  }
}

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
      job, continuing: try context.runningCoordinator(), readsFiles: false)
    return end == .someFailed ? .success : end
  }
}

/// A table of jobs, one a row. The columns for unusual options and for the reason of a wait appear
/// only if a job has them.
package struct JobListing {
  private static let columns: [Table.Column] = [
    .number("job"), .text("state").whole, .number("total").leftOut(3), .number("done"),
    .number("failed").leftOut(4),
    .number("retryable").ifItFits, .number("cancelled").ifItFits, .number("cached").ifItFits,
    .number("queued").ifItFits, .number("running").ifItFits, .text("submitted").ifItFits,
  ]

  private let now: WallTime
  private let places: TypedPlaces
  private var rows: [(cells: [String], terms: String, waiting: String, name: String)] = []

  /// - Parameter places: those that the commands to type carry.
  package init(at now: WallTime, places: TypedPlaces = .none) {
    self.now = now
    self.places = places
  }

  /// - Parameters:
  ///   - told: waits that stand above the table. A job that waits for the same has no text.
  ///   - tellsWait: whether the row says what the job waits for, as far as there is room.
  package mutating func add(
    _ status: ImageJob, besides told: [Wait] = [], tellsWait: Bool = true
  ) {
    let cells = [
      "\(status.job)", status.state.rawValue, "\(status.total)", "\(status.done)",
      "\(status.failed)", "\(status.retryable)", "\(status.cancelled)", "\(status.fromCache)",
      "\(status.queued)", "\(status.running)", HumanText.age(of: status.submissionTime, at: now),
    ]
    let wait = status.wait.flatMap { wait in
      !tellsWait || told.contains { $0.reason == wait.reason }
        ? nil : WaitText(wait, of: status.job, at: now)
    }
    let waiting = wait.map { places.completed($0.text) } ?? ""
    rows.append((cells, terms(of: status), waiting, status.name ?? ""))
  }

  package var rendered: String { rendered(within: nil) }

  /// - Parameter width: see ``Table/rendered(within:)``.
  package func rendered(within width: Int?) -> String {
    let hasTerms = rows.contains { !$0.terms.isEmpty }
    let hasWaits = rows.contains { !$0.waiting.isEmpty }
    var table = Table(
      Self.columns + (hasTerms ? [.text("options").leftOut(0)] : []) + [.text("name").leftOut(2)]
        + (hasWaits ? [.text("waiting").leftOut(1)] : []))
    for row in rows {
      table.addRow(
        row.cells + (hasTerms ? [row.terms] : []) + [row.name] + (hasWaits ? [row.waiting] : []))
    }
    return table.rendered(within: width)
  }

  /// The job's options that differ from the defaults: priority, order, leniency with the number of
  /// damaged pictures, and a delay that still runs.
  private func terms(of status: ImageJob) -> String {
    var terms: [String] = []
    if status.priority != .normal { terms.append("priority \(status.priority.rawValue)") }
    if status.order != .firstInFirstOut { terms.append(status.order.rawValue) }
    if status.pinPolicy == .untilExported { terms.append("pin") }
    if status.request.isLenient {
      terms.append("lenient" + (status.damaged > 0 ? ", \(status.damaged) damaged" : ""))
    }
    if !status.hasEnded, let notBefore = status.notBefore, notBefore > now {
      terms.append("starts in " + HumanText.duration(now.duration(to: notBefore)))
    }
    return terms.joined(separator: ", ")
  }
}
