import ImgModel

/// A job that has not ended. Its list stays in the journal; only what is at hand is in memory.
///
/// A cursor goes through the list once. A line whose host has enough lines waiting already is
/// passed over, so that a slow host holds nothing behind it up; its position is remembered, and the
/// line is read again when there is room for it.
///
/// Invariant: a line without an outcome is in hand, or passed over, or in front of the cursor.
struct ActiveJob {
  /// Lines of one host that are in hand and not being fetched.
  struct Backlog: Equatable {
    var lookingUp = 0
    /// For a transfer or a decoder.
    var waiting = 0

    static func += (backlog: inout Self, change: Self) {
      backlog.lookingUp += change.lookingUp
      backlog.waiting += change.waiting
    }
  }

  var record: JobRecord
  private(set) var cursor: LineCursor
  /// Hosts of which lines were passed over.
  private(set) var lagging: [String: LaggingHost] = [:]
  /// The lagging hosts of which a line could be taken up now, by its position.
  private(set) var takeable = PriorityQueue<String, Int>()
  /// The lagging hosts that have room and of which no line is read, by the position of the first.
  private var wanting = PriorityQueue<String, Int>()
  /// The request for lines of a lagging host whose page is awaited; `nil` when none is.
  private var laggingTicket: UInt64?
  /// Ranges of positions passed over, of all hosts.
  private(set) var passedOverCount = 0
  /// Indices of lines that wait at a work item, run, or whose outcome is on its way into the
  /// journal.
  private(set) var inHand: Set<Int> = []
  private(set) var backlogs: [String: Backlog] = [:]
  /// Lines that one host may have waiting once it has any.
  private(set) var backlogMaximum: Int
  /// Lines with a worker.
  var leasedCount = 0
  /// Lines whose outcome is on its way into the journal.
  var unrecordedCount = 0
  /// The last of the turns that its lines have been given, see ``Urgency/turn``.
  var lastTurn: UInt64 = 0
  /// Which of its lines are looked up, and which wait for these.
  private(set) var lookups = LookupOrder()
  /// The last of the remembered failures that do not count for its lines, because all that had
  /// failed is to be tried again.
  var lastDoubtedFailure: UInt64 = 0
  /// The retry by which it goes on; `nil` of a job that was never retried.
  var command: CommandID?
  /// When it last had an outcome, or began to run.
  var movedAt: ContinuousClock.Instant
  /// Whether its delay is not over.
  var isDelayed = false
  /// Whether it is paused, or is to be when that is durable, or is resumed and that is not durable yet.
  var isPaused: Bool
  /// Whether the journal was told of the end, by a finish or a cancel: nothing of the job starts
  /// any more.
  var isEnding = false

  init(_ record: JobRecord, backlogMaximum: Int, at now: ContinuousClock.Instant) {
    self.record = record
    movedAt = now
    self.backlogMaximum = backlogMaximum
    isPaused = record.state == .paused
    cursor = LineCursor(at: Self.start(of: record))
  }

  /// The low-water mark counts from the list's beginning, so it is of no use to who reads backwards.
  private static func start(of record: JobRecord) -> Int {
    record.order == .firstInFirstOut ? record.lowWater : 0
  }

  var id: JobID { record.id }
  var priority: Int { record.options.priority }
  /// Lines that have left the queue and whose outcome is not durable.
  var runningCount: Int { leasedCount + unrecordedCount }
  var isStartable: Bool { !isPaused && !isDelayed && !isEnding }

  private func position(of index: Int) -> Int {
    record.order.line(at: index, of: record.counts.total)
  }

  // MARK: - Lines in hand

  mutating func takeInHand(_ index: Int) {
    inHand.insert(index)
  }

  /// The outcome is durable.
  mutating func letGo(_ index: Int) {
    inHand.remove(index)
  }

  /// A line that is still being looked up holds later ones up no more.
  mutating func endLookup(of index: Int) { lookups.end(position(of: index)) }

  /// Counts a line in or out of those that are looked up, and of those that wait behind others.
  ///
  /// - Parameter item: where the line waits.
  mutating func changeLookups(of index: Int, at item: WorkID, unanswered: Int, missed: Int) {
    let position = position(of: index)
    if unanswered > 0 { lookups.begin(position) }
    if unanswered < 0 { lookups.end(position) }
    if missed > 0 { lookups.wait(position, at: item) }
    if missed < 0 { lookups.leave(position) }
  }

  /// Counts lines of a host in or out of its backlog.
  mutating func changeBacklog(of host: String, by change: Backlog) {
    guard change != Backlog() else { return }
    backlogs[host, default: Backlog()] += change
    if backlogs[host] == Backlog() { backlogs[host] = nil }
    if !lagging.isEmpty { updateStanding(of: host) }
  }

  mutating func setBacklogMaximum(_ count: Int) {
    guard count != backlogMaximum else { return }
    backlogMaximum = count
    for host in lagging.keys.sorted() { updateStanding(of: host) }
  }

  /// A line in hand goes back to where it came from: it is taken up again when its turn comes.
  mutating func putBack(_ index: Int, host: String) {
    inHand.remove(index)
    let position = position(of: index)
    if position < cursor.front {
      passOver(position, of: host)
    } else if position < cursor.next {
      // It was left out of what was read, because it was in hand.
      cursor = LineCursor(at: cursor.front)
    }
  }

  /// Forgets what was read, and begins again at the list's beginning: of what is not in hand
  /// nothing is lost, because it has no outcome.
  mutating func startOver() {
    cursor = LineCursor(at: Self.start(of: record))
    lagging = [:]
    takeable = PriorityQueue()
    wanting = PriorityQueue()
    laggingTicket = nil
    passedOverCount = 0
  }

  // MARK: - Taking lines

  mutating func removeFirst() -> QueuedLine? { cursor.removeFirst() }

  mutating func removeFirst(ofLagging host: String) -> QueuedLine? {
    defer { updateStanding(of: host) }
    return lagging[host]?.window.removeFirst()
  }

  /// Leaves a line for later, because its host has no room.
  mutating func passOver(_ position: Int, of host: String) {
    changePassedOver(of: host) { $0.insert(position) }
    updateStanding(of: host)
  }

  func isLagging(_ host: String) -> Bool { lagging[host] != nil }

  /// Whether an earlier line of the host was passed over or went back.
  func isLagging(_ host: String, before index: Int) -> Bool {
    guard let host = lagging[host] else { return false }
    let first = [host.window.first?.position, host.passedOver.first].compactMap(\.self).min()
    return first.map { $0 < position(of: index) } ?? false
  }

  private mutating func changePassedOver(
    of host: String, _ change: (inout PositionList) -> Void
  ) {
    let countBefore = lagging[host]?.passedOver.rangeCount ?? 0
    change(&lagging[host, default: LaggingHost()].passedOver)
    passedOverCount += (lagging[host]?.passedOver.rangeCount ?? 0) - countBefore
  }

  /// Whether a line of the host could be taken or is to be read. One that has caught up lags no
  /// more.
  private mutating func updateStanding(of host: String) {
    takeable.remove(host)
    wanting.remove(host)
    guard let standing = lagging[host] else { return }
    if let line = standing.window.first {
      if hasRoom(for: host) { takeable.set(host, to: line.position) }
    } else if let first = standing.passedOver.first {
      if hasRoom(for: host) { wanting.set(host, to: first) }
    } else {
      lagging[host] = nil
    }
  }

  // MARK: - Reading

  /// What is to be read next: for the cursor when it runs low, and for the lagging host whose turn
  /// it is.
  ///
  /// - Parameters:
  ///   - lineCount: lines of a page.
  ///   - newTicket: names a request.
  mutating func nextPages(lineCount: Int, newTicket: () -> UInt64) -> [LinePageRequest] {
    guard !isPaused, !isEnding else { return [] }
    var requests: [LinePageRequest] = []
    if cursor.ticket == nil, cursor.next < record.counts.total,
      cursor.window.count < lineCount / 2
    {
      let ticket = newTicket()
      cursor.ticket = ticket
      requests.append(
        request(ticket, nil, [cursor.next..<record.counts.total], limit: lineCount))
    }
    if laggingTicket == nil, let host = wanting.first?.key,
      let positions = lagging[host]?.passedOver.prefix(backlogMaximum)
    {
      let ticket = newTicket()
      laggingTicket = ticket
      requests.append(request(ticket, host, positions, limit: backlogMaximum))
    }
    return requests
  }

  private func request(
    _ ticket: UInt64, _ host: String?, _ positions: [Range<Int>], limit: Int
  ) -> LinePageRequest {
    LinePageRequest(
      job: id, ticket: ticket, host: host, order: record.order, positions: positions,
      limit: limit)
  }

  func awaits(_ request: LinePageRequest) -> Bool {
    cursor.ticket == request.ticket || laggingTicket == request.ticket
  }

  /// Takes in a page that is still awaited.
  mutating func take(_ page: LinePage, for request: LinePageRequest) {
    if cursor.ticket == request.ticket {
      // Lines in hand are not taken up twice.
      let lines = page.lines.filter { !inHand.contains($0.index) }
      cursor.take(lines.map(queued), next: page.next)
    } else if laggingTicket == request.ticket, let host = request.host {
      laggingTicket = nil
      let lines = page.lines.map(queued)
      lagging[host]?.window.append(contentsOf: lines)
      changePassedOver(of: host) { passedOver in
        for range in request.positions where range.lowerBound < page.next {
          passedOver.remove(range.lowerBound..<min(range.upperBound, page.next))
        }
      }
      updateStanding(of: host)
    }
  }

  private func queued(_ line: JobLine) -> QueuedLine {
    QueuedLine(
      index: line.index, position: position(of: line.index),
      url: Result { () throws(Failure) in
        guard let text = line.text else { throw .damagedList }
        return try ImageURL(line: text)
      })
  }
}

extension Failure {
  /// Of a line that the journal has lost.
  static let damagedList = Failure(
    stage: .queue, code: .internal, isRetryable: false,
    detail: "the journal is damaged here: this line of the list is lost")

  /// Of a line whose job has lost the headers to ask with.
  static let lostHeaders = Failure(
    stage: .queue, code: .internal, isRetryable: false,
    detail: "the values of the job's headers are lost or damaged; submit the list again")
}
