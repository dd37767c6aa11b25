import Glibc
import ImgClient
package import ImgModel
import ImgSettings
import ImgSystem

/// Shows the progress of a job until it has ended: a bar on a terminal, lines elsewhere (see
/// ``LineCadence``), or an object for each change with `--json`. Ctrl-C ends the display, not the
/// job. The display goes on when the coordinator ends and is started again.
struct JobFollower {
  private let context: CommandContext
  private let isJSON: Bool
  /// Whether people learn what became of each URL.
  private let isVerbose: Bool

  private static let redrawInterval = Duration.milliseconds(100)
  /// No coordinator answers any more, so the job waits in the journal.
  private static let lossCodes: Set<ImageError.Code> = [
    .unreachable, .notListening, .notStarted, .disconnected,
  ]

  init(in context: CommandContext, isJSON: Bool, isVerbose: Bool = false) {
    self.context = context
    self.isJSON = isJSON
    self.isVerbose = isVerbose
  }

  /// Follows the job until it has ended or the user presses Ctrl-C, and prints a summary.
  ///
  /// - Parameters:
  ///   - client: its connection is used first.
  ///   - readsFiles: whether the job's local files are read meanwhile.
  func follow(
    _ job: JobID, continuing client: sending Client, readsFiles: Bool
  ) throws -> ExitCode {
    // From here on, Ctrl-C is an event and does not end the process. The threads of the library inherit
    // that.
    let signals = try SignalSource([SIGINT])
    let isReading = readsFiles && client.isOfOwnUser
    let transport = try ClusterTransport(context.settings, continuing: client)
    let jobs = ImageJobs(transport)
    let reader = isReading ? try JobFileReader(of: job, over: transport) : nil
    defer { withExtendedLifetime(reader) {} }
    let updates = try JobUpdateReader(jobs.updates(of: job.rawValue))
    var looks = ClusterLooks(in: context)
    let end: End
    do {
      end =
        try isJSON
        ? print(updates, reader, signals, &looks)
        : show(updates, reader, signals, &looks, isVerbose ? LineNotes(of: job, in: context) : nil)
    } catch let error as ImageError where Self.lossCodes.contains(error.code) {
      throw error.advising(context.adviceToGoOn(with: job))
    }
    return conclude(job, end, limitNote: looks.note)
  }

  /// Prints the summary of a job that has ended, for which no coordinator is needed.
  func reportEnd(of status: ImageJob) throws -> ExitCode {
    if isJSON { try context.output.write(json: FollowedJob(status, limitNote: nil)) }
    return conclude(status.job, End(last: status, isEarlier: true))
  }

  /// Prints an object for each change that the coordinator reports, at most ten a second.
  ///
  /// - Parameter looks: are shown the job meanwhile.
  /// - Returns: as ``forEachState(_:_:_:)`` does.
  private func print(
    _ updates: JobUpdateReader, _ reader: JobFileReader?, _ signals: SignalSource,
    _ looks: inout ClusterLooks
  ) throws -> End {
    var printed: ImageJob?
    return try forEachState(updates, reader, signals) { status in
      looks.take(status)
      guard status != printed else { return }
      printed = status
      try context.output.write(json: FollowedJob(status, limitNote: looks.note))
      try context.output.flush()
    }
  }

  /// - Parameters:
  ///   - looks: are shown the job meanwhile.
  ///   - lines: tell what became of each URL; `nil` tells nothing of them.
  /// - Returns: as ``forEachState(_:_:_:)`` does.
  private func show(
    _ updates: JobUpdateReader, _ reader: JobFileReader?, _ signals: SignalSource,
    _ looks: inout ClusterLooks, _ lines: LineNotes?
  ) throws -> End {
    let start = ContinuousClock.now
    let isOnTerminal = Terminal.obeysControls(2)
    var bar: ProgressBar?
    var line = RedrawnLine()
    var cadence = LineCadence()
    var wasPaused = false
    var noted: StoreShortage?
    var notedWait: [String]?
    var userWaits = UserWaits()
    defer { context.redraw(line.end()) }
    return try forEachState(updates, reader, signals) { status in
      let now = ContinuousClock.now
      let wall = context.now
      var current = bar ?? ProgressBar(status, at: now - start, wall: wall, places: context.places)
      current.update(status, at: now - start, wall: wall)
      looks.take(status)
      current.hostRatePerMinute = looks.hostRatePerMinute
      bar = current
      if let text = userWaits.note(on: status, at: wall) { context.noteIfQuiet(text) }
      // Elsewhere the line of the progress has the reason of a wait.
      if let text = try lines?.text(after: status, tellsWait: isOnTerminal), !text.isEmpty {
        context.redraw(line.erase())
        context.note(text)
      }
      let wait =
        status.wait.flatMap { $0.isOfNetwork ? $0 : nil }
        ?? current.cutWait(columns: Terminal.messageColumns)
      // A bar has no room for the remedy, or a long reason. Other lines have.
      if isOnTerminal, lines == nil, let wait, wait.reason != notedWait {
        context.redraw(line.erase())
        context.note("waiting: \(WaitText(wait, of: status.job, at: wall).text)\n")
      }
      if status.wait == nil || wait != nil { notedWait = wait?.reason }
      let isPaused = status.state == .paused
      if isPaused, !wasPaused {
        context.redraw(line.erase())
        context.note("job \(status.job) is paused; continue with: imgctl resume \(status.job)\n")
      }
      wasPaused = isPaused
      if let shortage = status.storeShortage,
        let text = ShortageText(status, isOfService: context.settings.isOfService),
        noted == nil || shortage.isOfDisk && noted?.isOfDisk == false
      {
        noted = shortage
        context.redraw(line.erase())
        context.note(text.warning)
      }
      if isOnTerminal {
        context.redraw(line.draw(current.line(columns: Terminal.messageColumns)))
      } else if let text = cadence.line(of: status, current, at: now - start) {
        context.noteCompleted(text + "\n")
      }
    }
  }

  /// Calls `body` with each update, and again with the last one while none comes.
  ///
  /// - Parameter reader: of the job's local files, whose end by an error ends this, too.
  private func forEachState(
    _ updates: JobUpdateReader, _ reader: JobFileReader?, _ signals: SignalSource,
    _ body: (ImageJob) throws -> Void
  ) throws -> End {
    var end = End(last: nil, isEarlier: false)
    repeat {
      _ = try reader?.waitForEnd(until: .now)
      if let next = try updates.next(until: .now + Self.redrawInterval) {
        end = End(last: next, isEarlier: end.last == nil && next.hasEnded)
      }
      if let last = end.last { try body(last) }
    } while end.last?.hasEnded != true && signals.take().isEmpty
    return end
  }

  /// How the display of a job ends.
  private struct End {
    /// The last state; not an end after Ctrl-C, and `nil` if that came before the first update.
    let last: ImageJob?
    /// Whether the job had ended before.
    let isEarlier: Bool
  }

  /// Prints the summary, with the commands to type next.
  ///
  /// - Parameter limitNote: see ``TransferLimitWatch/note``.
  private func conclude(
    _ job: JobID, _ end: End, limitNote: String? = nil
  ) -> ExitCode {
    guard let status = end.last, status.hasEnded else {
      if !isJSON {
        let isPaused = end.last?.state == .paused
        context.note(Self.courseText(of: job, isPaused: isPaused) + "\n")
      }
      return .interrupted
    }
    if !isJSON {
      let jobs = context.silentJobs
      let size = jobs.flatMap { storeSize(of: status, $0) }
      let summary = JobSummary(
        status, details: failureDetails(of: status, jobs), terms: context.remedyTerms(for: status),
        limitNote: limitNote,
        results: jobs.flatMap {
          resultsInStore(of: status, $0, size, isEarlier: end.isEarlier)
        } ?? ResultsInStore(),
        diskNote: size?.diskByteCount.map {
          ShortageText.ofDisk($0, budget: size?.budgetByteCount ?? 0)
        })
      context.note(summary.text)
    }
    return status.exitCode
  }

  /// What becomes of a job that is not followed any more.
  static func courseText(of job: JobID, isPaused: Bool = false) -> String {
    "job \(job) \(isPaused ? "stays paused" : "continues"); to follow it: imgctl wait \(job); "
      + "to end it: imgctl cancel \(job)"
  }

  /// The details of a job's failures, as far as the coordinator or the journal tells.
  private func failureDetails(of status: ImageJob, _ jobs: JobSource?) -> FailureDetails {
    jobs.map { FailureDetails(of: status, in: $0) } ?? FailureDetails()
  }

  /// The size of the store that a job has used; `nil` if this process cannot read it, which other commands
  /// explain.
  private func storeSize(of status: ImageJob, _ jobs: JobSource) -> CacheSize? {
    guard status.done > 0, context.hasStore(of: jobs),
      case .size(let size) = try? context.store.view()
    else { return nil }
    return size
  }

  /// What the store has of what a job made; `nil` if that is not looked at.
  private func resultsInStore(
    of status: ImageJob, _ jobs: JobSource, _ size: CacheSize?, isEarlier: Bool
  ) -> ResultsInStore? {
    // A store that is half empty has not evicted anything lately. Of a job that had ended before, thumbnails may
    // have expired, or were removed.
    let hasEvicted = size.map { $0.occupiedByteCount > $0.effectiveBudgetByteCount / 2 } ?? false
    let isCounted =
      status.total <= CommandContext.countedLineMaximum
      && (isEarlier || context.mayReplacePins(status)
        || status.request.obeysNoStore && status.done > status.fromCache)
    return hasEvicted || isCounted ? context.resultsInStore(of: status, jobs) : nil
  }
}

extension FailureDetails {
  /// Those of a job, as far as they can be read.
  init(of status: ImageJob, in jobs: JobSource) {
    self.init()
    guard (1...Self.failureMaximum).contains(status.failed) else { return }
    try? jobs.results(of: status.job, isFailedOnly: true) { add($0) }
  }
}

/// Tells what became of each line of a job that is followed, and what the job waits for.
final class LineNotes {
  /// `nil` if the coordinator has left: then the summary alone tells it.
  private let lines: FinishedLines?
  private let context: CommandContext
  private var last: ImageJob?

  init(of job: JobID, in context: CommandContext) {
    self.context = context
    lines = (try? context.runningCoordinator()).map { FinishedLines(of: job, from: $0) }
  }

  /// What has happened since the last call, in lines with line feeds.
  ///
  /// - Parameter tellsWait: whether a line says what the job waits for.
  func text(after status: ImageJob, tellsWait: Bool) throws -> String {
    guard status != last else { return "" }
    var text = ""
    if tellsWait, let wait = status.wait, wait.reason != last?.wait?.reason {
      text += "waiting: \(WaitText(wait, of: status.job, at: context.now).text)\n"
    }
    last = status
    try lines?.forEachNew(hasEnded: status.hasEnded) { line in
      text += Self.text(of: line) + "\n"
      return true
    }
    return text
  }

  package static func text(of line: LineResult) -> String {
    let source = HumanText.source(line.url)
    switch line.outcome {
    case .done(let thumbnail, let isFromCache, let fetchedByteCount):
      let origin =
        isFromCache ? "from the store" : "\(HumanText.size(Int64(fetchedByteCount))) fetched"
      return "done: \(source): \(thumbnail.width)x\(thumbnail.height) "
        + "\(thumbnail.format.rawValue), \(HumanText.size(Int64(thumbnail.byteCount))), \(origin)"
    case .failed(let failure, _): return "failed: \(source): \(failure)"
    case .cancelled, nil: return "cancelled: \(source)"
    }
  }
}

/// The waits of a job that only the user can end: each once while it lasts.
private struct UserWaits {
  private var last: [String]?

  mutating func note(on status: ImageJob, at now: WallTime) -> String? {
    let wait = status.wait.flatMap {
      [.paused, .storePinned, .captive].contains($0.kind) ? $0 : nil
    }
    defer { last = wait?.reason }
    guard let wait, wait.reason != last else { return nil }
    return "job \(status.job) is waiting: \(WaitText(wait, of: status.job, at: now).text)\n"
  }
}

/// Looks at the whole cluster while a job is followed, to find out what holds the job back.
private struct ClusterLooks {
  private static let interval = Duration.seconds(1)

  private let context: CommandContext
  /// Connected to at the first look: most jobs that are followed end before. One that ends meanwhile is not
  /// looked at again.
  private lazy var cluster = try? context.runningCoordinator()
  private var next = ContinuousClock.now + interval
  private var watch = TransferLimitWatch()

  init(in context: CommandContext) {
    self.context = context
  }

  /// See ``TransferLimitWatch/note``.
  var note: String? { watch.note }
  /// `--rate-per-host` of the cluster, as far as it is known; 0 for none.
  var hostRatePerMinute: Int { watch.hostRatePerMinute }

  /// Looks at the cluster if it is time.
  mutating func take(_ status: ImageJob) {
    let now = ContinuousClock.now
    guard now >= next else { return }
    next = now + Self.interval
    guard let cluster = try? cluster?.answer(.status) else { return }
    watch.add(cluster, status)
  }
}

extension ImageJob {
  /// The exit code of a command about this job. A damaged job counts as failed, because its
  /// outcomes are unknown.
  var exitCode: ExitCode {
    failed > 0 || cancelled > 0 || state == .damaged ? .someFailed : .success
  }

  /// Lines that have failed because no host answered, or none could be found.
  fileprivate var networkFailureCount: Int {
    let codes: Set<ImageError.Code> = [.timeout, .connectFailure, .dnsFailure, .proxyFailure]
    return failures.reduce(0) { $0 + (codes.contains($1.code) ? $1.count : 0) }
  }

  /// Whether more transfers at once may be what the job lacks. One that has had no outcome for a while waits for hosts
  /// that are silent, or for the network.
  fileprivate var mayWaitForTransfers: Bool {
    wait.map { [.transfersFull, .transferring].contains($0.kind) } ?? true
  }
}

/// Reads the updates of a job on the thread of a command, which blocks. They arrive on other threads.
final class JobUpdateReader: Sendable {
  private typealias Event = Result<ImageJob, ImageError>

  private let events: BlockingQueue<Event>
  private let task: Task<Void, Never>

  /// Updates that wait for the thread. Further ones replace each other until it has read some.
  private static let waitingMaximum = 16
  private static let pauseWhileFull = Duration.milliseconds(100)

  init(_ updates: ImageJobUpdates) throws(SystemError) {
    let events = try BlockingQueue<Event>(capacity: Self.waitingMaximum)
    self.events = events
    task = Task { await JobUpdateReader.pushAll(updates, to: events) }
  }

  deinit {
    task.cancel()
  }

  private static func pushAll(
    _ updates: ImageJobUpdates, to events: BlockingQueue<Event>
  ) async {
    do throws(ImageError) {
      for try await job in updates { await push(.success(job), to: events) }
    } catch {
      await push(.failure(error), to: events)
    }
  }

  private static func push(_ event: Event, to events: BlockingQueue<Event>) async {
    while !events.push(event), !Task.isCancelled {
      try? await Task.sleep(for: pauseWhileFull)
    }
  }

  /// The next update, for which the thread waits up to the deadline; `nil` after that.
  func next(until deadline: ContinuousClock.Instant) throws(ImageError) -> ImageJob? {
    try events.take(upTo: 1, until: deadline)?.first?.get()
  }
}

/// A state of a job that is followed, as `--json` prints it: its status, and what the summary notes.
package struct FollowedJob: Encodable {
  private let status: ImageJob
  private let limitNote: String?

  /// - Parameter limitNote: see ``TransferLimitWatch/note``.
  package init(_ status: ImageJob, limitNote: String?) {
    self.status = status
    self.limitNote = limitNote
  }

  package func encode(to encoder: any Encoder) throws {
    try JSONObject(["transfer_limit_note": limitNote], beside: status).encode(to: encoder)
  }
}

/// Finds out whether the limit of transfers, and not the machine, holds a list back. Pure: it is shown
/// the cluster from time to time.
///
/// It does where, in most looks, all slots were in use while lines of the list waited and decoders had
/// nothing to do.
package struct TransferLimitWatch: Sendable {
  private var lookCount = 0
  private var limitedCount = 0
  private var limits = Limits()
  /// Whether transfers have failed because they were too slow: more at once would be slower.
  private var isLineSlow = false
  /// Whether so many transfers have failed because of the network, or of hosts that cannot be reached, that those which
  /// wait for them hold the slots.
  private var isNetworkPoor = false

  /// More than one in so many lines is such a failure.
  private static let networkFailureShare = 10
  /// Fewer looks tell too little.
  private static let minimumLookCount = 5

  package init() {}

  /// Of the cluster, as it was seen last.
  fileprivate var hostRatePerMinute: Int { limits.hostRatePerMinute }

  package mutating func add(_ cluster: ClusterStatus, _ job: ImageJob) {
    limits = cluster.limits
    lookCount += 1
    isLineSlow =
      cluster.slowLineTransfers != nil
      || job.failures.contains { Failure.isTooSlow($0.code, $0.message) }
    let ready = cluster.workers.count { $0.state == .ready }
    let decoding = cluster.workers.reduce(0) { $0 + $1.decoding }
    isNetworkPoor = job.networkFailureCount * Self.networkFailureShare > job.total
    let isLimited = cluster.transfers >= slotCount && job.queued > 0 && decoding < ready
    if isLimited, job.mayWaitForTransfers { limitedCount += 1 }
  }

  /// The slots that hosts which take their time may have: a few are reserved for others.
  private var slotCount: Int {
    limits.transfers - min(limits.transfersPerHost, limits.transfers / 8)
  }

  /// What to say at the end of the list; `nil` if something else held it back.
  package var note: String? {
    guard lookCount >= Self.minimumLookCount, limitedCount * 2 > lookCount,
      limits.transfers < LimitChange.transferRange.upperBound, !isLineSlow, !isNetworkPoor
    else { return nil }
    let more = min(2 * limits.transfers, LimitChange.transferRange.upperBound)
    return
      "the limit of \(limits.transfers) transfers held the list back, not this machine; more at "
      + "once: imgctl limits --transfers \(more)"
  }
}
