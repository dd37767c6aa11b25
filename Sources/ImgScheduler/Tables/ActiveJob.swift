package import ImgModel

/// A job that has not ended. Its list stays in the journal; only what is at hand is in memory.
///
/// A cursor goes through the list once. It defers a line whose host is saturated, which is one that
/// has enough lines waiting already, so that a slow host does not block the lines behind it. The job
/// remembers the position and reads the line again when the host has room.
///
/// Invariant: a line without an outcome is in hand, deferred, or not yet read.
package struct ActiveJob {
  package private(set) var record: JobRecord
  /// What its lines ask for, by its record.
  private(set) var terms: LineTerms
  package private(set) var cursor: LineCursor
  package private(set) var deferred = DeferredLines()
  /// The request for deferred lines whose page is awaited; `nil` when none is.
  private var deferredTicket: UInt64?
  /// Indices of lines that wait at a work item, run, or whose outcome is on its way into the
  /// journal.
  package private(set) var inHand = NumberedSet<Int>()
  package private(set) var backlogs: [String: HostBacklog] = [:]
  /// Lines that one host may have waiting once it has any.
  private(set) var backlogMaximum: Int
  /// Lines that were fetched for the job and could not be pinned. A look-up may find them later.
  private var fetchedLines: Set<Int> = []
  /// Lines with a worker.
  private(set) var leasedCount = 0
  /// Lines whose outcome is on its way into the journal.
  private(set) var unrecordedCount = 0
  /// The bytes that were fetched for these.
  private(set) var unrecordedByteCount: Int64 = 0
  /// The last start tag that one of its lines was given, see ``Urgency/startTag``.
  var lastStartTag: UInt64 = 0
  /// The same of its lines whose attempts are repeated.
  var lastPostponedTag: UInt64 = 0
  /// Which of its lines are looked up, and which wait for these.
  package private(set) var lookups = LookupOrder()
  /// The last of the remembered failures that do not count for its lines, because a retry of the job
  /// includes final failures.
  let lastDoubtedFailure: UInt64
  /// The retry that it goes on by; `nil` of a job that was never retried.
  let command: CommandID?
  /// When it last had an outcome, or began to run.
  private(set) var movedAt: Instant
  /// Whether its delay is not over.
  private(set) var isDelayed: Bool
  /// Whether nothing of it starts. It is set before a pause is durable, and cleared once a resumption
  /// is.
  package private(set) var isPaused: Bool
  /// Whether nothing of it starts because pinned thumbnails use up the store.
  package private(set) var isHeld = false
  /// Whether the journal was told of the end, by a finish or a cancel: nothing of the job starts
  /// any more.
  package private(set) var isEnding = false

  /// - Parameters:
  ///   - command: of the retry that it goes on by.
  ///   - lastDoubtedFailure: the number of the newest remembered failure that does not count for it.
  ///   - isDelayed: whether its delay is to pass first.
  init(
    _ record: JobRecord, command: CommandID? = nil, lastDoubtedFailure: UInt64 = 0,
    isDelayed: Bool = false, backlogMaximum: Int, at now: Instant
  ) {
    self.record = record
    terms = LineTerms(record, command: command)
    self.command = command
    self.lastDoubtedFailure = lastDoubtedFailure
    self.isDelayed = isDelayed
    self.backlogMaximum = backlogMaximum
    movedAt = now
    isPaused = record.state == .paused
    cursor = LineCursor(at: Self.start(of: record))
  }

  /// The low-water mark counts from the list's beginning, so it says nothing about a list that is
  /// read backwards.
  private static func start(of record: JobRecord) -> Int {
    record.order == .firstInFirstOut ? record.lowWater : 0
  }

  package var id: JobID { record.id }
  var priority: Int { record.options.priority }
  /// Lines that have left the queue and whose outcome is not durable.
  var runningCount: Int { leasedCount + unrecordedCount }
  package var isStartable: Bool { !isStopped && !isDelayed && !isEnding }
  /// Whether lines that wait go back to the list.
  var isStopped: Bool { isPaused || isHeld }

  private func position(of index: Int) -> Int {
    record.order.line(at: index, of: record.counts.total)
  }

  // MARK: - States

  /// The job's delay is over.
  mutating func endDelay(at now: Instant) {
    isDelayed = false
    movedAt = now
  }

  /// Nothing of it starts any more, because its cancel is being made durable. What was read is forgotten.
  mutating func beginCancel() {
    isEnding = true
    startOver()
  }

  /// Nothing of it starts, because its pause is being made durable. What was read is forgotten.
  mutating func beginPause() {
    isPaused = true
    startOver()
  }

  /// Nothing of it starts, because the store has no room for what it pins. What was read is forgotten.
  mutating func beginHold() {
    isHeld = true
    startOver()
  }

  mutating func endHold(at now: Instant) {
    isHeld = false
    movedAt = now
  }

  /// A change that does not end the job is durable.
  mutating func apply(_ change: ImageJobChange, at moment: WallTime, now: Instant) {
    record.applyLegal(change, at: moment)
    terms = LineTerms(record, command: command)
    isPaused = record.state == .paused
    if change == .resume { movedAt = now }
  }

  /// A change cannot be made durable: what it has stopped goes on.
  mutating func withdraw(_ change: ImageJobChange) {
    if change == .cancel { isEnding = false }
    isPaused = record.state == .paused
  }

  /// A line was fetched, and goes back to the list because its thumbnail cannot be pinned.
  mutating func noteFetched(_ index: Int) { fetchedLines.insert(index) }

  /// The outcome of a line for the journal. What the job has fetched itself does not come from the store.
  mutating func counted(_ outcome: Outcome, of index: Int) -> Outcome {
    guard fetchedLines.remove(index) != nil,
      case .done(let thumbnail, fromCache: true, let byteCount) = outcome
    else { return outcome }
    return .done(thumbnail, fromCache: false, bytesFetched: byteCount)
  }

  /// A line has left the queue; the job's first one starts the job.
  ///
  /// - Returns: whether this is the first.
  mutating func start(at now: WallTime) -> Bool {
    guard record.startedAt == nil else { return false }
    record.startedAt = now
    return true
  }

  /// Ends the job when every line has its outcome.
  ///
  /// - Returns: whether to journal its end.
  mutating func finishIfComplete() -> Bool {
    guard !isEnding, record.counts.finished == record.counts.total else { return false }
    isEnding = true
    return true
  }

  // MARK: - Lines in hand

  mutating func checkOut(_ index: Int) {
    inHand.insert(index)
  }

  /// An outcome is sent to the journal.
  mutating func beginRecording(_ outcome: Outcome) {
    unrecordedCount += 1
    unrecordedByteCount += Int64(outcome.fetchedByteCount)
  }

  /// A line's outcome is durable.
  mutating func endRecording(of index: Int, _ outcome: Outcome, at now: Instant) {
    inHand.remove(index)
    unrecordedCount -= 1
    unrecordedByteCount -= Int64(outcome.fetchedByteCount)
    record.count(outcome)
    movedAt = now
  }

  /// A line that is still being looked up holds later ones up no more.
  mutating func endLookup(of index: Int) { lookups.end(position(of: index)) }

  /// Counts a line in or out of the job's numbers.
  ///
  /// - Parameter item: where the line waits.
  mutating func count(_ index: Int, at item: WorkID, host: String, by change: StageNumbers) {
    leasedCount += change.leased
    changeBacklog(of: host, by: change.backlog)
    let position = position(of: index)
    if change.unanswered > 0 { lookups.begin(position) }
    if change.unanswered < 0 { lookups.end(position) }
    if change.behindEarlierLines > 0 { lookups.wait(position, at: item) }
    if change.behindEarlierLines < 0 { lookups.leave(position) }
  }

  /// Counts lines of a host in or out of its backlog.
  private mutating func changeBacklog(of host: String, by change: HostBacklog) {
    guard change != HostBacklog() else { return }
    let (wasFull, isFull, isEmpty) = Self.count(
      change, in: &backlogs[host, default: HostBacklog()], missWindow: backlogMaximum)
    // What is known of a saturated host counts for its deferred lines.
    if isEmpty, !deferred.contains(host) { backlogs[host] = nil }
    if wasFull != isFull, !deferred.isEmpty { deferred.update(host, hasRoom: !isFull) }
  }

  private static func count(
    _ change: HostBacklog, in backlog: inout HostBacklog, missWindow: Int
  ) -> (wasFull: Bool, isFull: Bool, isEmpty: Bool) {
    let wasFull = backlog.isFull
    backlog.count(change, missWindow: missWindow)
    return (wasFull, backlog.isFull, backlog.isEmpty)
  }

  mutating func setBacklogMaximum(_ count: Int) {
    guard count != backlogMaximum else { return }
    backlogMaximum = count
    for host in backlogs.keys { backlogs[host]?.limit(to: count) }
    for host in deferred.hosts.keys.sorted() {
      deferred.update(host, hasRoom: hasRoom(for: host))
    }
  }

  /// A line in hand goes back to its list. It is taken up again later.
  mutating func requeue(_ index: Int, host: String) {
    inHand.remove(index)
    let position = position(of: index)
    if position < cursor.front {
      deferLine(position, of: host)
    } else if position < cursor.next {
      // It was left out of what was read, because it was in hand.
      cursor = LineCursor(at: cursor.front)
    }
  }

  /// Forgets what was read, and starts again at the list's beginning. No line is lost: a line that is
  /// not in hand has no outcome, so it is read again.
  private mutating func startOver() {
    cursor = LineCursor(at: Self.start(of: record))
    deferred = DeferredLines()
    deferredTicket = nil
    backlogs = backlogs.filter { !$0.value.isEmpty }
  }

  // MARK: - Taking lines

  /// Positions to remember for each line that the job may have in hand: what a list of many slow
  /// hosts may cost in memory.
  private static let deferredPerLineInHand = 16

  /// Takes the job's next line: of a saturated host when that has room, as those are the older
  /// lines, else the next one whose host has room. Lines whose hosts have none are deferred.
  ///
  /// - Parameter share: lines that the job may have in hand.
  mutating func takeNextLine(share: Int) -> QueuedLine? {
    guard isStartable, inHand.count < share else { return nil }
    if let host = deferred.nextHost {
      defer { forgetBacklogIfUnneeded(of: host) }
      return deferred.removeFirst(of: host, hasRoom: hasRoom(for: host))
    }
    while let line = cursor.lines.first {
      // What is no URL has no host, and fails when it is taken up.
      guard let host = line.host, deferred.contains(host) || !hasRoom(for: host) else {
        return cursor.removeFirst()
      }
      guard deferred.rangeCount < Self.deferredPerLineInHand * share else { return nil }
      deferLine(line.position, of: host)
      _ = cursor.removeFirst()
    }
    return nil
  }

  /// Whether one more line of the host may be taken up, see ``HostBacklog``.
  package func hasRoom(for host: String) -> Bool { backlogs[host].map { !$0.isFull } ?? true }

  /// The start tag of the job's next line that goes on from its look-up.
  ///
  /// - Parameter arrivalTag: see ``Waiter/arrivalTag``.
  func nextStartTag(after arrivalTag: UInt64) -> UInt64 { max(arrivalTag, lastStartTag) + 1 }

  /// The start tag of a line that goes behind all that are in hand.
  mutating func postponedStartTag(after arrivalTag: UInt64) -> UInt64 {
    let tag = nextStartTag(after: arrivalTag) + UInt64(inHand.count)
    lastPostponedTag = max(tag, lastPostponedTag + 1)
    return lastPostponedTag
  }

  /// A line of a host whose attempt is repeated does not keep others from being taken up.
  mutating func makeRoomForRepeated(at host: String) {
    backlogs[host]?.repeatedCount += 1
  }

  /// The last deferred line of the host may be gone.
  private mutating func forgetBacklogIfUnneeded(of host: String) {
    if !deferred.contains(host), backlogs[host]?.isEmpty == true { backlogs[host] = nil }
  }

  /// Leaves a line for later, because its host has no room.
  private mutating func deferLine(_ position: Int, of host: String) {
    deferred.insert(position, of: host, hasRoom: hasRoom(for: host))
  }

  /// Whether an earlier line of the host was deferred or went back.
  func isSaturated(_ host: String, before index: Int) -> Bool {
    deferred.contains(host, before: position(of: index))
  }

  // MARK: - Reading

  /// Deferred lines of one host that are read at once, unless so many of all hosts are read already
  /// that the lists of many slow hosts would need much memory.
  private static let readAheadCount = 256
  private static let readAheadMaximum = 2_048

  /// What to read next: for the cursor when it runs low, and for the saturated host whose turn
  /// it is.
  ///
  /// - Parameters:
  ///   - lineCount: lines of a page.
  ///   - newTicket: names a request.
  mutating func nextPages(lineCount: Int, newTicket: () -> UInt64) -> [LinePageRequest] {
    guard !isStopped, !isEnding else { return [] }
    var requests: [LinePageRequest] = []
    if cursor.ticket == nil, cursor.next < record.counts.total,
      cursor.lines.count < lineCount / 2
    {
      let ticket = newTicket()
      cursor.ticket = ticket
      requests.append(
        request(ticket, nil, [cursor.next..<record.counts.total], limit: lineCount))
    }
    let limit = deferred.readCount < Self.readAheadMaximum ? Self.readAheadCount : 0
    if deferredTicket == nil,
      case let count = max(backlogMaximum, limit),
      let (host, positions) = deferred.nextToRead(limit: count)
    {
      let ticket = newTicket()
      deferredTicket = ticket
      requests.append(request(ticket, host, positions, limit: count))
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
    cursor.ticket == request.ticket || deferredTicket == request.ticket
  }

  /// Takes in a page that is still awaited.
  mutating func take(_ page: LinePage, for request: LinePageRequest) {
    if cursor.ticket == request.ticket {
      // Lines in hand are not taken up twice.
      let lines = page.lines.compactMap { inHand.contains($0.index) ? nil : queued($0) }
      cursor.take(lines, next: page.next)
    } else if deferredTicket == request.ticket, let host = request.host {
      deferredTicket = nil
      let ranges = request.positions.filter { $0.lowerBound < page.next }
      deferred.take(
        page.lines.map(queued), of: host,
        in: ranges.map { $0.lowerBound..<min($0.upperBound, page.next) },
        hasRoom: hasRoom(for: host))
      forgetBacklogIfUnneeded(of: host)
    }
  }

  private func queued(_ line: JobLine) -> QueuedLine {
    QueuedLine(
      index: line.index, position: position(of: line.index),
      url: Result { () throws(Failure) in
        guard let text = line.text else { throw .damagedList }
        let url = try ImageURL(listed: text)
        guard !url.isReadByCommand || record.namesFiles else { throw .foreignFile }
        return url
      })
  }

  // MARK: - Files that commands read

  private var fileBacklog: HostBacklog { backlogs[ImageURL.commandFileHost] ?? HostBacklog() }

  /// Whether none of its lines waits for a file, or will.
  var needsNoFile: Bool {
    !record.namesFiles || record.counts.localFiles == 0 || isEnding
      || cursor.ticket == nil && cursor.lines.isEmpty && cursor.next >= record.counts.total
        && !deferred.contains(ImageURL.commandFileHost) && fileBacklog.isEmpty
  }

  /// Whether lines of it wait for files, and none for anything else.
  var waitsForFilesAlone: Bool {
    let waiting = fileBacklog.waiting
    return record.namesFiles && waiting > 0 && waiting == inHand.count && leasedCount == 0
      && unrecordedCount == 0 && cursor.ticket == nil && deferredTicket == nil
  }

  var waitsForFiles: Bool { fileBacklog.waiting > 0 }
}

/// Which of a job's numbers a line at a stage counts in.
struct StageNumbers: Equatable {
  var leased = 0
  var backlog = HostBacklog()
  /// Lines that the store has not answered.
  var unanswered = 0
  /// Lines that the store does not have, and that wait behind earlier ones.
  var behindEarlierLines = 0

  init() {}

  init(_ stage: WorkItem.Stage) {
    leased = stage.lease == nil ? 0 : 1
    switch stage {
    case .awaitingLookup, .lookingUp:
      backlog.beforeTransfer = 1
      unanswered = 1
    case .behindEarlierLines:
      backlog.beforeTransfer = 1
      behindEarlierLines = 1
    case .awaitingTransfer, .awaitingFile, .awaitingDecode: backlog.waiting = 1
    case .transferring, .decoding: break
    }
  }

  static func * (numbers: Self, factor: Int) -> Self {
    var product = numbers
    product.leased *= factor
    product.backlog.beforeTransfer *= factor
    product.backlog.waiting *= factor
    product.unanswered *= factor
    product.behindEarlierLines *= factor
    return product
  }

  static func + (left: Self, right: Self) -> Self {
    var sum = left
    sum.leased += right.leased
    sum.backlog += right.backlog
    sum.unanswered += right.unanswered
    sum.behindEarlierLines += right.behindEarlierLines
    return sum
  }
}
