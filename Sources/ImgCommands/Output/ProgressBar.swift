package import ImgModel
import ImgSystem

/// The progress of a job as one line of text. Pure: ``RedrawnLine`` draws the line over the
/// previous one.
package struct ProgressBar: Sendable {
  private static let barWidths = 10...40

  private var rates = RecentRates()
  private var remaining = RemainingTime()
  private var wait = SteadyWait()
  /// How many hosts the job waited for when it last waited for the rate of one; `nil` if it never did.
  private var ratedHostCount: Int?
  /// `--rate-per-host` of the cluster; 0 for none.
  package var hostRatePerMinute = 0
  private var status: ImageJob
  private var now: WallTime
  private let places: TypedPlaces

  /// - Parameters:
  ///   - elapsed: the time since a fixed moment, the same in every ``update(_:at:wall:)``.
  ///   - now: the current time, for the remaining time of a wait.
  ///   - places: those that the commands to type carry.
  package init(
    _ status: ImageJob, at elapsed: Duration, wall now: WallTime, places: TypedPlaces = .none
  ) {
    self.status = status
    self.now = now
    self.places = places
    update(status, at: elapsed, wall: now)
  }

  package mutating func update(_ status: ImageJob, at elapsed: Duration, wall now: WallTime) {
    self.status = status
    self.now = now
    wait.update(status.wait, at: now)
    if let wait = status.wait {
      ratedHostCount = wait.kind == .hostRate ? 1 + (wait.moreHosts ?? 0) : nil
    }
    // The time of a wait says nothing of the rate after it, unless bytes arrive meanwhile.
    if let shown = wait.shown, !shown.isOfArrivals { rates = RecentRates() }
    rates.add(at: elapsed, images: status.finished, bytes: status.fetchedByteCount)
    remaining.update(estimate, at: elapsed)
  }

  /// The line for a terminal with `columns`. If the facts do not fit, the last ones are omitted.
  /// The bar takes the remaining columns. The reason of a wait takes precedence over the bar.
  package func line(columns: Int) -> String {
    var facts = self.facts
    func barRoom() -> Int {
      columns - 2 - facts.map { $0.count + 2 }.reduce(0, +)
    }
    let waitFact = self.waitFact()
    let leastCount = waitFact == nil ? 1 : facts.count
    while facts.count > leastCount, barRoom() < Self.barWidths.lowerBound { facts.removeLast() }
    let room = barRoom()
    let text = facts.joined(separator: "  ")
    guard room >= Self.barWidths.lowerBound else {
      return text.count > columns && waitFact != nil && columns > 0
        ? text.prefix(columns - 1) + "…" : String(text.prefix(max(columns, 0)))
    }
    return "[\(bar(width: min(room, Self.barWidths.upperBound)))]  \(text)"
  }

  private var facts: [String] {
    [percentage, "\(status.finished)/\(status.total)"] + details(tellsShortage: true)
  }

  /// The wait of the whole job whose reason a terminal with `columns` has no room for in one line; `nil` for none.
  package func cutWait(columns: Int) -> Wait? {
    guard let wait = wait.shown, wait.isOfWholeJob, facts.joined(separator: "  ").count > columns
    else { return nil }
    return wait
  }

  /// The line for a log or a pipe.
  package var plainLine: String { plainLine(tellsRemedy: true) }

  /// - Parameter tellsRemedy: whether the line says what can be done about a wait.
  package func plainLine(tellsRemedy: Bool) -> String {
    let head = "job \(status.job): \(status.finished)/\(status.total)"
    let details = self.details(tellsShortage: false, tellsRemedy: tellsRemedy)
    return ([head, percentage] + details).joined(separator: ", ")
  }

  /// See ``Wait/reason``; `nil` while the job proceeds.
  package var waitReason: [String]? { wait.shown?.reason }

  /// Whether the wait has only just begun, and may be over at once.
  fileprivate var isWaitBrief: Bool {
    wait.shown?.since.map { $0.duration(to: now) < .seconds(1) } ?? false
  }

  /// The facts behind the counts, the most important first.
  ///
  /// - Parameters:
  ///   - tellsShortage: a log has what the job needs of the store as a note before it.
  ///   - tellsRemedy: of a wait.
  private func details(tellsShortage: Bool, tellsRemedy: Bool = true) -> [String] {
    let waitFact = self.waitFact(tellsRemedy: tellsRemedy)
    var details: [String] = []
    if [.scheduled, .paused, .cancelling].contains(status.state) {
      details.append(status.state.rawValue)
    }
    if status.failed > 0 { details.append("\(status.failed) failed") }
    if status.damaged > 0 { details.append("\(status.damaged) damaged") }
    if status.cancelled > 0 { details.append("\(status.cancelled) cancelled") }
    if let waitFact { details.append(waitFact) }
    if tellsShortage, let shortage = ShortageText(status) { details.append(shortage.fact) }
    guard waitFact == nil else { return details }
    if let timeLeft { details.append(timeLeft) }
    if isHeldInMotion, let limits = wait.shown?.detail { details.append("held by \(limits)") }
    // A rate of nothing says no more than that nothing has come.
    if let rate = rates.imagesPerSecond, rate > 0, isMoving {
      details.append("\(HumanText.number(rate)) img/s")
    }
    if status.fromCache > 0 { details.append("\(status.fromCache) from cache") }
    if let rate = rates.bytesPerSecond, rate > 0, isMoving {
      details.append(HumanText.rate(bytesPerSecond: rate))
    }
    return details
  }

  /// Whether limits of bandwidth hold a job that proceeds: its recent rate predicts the rest.
  private var isHeldInMotion: Bool {
    wait.shown?.kind == .bandwidth && rates.imagesPerSecond.map { $0 > 0 } ?? false
  }

  /// Why the job waits; `nil` while it proceeds, and if its state already says so.
  private func waitFact(tellsRemedy: Bool = true) -> String? {
    guard status.state != .paused, !isHeldInMotion, let wait = wait.shown else { return nil }
    let whole = WaitText(wait, of: status.job, at: now)
    let text = tellsRemedy ? whole : whole.repeated
    return places.completed("waiting: " + (status.storeShortage == nil ? text.text : text.cause))
  }

  /// Whether the recent rate predicts the rest of the job.
  private var isMoving: Bool { [.queued, .running].contains(status.state) }

  /// Rounded down: 100 % means all.
  private var percentage: String {
    "\(Int(fraction * 100)) %"
  }

  private var fraction: Double {
    status.total == 0 ? 1 : Double(status.finished) / Double(status.total)
  }

  /// The remaining time by the recent rate, in seconds; `nil` while the job stands. The first requests at a host are
  /// not held by `--rate-per-host`: the rate that they seem to have does not last.
  private var estimate: Double? {
    guard let rate = rates.imagesPerSecond, rate > 0, wait.shown == nil || isHeldInMotion else {
      return nil
    }
    return Double(status.total - status.finished) / min(rate, lastingRate ?? rate)
  }

  /// What `--rate-per-host` leaves the job if all its URLs are of the hosts that it has waited for.
  private var lastingRate: Double? {
    let rates = [status.hostRatePerMinute, hostRatePerMinute].filter { $0 > 0 }
    guard let rate = rates.min(), let ratedHostCount, status.fromCache == 0 else { return nil }
    return Double(rate * ratedHostCount) / 60
  }

  private var timeLeft: String? {
    // Beyond four days the estimate is useless.
    guard isMoving, let seconds = remaining.seconds, seconds < 100 * 3_600 else { return nil }
    return HumanText.stopwatch(seconds: Int64(seconds.rounded(.up))) + " left"
  }

  private func bar(width: Int) -> String {
    let filled = Int(fraction * Double(width))
    return String(repeating: "#", count: filled) + String(repeating: "-", count: width - filled)
  }
}

/// The recent growth rates of two counters, averaged over the last seconds.
package struct RecentRates: Sendable {
  private struct Sample {
    let elapsed: Duration
    let images: Int
    let bytes: Int64
  }

  private static let width = Duration.seconds(10)
  /// Samples closer than this are dropped, which bounds the number of samples.
  private static let spacing = Duration.milliseconds(200)
  /// A shorter time gives no meaningful rate.
  private static let minimumWidth = Duration.milliseconds(500)

  private var samples: [Sample] = []

  /// `nil` until the samples span ``minimumWidth``.
  package private(set) var imagesPerSecond: Double?
  package private(set) var bytesPerSecond: Double?

  package init() {}

  /// - Parameters:
  ///   - elapsed: the time since a fixed moment. It never decreases.
  ///   - images: the total so far.
  ///   - bytes: the total so far.
  package mutating func add(at elapsed: Duration, images: Int, bytes: Int64) {
    // The newest sample that is as old as ``width`` stays, because the rates start there.
    let expired = samples.lastIndex { $0.elapsed <= elapsed - Self.width } ?? 0
    samples.removeFirst(expired)
    if let first = samples.first, elapsed - first.elapsed >= Self.minimumWidth {
      let seconds = (elapsed - first.elapsed) / .seconds(1)
      imagesPerSecond = Double(images - first.images) / seconds
      bytesPerSecond = Double(bytes - first.bytes) / seconds
    }
    if samples.last.map({ elapsed - $0.elapsed >= Self.spacing }) ?? true {
      samples.append(Sample(elapsed: elapsed, images: images, bytes: bytes))
    }
  }
}

/// The remaining time of a job. It counts down, and follows the estimates of a rate that varies slowly: the faster,
/// the less time remains.
package struct RemainingTime: Sendable {
  /// The time in which it comes to a steady estimate, in seconds: this part of what remains, within a range.
  private static let paceShare = 0.3
  private static let paces = 1.0...20.0

  package private(set) var seconds: Double?
  private var updatedAt = Duration.zero

  package init() {}

  /// - Parameters:
  ///   - estimate: the remaining time in seconds; `nil` while the job stands.
  ///   - elapsed: the time since a fixed moment. It never decreases.
  package mutating func update(_ estimate: Double?, at elapsed: Duration) {
    defer { updatedAt = elapsed }
    guard let last = seconds, let estimate else {
      seconds = estimate
      return
    }
    let passed = (elapsed - updatedAt) / .seconds(1)
    let expected = max(last - passed, 0)
    let pace = min(last, estimate) * Self.paceShare
    let range = Self.paces
    let share = passed / min(max(pace, range.lowerBound), range.upperBound)
    seconds = expected + (estimate - expected) * min(share, 1)
  }
}

/// The wait that is shown. A host stays until its time has come, so that the line does not hop among hosts.
package struct SteadyWait: Sendable {
  package private(set) var shown: Wait?

  package init() {}

  /// - Parameter wait: what the job waits for, as far as the coordinator tells.
  package mutating func update(_ wait: Wait?, at now: WallTime) {
    if let shown, let until = shown.until, until > now, let wait, shown.isOfHost, wait.isOfHost,
      wait.host != shown.host
    {
      return
    }
    shown = wait
  }
}

extension Wait {
  /// Whether it is for one host among others.
  fileprivate var isOfHost: Bool { host != nil && !isOfNetwork }

  /// Whether nothing of the job goes on until its end. What its hosts are at by turns would fill the terminal.
  fileprivate var isOfWholeJob: Bool {
    moreHosts == nil && [.noWorker, .journal, .hostFailing, .slowLine].contains(kind)
  }

  /// Whether the job's transfers go on, and end when their bytes have arrived.
  fileprivate var isOfArrivals: Bool { [.transferring, .slowLine, .bandwidth].contains(kind) }
}

/// The last line of a terminal, redrawn for each update. The caller writes the returned texts
/// unchanged.
package struct RedrawnLine: Sendable {
  /// Moves to the first column and clears the line (ECMA-48, EL).
  private static let clear = "\r\u{1B}[K"

  private var shown = ""

  package init() {}

  /// The output that replaces the shown text by `text`; empty if they are equal.
  package mutating func draw(_ text: String) -> String {
    guard text != shown else { return "" }
    shown = text
    return Self.clear + text.printable
  }

  /// The output that clears the line for other text.
  package mutating func erase() -> String {
    guard !shown.isEmpty else { return "" }
    shown = ""
    return Self.clear
  }

  /// The output that keeps the line and continues below it.
  package mutating func end() -> String {
    guard !shown.isEmpty else { return "" }
    shown = ""
    return "\n"
  }
}

/// The destination of the progress of one picture: with `--json` an object for each value, else a line on
/// standard error. A terminal redraws the line; elsewhere there is at most one line a second.
final class ProgressOutput {
  private static let lineInterval = Duration.seconds(1)

  private let source: RequestedURL
  private let isJSON: Bool
  private let context: CommandContext
  private let isOnTerminal = Terminal.obeysControls(2)
  private var line = RedrawnLine()
  /// When the next line may follow where none is redrawn.
  private var nextLineAt = ContinuousClock.now

  /// - Parameter source: what the progress is that of.
  init(of source: RequestedURL, isJSON: Bool, in context: CommandContext) {
    self.source = source
    self.isJSON = isJSON
    self.context = context
  }

  func show(_ progress: ImageProgress, at now: ContinuousClock.Instant = .now) {
    if isJSON {
      try? context.output.write(json: JSONObject.picture(source, progress))
      try? context.output.flush()
    } else if isOnTerminal {
      context.redraw(line.draw(HumanText.download(progress)))
    } else if nextLineAt <= now {
      nextLineAt = now + Self.lineInterval
      context.note(HumanText.download(progress) + "\n")
    }
  }

  /// The picture has arrived, or never will: other text takes the line.
  func end() {
    context.redraw(line.erase())
  }
}

extension HumanText {
  /// How much of a picture has arrived, such as `45 % of 1.4 MiB`, or `640.0 KiB` if its length is unknown.
  /// Rounded down: 100 % means all.
  package static func download(_ progress: ImageProgress) -> String {
    guard let expected = progress.expectedByteCount, expected > 0 else {
      return size(Int64(progress.receivedByteCount))
    }
    let share = Double(progress.receivedByteCount) / Double(expected)
    return "\(Int(min(share, 1) * 100)) % of \(size(Int64(expected)))"
  }
}

/// Selects the states of a job that become lines of a log: each change, at most one a second; the
/// end; and one line a minute without changes, to show that the command still waits. A wait that goes on is no change,
/// whatever is tried meanwhile.
package struct LineCadence: Sendable {
  /// What changes with each line.
  private struct State: Equatable {
    let state: ImageJob.State
    let counts: [Int]
    let byteCount: Int64?
    /// See ``Wait/reason``.
    let wait: [String]?

    init(_ job: ImageJob) {
      state = job.state
      counts = [job.total, job.done, job.damaged, job.failed, job.cancelled, job.fromCache]
      byteCount = job.wait == nil ? job.fetchedByteCount : nil
      wait = job.wait?.reason
    }
  }

  private static let interval = Duration.seconds(1)
  private static let unchangedInterval = Duration.seconds(60)

  private var last: (state: State, line: String, at: Duration)?
  /// See ``Wait/reason``, of the last line.
  private var toldWait: [String]?
  /// See ``ImageJob/finished``, of the last line.
  private var toldCount: Int?

  package init() {}

  /// The line of a state, with what can be done about a wait if the line before did not tell it.
  ///
  /// - Parameter bar: of the state.
  /// - Returns: `nil` if the state becomes no line.
  package mutating func line(
    of status: ImageJob, _ bar: ProgressBar, at elapsed: Duration
  ) -> String? {
    let repeated = bar.plainLine(tellsRemedy: false)
    let isBrief = bar.isWaitBrief && bar.waitReason != toldWait && status.finished == toldCount
    guard !isBrief, takes(status, as: repeated, at: elapsed) else { return nil }
    defer { (toldWait, toldCount) = (bar.waitReason, status.finished) }
    return bar.waitReason == toldWait ? repeated : bar.plainLine
  }

  /// - Parameters:
  ///   - line: its text, which does not tell all of the state.
  ///   - elapsed: the time since a fixed moment. It never decreases.
  /// - Returns: whether the state becomes the next line.
  package mutating func takes(
    _ status: ImageJob, as line: String, at elapsed: Duration
  ) -> Bool {
    let state = State(status)
    if let last {
      let isChanged = state != last.state && line != last.line
      let interval = isChanged ? Self.interval : Self.unchangedInterval
      guard isChanged && status.hasEnded || elapsed - last.at >= interval else { return false }
    }
    last = (state, line, elapsed)
    return true
  }
}
