import Glibc
import ImgClient
import ImgModel
import ImgSettings
import ImgSystem

/// Shows the progress of a job until it has ended: a bar on a terminal, lines elsewhere (see
/// ``LineCadence``), or an object for each change with `--json`. Ctrl-C ends the display, not the
/// job. The display goes on when the coordinator ends and is started again.
struct JobFollower {
  private let context: CommandContext
  private let isJSON: Bool

  private static let redrawInterval = Duration.milliseconds(100)
  /// The width of a terminal that does not report one.
  private static let defaultColumns = 80

  init(in context: CommandContext, isJSON: Bool) {
    self.context = context
    self.isJSON = isJSON
  }

  /// Follows the job until it has ended or the user presses Ctrl-C, and prints a summary.
  ///
  /// - Parameter client: its connection is used first.
  func follow(_ job: JobID, continuing client: sending Client) throws -> ExitCode {
    // From here on, Ctrl-C is an event and does not end the process. The threads of the library inherit
    // that.
    let signals = try SignalSource([SIGINT])
    let jobs = ImageJobs(try ClusterTransport(context.settings, continuing: client))
    let updates = try JobUpdateReader(jobs.updates(of: job.rawValue))
    var looks = ClusterLooks(in: context)
    let last = try isJSON ? print(updates, signals, &looks) : show(updates, signals, &looks)
    return conclude(job, last, limitNote: looks.note)
  }

  /// Prints an object for each change that the coordinator reports, at most ten a second.
  ///
  /// - Parameter looks: are shown the job meanwhile.
  /// - Returns: as ``forEachState(_:_:_:)`` does.
  private func print(
    _ updates: JobUpdateReader, _ signals: SignalSource, _ looks: inout ClusterLooks
  ) throws -> JobStatus? {
    var printed: JobStatus?
    return try forEachState(updates, signals) { status in
      looks.take(status)
      guard status != printed else { return }
      printed = status
      try context.output.write(json: FollowedJob(status, limitNote: looks.note))
      try context.output.flush()
    }
  }

  /// - Parameter looks: are shown the job meanwhile.
  /// - Returns: as ``forEachState(_:_:_:)`` does.
  private func show(
    _ updates: JobUpdateReader, _ signals: SignalSource, _ looks: inout ClusterLooks
  ) throws -> JobStatus? {
    let start = ContinuousClock.now
    let isOnTerminal = Terminal.isTerminal(2)
    var bar: ProgressBar?
    var line = RedrawnLine()
    var cadence = LineCadence()
    var wasPaused = false
    var noted: StoreShortage?
    defer { context.redraw(line.end()) }
    return try forEachState(updates, signals) { status in
      let now = ContinuousClock.now
      let wall = context.now
      var current = bar ?? ProgressBar(status, at: now - start, wall: wall)
      current.update(status, at: now - start, wall: wall)
      bar = current
      looks.take(status)
      let isPaused = status.state == .paused
      if isPaused, !wasPaused {
        context.redraw(line.erase())
        context.note("job \(status.job) is paused; continue with: imgctl resume \(status.job)\n")
      }
      wasPaused = isPaused
      if let shortage = status.storeShortage, let text = ShortageText(status),
        noted == nil || shortage.isOfDisk && noted?.isOfDisk == false
      {
        noted = shortage
        context.redraw(line.erase())
        context.note(text.warning)
      }
      if isOnTerminal {
        let columns = Terminal.columns(2) ?? Self.defaultColumns
        context.redraw(line.draw(current.line(columns: columns)))
      } else if cadence.takes(status, at: now - start) {
        context.note(current.plainLine + "\n")
      }
    }
  }

  /// Calls `body` with each update, and again with the last one while none comes.
  ///
  /// - Returns: the last state; not an end after Ctrl-C, and `nil` if that came before the first update.
  private func forEachState(
    _ updates: JobUpdateReader, _ signals: SignalSource, _ body: (JobStatus) throws -> Void
  ) throws -> JobStatus? {
    var last: JobStatus?
    repeat {
      last = try updates.next(until: .now + Self.redrawInterval) ?? last
      if let last { try body(last) }
    } while last?.hasEnded != true && signals.take().isEmpty
    return last
  }

  /// Prints the summary, with the commands to type next.
  ///
  /// - Parameter limitNote: see ``TransferLimitWatch/note``.
  private func conclude(
    _ job: JobID, _ status: JobStatus?, limitNote: String? = nil
  ) -> ExitCode {
    guard let status, status.hasEnded else {
      if !isJSON {
        let course = status?.state == .paused ? "stays paused" : "continues"
        context.note("job \(job) \(course); to follow it again: imgctl wait \(job)\n")
      }
      return .interrupted
    }
    if !isJSON {
      let size = storeSize(of: status)
      let summary = JobSummary(
        status, commonFailure: commonFailure(of: status), limitNote: limitNote,
        lostCount: size.map { lostCount(of: status, in: $0) } ?? 0,
        diskNote: size?.diskByteCount.map {
          ShortageText.ofDisk($0, budget: size?.budgetByteCount ?? 0)
        })
      context.note(summary.text)
    }
    return status.exitCode
  }

  /// The size of the store that a job has used; `nil` if this process cannot read it, which other commands
  /// explain.
  private func storeSize(of status: JobStatus) -> CacheSize? {
    guard status.done > 0, status.keep != .none,
      let client = try? context.runningCoordinator(),
      (try? client.requireStore(in: context.settings.storeDirectory)) != nil,
      case .size(let size) = try? context.store.view()
    else { return nil }
    return size
  }

  /// How many of a job's thumbnails the store no longer has.
  private func lostCount(of status: JobStatus, in size: CacheSize) -> Int {
    // A store that is half empty has not evicted anything lately.
    guard size.occupiedByteCount > size.effectiveBudgetByteCount / 2 else { return 0 }
    let results = LineResults(
      of: ThumbnailRequest(
        variant: status.variant, otherVariants: status.otherVariants ?? [],
        isLenient: status.isLenient, keep: status.keep, fetch: status.fetch), in: context.store)
    var lostCount = 0
    try? context.runningCoordinator().results(of: status.job, isFailedOnly: false) { line in
      guard case .done = line.outcome else { return }
      if try !results.isStored(line) { lostCount += 1 }
    }
    return lostCount
  }

  /// The first failure of a job, if all its lines failed with the same code.
  private func commonFailure(of status: JobStatus) -> Failure? {
    guard status.failed > 0, status.failed == status.total else { return nil }
    var first: Failure?
    do {
      try context.runningCoordinator().results(of: status.job, isFailedOnly: true) { line in
        guard case .failed(let failure, _) = line.outcome else { return }
        guard first == nil || first?.code == failure.code else { throw OtherFailure() }
        first = first ?? failure
      }
    } catch {
      // Also a coordinator that has gone since: the command that lists the failures says why.
      return nil
    }
    return first
  }

  /// Ends the look at the failures of a job.
  private struct OtherFailure: Error {}
}

/// Looks at the whole cluster while a job is followed, to find out what holds the job back.
private struct ClusterLooks {
  private static let interval = Duration.seconds(1)

  /// One that ends meanwhile is not looked at again.
  private let cluster: Client?
  private var next = ContinuousClock.now + interval
  private var watch = TransferLimitWatch()

  init(in context: CommandContext) {
    cluster = try? context.runningCoordinator()
  }

  /// See ``TransferLimitWatch/note``.
  var note: String? { watch.note }

  /// Looks at the cluster if it is time.
  mutating func take(_ status: JobStatus) {
    let now = ContinuousClock.now
    guard now >= next, let cluster = try? cluster?.status() else { return }
    watch.add(cluster, status)
    next = now + Self.interval
  }
}

extension JobStatus {
  /// The exit code of a command about this job. A damaged job counts as failed, because its
  /// outcomes are unknown.
  var exitCode: ExitCode {
    failed > 0 || cancelled > 0 || state == .damaged ? .someFailed : .success
  }
}
