import Glibc
import ImgClient
package import ImgModel
package import ImgSettings
import ImgSystem

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
        + "journal. Everything else ends with exit code 3.",
      "Of a job of at most 100,000 URLs, it counts the thumbnails that are no longer stored, those that another job has "
        + "replaced, and those that it has replaced itself of what other jobs pin.",
      "--watch goes on when the coordinator is restarted; if none answers for 10s, the exit code is 3.",
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
        try context.runningCoordinator().answer(.status), isJSON: isJSON, in: context)
    case .cluster: try showCluster(in: context)
    }
  }

  private func showJob(_ job: JobID, in context: CommandContext) throws -> ExitCode {
    guard isWatching else {
      let jobs = try context.jobs()
      let status = try jobs.status(of: job)
      let isCounted = status.total <= CommandContext.countedLineMaximum
      let advising = jobs.isServed ? context : context.advisingOriginal()
      try show(
        status, FailureDetails(of: status, in: jobs),
        isCounted ? context.resultsInStore(of: status, jobs) : nil,
        isServed: jobs.isServed, in: advising)
      return .success
    }
    return try JobFollower(in: context, isJSON: isJSON).follow(
      job, continuing: try context.runningCoordinator(), readsFiles: false)
  }

  /// - Parameter results: what the store has of it; `nil` if that was not counted.
  private func show(
    _ status: ImageJob, _ details: FailureDetails, _ results: ResultsInStore?, isServed: Bool,
    in context: CommandContext
  ) throws {
    guard !isJSON else {
      return try context.output.write(
        json: JSONObject(
          [
            "no_longer_stored": results?.lostCount, "stored_after_job": results?.laterCount,
            "replaced_pinned": results?.replaced,
          ], beside: status.withoutCookies))
    }
    var table = JobListing(at: context.now, places: context.places)
    let shortage = ShortageText(status, isOfService: context.settings.isOfService)
    table.add(status, tellsWait: false)
    let waiting = status.wait.map { wait in
      let text = WaitText(wait, of: status.job, at: context.now)
      return "waiting: " + (shortage == nil ? text.text : text.cause)
    }
    let failures = FailureReport(status, details, context.remedyTerms(for: status))
    try context.output.write(
      table.rendered(within: Output.columnCount)
        + ([waiting].compactMap(\.self) + failures.counts)
        .map { Self.wrapped(context.completed($0)) + "\n" }.joined())
    if let shortage { context.note(shortage.warning) }
    context.note((results?.notes(on: status) ?? []).map { $0 + "\n" }.joined())
    if status.hasEnded { context.note(failures.remedies().map { $0 + "\n" }.joined()) }
    if !isServed { context.note(WaitingJobs([status]).note(context.placeOfJournal)) }
  }

  /// For a terminal, whose lines it goes on below its number.
  private static func wrapped(_ line: String) -> String {
    guard let width = Output.columnCount, width > indent.count else { return line }
    return HumanText.lines(of: line, within: width - indent.count).joined(separator: "\n" + indent)
  }

  private static let indent = String(repeating: " ", count: 6)

  private func showCluster(in context: CommandContext) throws -> ExitCode {
    let client = try context.runningCoordinator()
    var screen = ClusterScreen(in: context, client: client, isJSON: isJSON)
    if isWatching { try screen.watch() } else { try screen.show() }
    return .success
  }
}

/// Shows the whole cluster for `imgctl status`, once or every second.
struct ClusterScreen {
  private let context: CommandContext
  private var client: Client
  private let isJSON: Bool

  private static let refreshInterval = Duration.seconds(1)
  /// How long the next coordinator may take to answer once one has gone.
  private static let patience = Duration.seconds(10)
  private static let pauseBetweenConnects = Duration.milliseconds(100)
  /// Moves to the first line and column and clears the screen (ECMA-48, CUP and ED).
  private static let clearScreen = "\u{1B}[H\u{1B}[J"
  /// The maximum number of jobs below the workers.
  private static let jobMaximum = 10

  init(in context: CommandContext, client: Client, isJSON: Bool) {
    self.context = context
    self.client = client
    self.isJSON = isJSON
  }

  func show() throws {
    try show(try client.answer(.status))
  }

  private func show(_ status: ClusterStatus) throws {
    let report = Report(status, try storeView())
    if isJSON {
      try context.output.write(json: report)
    } else {
      try context.output.write(try text(of: report))
    }
    try context.output.flush()
  }

  /// Prints an object unless it equals the previous one.
  private func showChange(since last: inout String?) throws {
    let status = try client.answer(.status)
    let report = try Output.json(of: Report(status, try storeView()))
    guard report != last else { return }
    last = report
    try context.output.write(report)
    try context.output.flush()
  }

  /// - Returns: `nil` if the coordinator keeps another store than that of these settings.
  private func storeView() throws -> LocalStore.View? {
    guard (try? client.requireStore(in: context.settings.storeDirectory)) != nil else { return nil }
    return try context.store.view()
  }

  /// Shows the cluster until Ctrl-C, or until no coordinator answers any more. A restart does not end it.
  mutating func watch() throws {
    let signals = try SignalSource([SIGINT])
    var last: String?
    repeat {
      do {
        try showAgain(since: &last)
      } catch let error as ClientError where error.meansNoCoordinator {
        guard try connectAgain(signals) else { return }
        try showAgain(since: &last)
      }
    } while try !UnixSocket.waitReadable(
      signals.descriptor, until: .now + Self.refreshInterval)
  }

  private func showAgain(since last: inout String?) throws {
    guard !isJSON else { return try showChange(since: &last) }
    let status = try client.answer(.status)
    try context.output.write(Output.obeysControls ? Self.clearScreen : "\n")
    try show(status)
  }

  /// Connects to the next coordinator.
  ///
  /// - Returns: `false` after Ctrl-C.
  private mutating func connectAgain(_ signals: SignalSource) throws -> Bool {
    context.note("the coordinator has gone; waiting for the next one\n")
    let deadline = ContinuousClock.now + Self.patience
    while true {
      do {
        client = try context.runningCoordinator()
        return true
      } catch let error as ClientError where error.meansNoCoordinator {
        guard ContinuousClock.now < deadline else { throw error }
      }
      let isInterrupted = try UnixSocket.waitReadable(
        signals.descriptor, until: .now + Self.pauseBetweenConnects)
      if isInterrupted { return false }
    }
  }

  // MARK: - Text

  private func text(of report: Report) throws -> String {
    let status = report.status
    let jobs = try client.activeJobs(atMost: Self.jobMaximum)
    var facts = Table([.text("coordinator").whole, .text(status.state.rawValue).wrapped])
    let age = HumanText.duration(status.startedAt.duration(to: context.now))
    facts.addRow(["process", "\(status.processID), version \(status.version), up \(age)"])
    facts.addRow(["socket", status.socketPath])
    facts.addRow(["data", status.dataDirectory])
    if status.cacheDirectory != status.dataDirectory {
      facts.addRow(["cache", status.cacheDirectory])
    }
    facts.addRow(["store", "\(status.storeName): \(Self.text(of: report.store, in: status))"])
    facts.addRow(["memory", Self.text(of: status.memory, status.limits)])
    let proxies = status.settings.proxies.texts
    if !proxies.isEmpty { facts.addRow(["proxy", proxies.joined(separator: ", ")]) }
    let line = status.slowLineTransfers.map { "; a slow line: \($0) at once" } ?? ""
    facts.addRow(["transfers", "\(status.transfers) of \(status.limits.transfers)\(line)"])
    facts.addRow(["active", "jobs: \(status.activeJobs), viewers: \(status.viewers)"])
    facts.addRow([
      "discarded", "late pictures: \(status.discardedLate), late results: \(status.lateAnswers)",
    ])
    for (processes, sandbox) in Self.sandboxes(of: status) {
      facts.addRow(["sandbox", "\(processes): \(sandbox)"])
    }
    if let error = status.journalError { facts.addRow(["ERROR", context.completed(error)]) }
    if status.journalError == nil, let free = report.scarceJournalByteCount {
      facts.addRow([
        "disk",
        "\(HumanText.size(free)) free in \(status.dataDirectory): long lists are refused until there is more",
      ])
    }
    if let error = status.storeError {
      facts.addRow(["ERROR", context.completed(text(of: error))])
    }
    if let wait = status.wait.map({ Self.wait($0, of: jobs) }) {
      facts.addRow(["waiting", context.completed(WaitText(wait, at: context.now).text)])
    }
    return facts.rendered(within: Output.columnCount) + "\n" + workers(status.workers)
      + hosts(status.waitingHosts, moreCount: status.moreWaitingHosts)
      + text(of: jobs, in: status)
  }

  /// The wait of the cluster with what jobs add to it: how to repeat what failed before a login page was known for
  /// what it is.
  private static func wait(_ wait: Wait, of jobs: [ImageJob]) -> Wait {
    guard wait.kind == .captive else { return wait }
    let remedies = jobs.compactMap(\.wait).filter { $0.reason == wait.reason }
      .compactMap(\.detail).filter { $0 != wait.detail }
    return remedies.isEmpty ? wait : wait.explained(remedies.joined(separator: "; "))
  }

  /// What processes may keep in memory.
  private static func text(of memory: ClusterStatus.Memory, _ limits: Limits) -> String {
    "\(HumanText.size(limits.memoryBudgetByteCount)) for pictures, processes: \(memory.processCount)"
      + (memory.processCount == 0 ? "" : ", each \(HumanText.size(memory.shareByteCount))")
  }

  private static func sandboxes(of status: ClusterStatus) -> [(String, SandboxReport)] {
    let all = [
      ("decoders", status.sandboxes.decoders), ("workers", status.sandboxes.workers),
      ("coordinator", status.sandboxes.coordinator),
    ]
    return all.compactMap { processes, sandbox in sandbox.map { (processes, $0) } }
  }

  private static func text(of store: LocalStore.View?, in status: ClusterStatus) -> String {
    switch store {
    case .empty: "empty"
    case .notPermitted(let reason): "not read: \(reason)"
    case nil: "not read: use \(flags(of: status))"
    case .size(let size): text(of: size)
    }
  }

  /// What names the store of a coordinator.
  private static func flags(of status: ClusterStatus) -> String {
    let directory =
      status.cacheDirectory == status.dataDirectory
      ? "--data-dir \(status.dataDirectory)" : "--cache-dir \(status.cacheDirectory)"
    return status.storeName == Settings.defaultStoreName
      ? directory : "\(directory) --store-name \(status.storeName)"
  }

  private static func text(of size: CacheSize) -> String {
    let disk = size.diskByteCount.map { ShortageText.ofDisk($0, budget: size.budgetByteCount) }
    return HumanText.count(size.recordCount, of: "record")
      + ", \(HumanText.size(size.occupiedByteCount))"
      + (disk == nil ? " of \(HumanText.size(size.effectiveBudgetByteCount))" : "")
      + (size.autoOriginalByteCount == 0
        ? "" : ", of it \(HumanText.size(size.autoOriginalByteCount)) originals kept by auto")
      + (disk.map { "; \($0)" } ?? "")
  }

  private func text(of error: StoreErrorStatus) -> String {
    let count = HumanText.count(error.servedCount, of: "thumbnail")
    let age = HumanText.duration(error.since.duration(to: context.now))
    return "\(error.reason); \(count) served but not stored in the last \(age)"
  }

  private func workers(_ workers: [ClusterStatus.Worker]) -> String {
    var table = Table([
      .number("worker"), .number("process").ifItFits, .text("state").whole,
      .number("looking up").ifItFits, .number("fetching").leftOut(2),
      .number("to decode").leftOut(0),
      .number("deaths").ifItFits, .number("memory").leftOut(1), .number("decoders").ifItFits,
      .number("their deaths").ifItFits,
    ])
    for worker in workers {
      let memory = worker.processID.flatMap(ThisProcess.residentByteCount(of:))
      table.addRow([
        "\(worker.number)", worker.processID.map(String.init) ?? "-", worker.state.rawValue,
        "\(worker.lookingUp)", "\(worker.fetching)", "\(worker.decoding)",
        "\(worker.deaths)", memory.map { HumanText.size(Int64($0)) } ?? "-",
        "\(worker.decoderProcessIDs.count)", "\(worker.decoderDeaths)",
      ])
    }
    return table.rendered(within: Output.columnCount)
  }

  /// The hosts that hold URLs up: some of those that are queued.
  private func hosts(_ waits: [Wait], moreCount: Int) -> String {
    guard !waits.isEmpty else { return "" }
    var table = Table([.number("held up"), .text("because").wrapped])
    for wait in waits {
      table.addRow([
        "\(wait.urls ?? 0)", context.completed(WaitText(wait, at: context.now).text),
      ])
    }
    return "\n" + table.rendered(within: Output.columnCount)
      + (moreCount > 0 ? "and \(moreCount) more\n" : "")
  }

  private func text(of active: [ImageJob], in cluster: ClusterStatus) -> String {
    guard !active.isEmpty else { return "" }
    var table = JobListing(at: context.now, places: context.places)
    let told = [cluster.wait].compactMap(\.self) + cluster.waitingHosts
    for status in active { table.add(status, besides: told) }
    let others = cluster.activeJobs - active.count
    return "\n" + table.rendered(within: Output.columnCount)
      + (others > 0 ? context.completed("\(others) more: imgctl list\n") : "")
  }

  /// What the coordinator says of the cluster, and what this process sees of its disks.
  private struct Report: Encodable {
    let status: ClusterStatus
    let store: LocalStore.View?
    /// See ``ClusterStatus/scarceJournalSpace``.
    let scarceJournalByteCount: Int64?

    init(_ status: ClusterStatus, _ store: LocalStore.View?) {
      self.status = status
      self.store = store
      scarceJournalByteCount = status.scarceJournalSpace
    }

    func encode(to encoder: any Encoder) throws {
      let size = if case .size(let size) = store { size } else { nil as CacheSize? }
      try JSONObject(
        ["store": size, "journal_free_bytes": scarceJournalByteCount], beside: status
      ).encode(to: encoder)
    }
  }
}
