import ImgModel

// The order of URLs. Scheduler+Dispatch.swift decides who runs them. After every event the
// scheduler starts all that may start at that moment.
//
// A URL is *looked up* in the store as soon as a worker takes it: first the URLs of viewers, the
// newest first, then the jobs of the highest priority in turn, one line each. Workers answer in any
// order; the lines that are not in the store go on in the order of their list.
//
// A URL that is not in the store fails when its origin said a short while ago that it is missing
// (see `RememberedFailures`). Else it is *fetched* when there is a slot in the cluster for such a
// host (see `TransferQueue`), a slot at the host and a token of the host's, the host has no cooldown
// (see `HostHealth`; an explicit command sends one probe nevertheless), and a worker takes it. A URL
// whose original is in the store needs only the worker, which *decodes* that. Among those that could
// start, the most urgent one does: see `Urgency`.

/// How urgent a URL is among all that wait; the least is next.
///
/// Viewers go before jobs; among viewers, by priority and then the newest first; among jobs, by priority
/// and then by start tag.
/// Of all that wait for one URL, the most urgent counts.
package struct Urgency: Hashable, Comparable {
  /// The newest viewer's number; 0 when only jobs wait.
  package let viewer: UInt64
  /// The request's priority; below all of them where no request waits.
  let priority: Int
  /// The line's start tag among the jobs of its priority, by start-time fair queueing (Goyal, Vin
  /// and Cheng 1996). The tags of a job's lines count up. The first line of a job that comes later
  /// gets the tag after the highest one served. So jobs share in turn however long their lists are,
  /// each in the order of its list, and a job that was idle for a while has saved nothing up.
  let startTag: UInt64
  /// The order in which URLs were taken up.
  let sequence: UInt64

  package init(of waiter: Waiter, item: WorkID) {
    viewer = waiter.viewer?.rawValue ?? 0
    priority = waiter.priority
    startTag = waiter.startTag
    sequence = item.rawValue
  }

  /// Of a line that waits for a slot behind others.
  init(priority: Int, startTag: UInt64, item: WorkID) {
    viewer = 0
    self.priority = priority
    self.startTag = startTag
    sequence = item.rawValue
  }

  private var isOfViewer: Bool { viewer > 0 }

  package static func < (left: Self, right: Self) -> Bool {
    if left.isOfViewer != right.isOfViewer { return left.isOfViewer }
    if left.priority != right.priority { return left.priority > right.priority }
    if left.viewer != right.viewer { return left.viewer > right.viewer }
    if left.startTag != right.startTag { return left.startTag < right.startTag }
    return left.sequence < right.sequence
  }
}

// MARK: - Transfers and decodes

extension Scheduler {
  /// What a worker is given next.
  enum Assignable {
    case transfer(WorkItem)
    case decode(WorkItem)

    var item: WorkItem {
      switch self {
      case .transfer(let item), .decode(let item): item
      }
    }
  }

  /// Takes the next fetch or decode; `nil` when nothing may start now.
  mutating func nextAssignable() -> Assignable? {
    reviewSources()
    releaseHeldLines()
    if let urgency = work.nextDecodeUrgency,
      fetches.queue.mostUrgent.map({ urgency < $0 }) ?? true
    {
      return work.takeDecode().map(Assignable.decode)
    }
    return nextTransfer().map(Assignable.transfer)
  }

  /// Whether what ``nextAssignable()`` returns, if anything can begin, is an item of a viewer.
  var isNextForViewer: Bool {
    [work.nextDecodeUrgency, fetches.queue.mostUrgent].contains { ($0?.viewer ?? 0) > 0 }
  }

  /// Lets lines that wait behind others compete for a slot, as long as they are more urgent than
  /// all that could begin. Later ones wait: what is taken up meanwhile may come before them.
  private mutating func releaseHeldLines() {
    while fetches.queue.hasSlot, let (id, urgency) = nextHeldLine(),
      fetches.queue.mostUrgent.map({ urgency < $0 }) ?? true
    {
      if fetches.isJoinable(work.item(id)) {
        // Its transfer begins in this event. The item joins it when that is on its way to a worker.
        assignStartTags(id)
        _ = wait(id, in: .awaitingTransfer)
      } else {
        routeMiss(id)
        reviewSources()
      }
    }
  }

  /// The item of the most urgent line among those that wait behind others and may begin; `nil` when
  /// none may.
  package func nextHeldLine() -> (item: WorkID, urgency: Urgency)? {
    var next: (item: WorkID, urgency: Urgency)?
    for job in jobs.withHeldLines.keys {
      guard let item = jobs.nextHeldItem(of: job),
        let arrivalTag = work.arrivalTag(ofLineOf: job, at: item),
        let urgency = jobs.urgency(ofLineOf: job, arrivalTag: arrivalTag, at: item)
      else { continue }
      if next.map({ urgency < $0.urgency }) ?? true { next = (item, urgency) }
    }
    return next
  }

  /// Takes the item whose URL is fetched next, and the slots; `nil` when nothing may start
  /// now. The other items of its URL are attached to its transfer.
  private mutating func nextTransfer() -> WorkItem? {
    guard let source = fetches.queue.next(at: now.instant).flatMap({ fetches.sources[$0] }) else {
      return nil
    }
    let next = waitingItems(of: source).min { $0.urgency < $1.urgency }
    if let next, next.key.request.fetch.respectsRobots {
      fetches.queue.beginRobotsProbe(
        of: next.url.origin, by: source.id, host: next.host, at: now.instant)
    }
    return next
  }

  /// An item's transfer begins, or it needs none: its start tag is served.
  mutating func serve(_ urgency: Urgency) {
    guard urgency.viewer == 0, RequestOptions.priorityRange.contains(urgency.priority) else {
      return
    }
    jobs.serve(urgency.startTag, at: urgency.priority)
  }
}

extension TransferQueue {
  /// How urgent the next URL is; `nil` when none may start.
  fileprivate var mostUrgent: Urgency? { nextHost?.urgency }

  /// Takes the most urgent URL of all hosts that have a slot and a token.
  fileprivate mutating func next(at now: Instant) -> SourceID? {
    nextHost.flatMap { start($0.id, at: now) }
  }

  /// Takes the most urgent transfer that was redirected to a host which has a slot and a token. What
  /// has begun goes before all that has not.
  mutating func nextRedirected(at now: Instant) -> TransferID? {
    mostUrgent(of: index.redirects).flatMap { startRedirected($0.id, at: now) }
  }

  private var nextHost: (id: HostID, urgency: Urgency)? { mostUrgent(of: index.startable) }

  /// Of the hosts for which a slot is free, the most urgent one. Where none is, that of the viewers for whom
  /// slow transfers make room: first of those whose hosts are not slow themselves.
  private func mostUrgent(of queues: HostIndex.Queues) -> (id: HostID, urgency: Urgency)? {
    func makesRoom(_ pace: HostPace, _ host: HostID, _ urgency: Urgency) -> Bool {
      urgency.viewer > 0 && canMakeRoom(for: host, pace)
    }
    return mostUrgent(of: queues, HostPace.allCases) { pace, _, urgency in
      hasSlot(for: pace, urgency)
    }
      ?? mostUrgent(of: queues, [.responsive, .unproven], where: makesRoom)
      ?? mostUrgent(of: queues, [.slow], where: makesRoom)
  }

  /// The most urgent of the first hosts of these paces that fit.
  private func mostUrgent(
    of queues: HostIndex.Queues, _ paces: [HostPace],
    where isFit: (HostPace, HostID, Urgency) -> Bool
  ) -> (id: HostID, urgency: Urgency)? {
    var found: (id: HostID, urgency: Urgency)?
    for pace in paces {
      guard let (host, urgency) = queues.first(pace), isFit(pace, host, urgency) else { continue }
      if found.map({ urgency < $0.urgency }) ?? true { found = (host, urgency) }
    }
    return found
  }

  /// What a host may do at a moment.
  enum Standing {
    /// Start its most urgent URL as soon as the cluster has a slot.
    case startable(Urgency)
    /// Nothing before a token comes and its cooldown is over; or, for a host without work, before its
    /// bucket is full and its health of no interest: forgotten any earlier, it would have all its
    /// tokens again at once, and a closed circuit breaker.
    case coolingDown(until: Instant)
    /// Be forgotten then, or earlier when there are many such hosts: it has no work, and only its
    /// failures in a row are of interest.
    case remembered(until: Instant)
    /// Nothing before one of its transfers ends.
    case full
    /// Be forgotten.
    case idle
  }

  func standing(of host: Host, at now: Instant) -> Standing {
    guard host.urlCount > 0 else {
      if host.underWay > 0 || host.redirectingCount > 0 { return .full }
      let fullAt = rate == nil ? nil : host.bucket.fullAt
      let memories = [fullAt, host.health.forgettableAt, host.pausesEnd(at: now)].compactMap(\.self)
      if let until = memories.max(), until > now { return .coolingDown(until: until) }
      guard let until = host.health.failuresForgottenAt, until > now else { return .idle }
      return .remembered(until: until)
    }
    if host.robotsProbe != nil { return .full }
    let isOneAtATime = host.health.isTripped && !host.health.isProbeWanted
    let limit = isOneAtATime ? 1 : limitPerHost
    let redirectingCount = host.hasRedirected(at: now) ? 0 : host.redirectingCount
    if host.underWay + redirectingCount >= limit { return .full }
    let moments = [rate.flatMap(host.bucket.nextToken), host.health.nextAttempt]
    if let until = moments.compactMap(\.self).max(), until > now {
      return .coolingDown(until: until)
    }
    if let mostUrgent = host.mostUrgent(at: now) { return .startable(mostUrgent) }
    return host.nextPauseEnd(at: now).map { .coolingDown(until: $0) } ?? .full
  }
}

// MARK: - Look-ups

extension Scheduler {
  /// Takes the item to look up next.
  mutating func nextLookup() -> WorkID? {
    if let id = work.takeLookup() { return id }
    while let (job, line) = nextLine() {
      if let id = takeUp(line, of: job) { return id }
    }
    return nil
  }

  /// Takes a line off its list, the jobs of the highest priority in turn, one line each, so that a
  /// job of ten URLs is not behind a job of ten million.
  private mutating func nextLine() -> (JobID, QueuedLine)? {
    for level in jobs.levels {
      while let job = jobs.takeTurn(atLevel: level) {
        let line = jobs.takeLine(of: job)
        readOn(job)
        guard let line else { continue }
        jobs.enqueue(job)
        return (job, line)
      }
    }
    return nil
  }
}

extension ActiveJob {
  /// The start tag of the job's next line that goes on from its look-up.
  ///
  /// - Parameter arrivalTag: see ``Waiter/arrivalTag``.
  func nextStartTag(after arrivalTag: UInt64) -> UInt64 { max(arrivalTag, lastStartTag) + 1 }

  /// Takes the job's next line: of a saturated host when that has room, as those are the older
  /// lines, else the next one whose host has room. Lines whose hosts have none are deferred.
  ///
  /// - Parameter share: lines that the job may have in hand.
  mutating func takeNextLine(share: Int) -> QueuedLine? {
    guard isStartable, inHand.count < share else { return nil }
    if let host = deferred.nextHost { return removeFirst(ofDeferred: host) }
    while let line = cursor.lines.first {
      // What is no URL has no host, and fails when it is taken up.
      guard let host = line.host, deferred.contains(host) || !hasRoom(for: host) else {
        return removeFirst()
      }
      guard deferred.rangeCount < Self.deferredPerLineInHand * share else { return nil }
      deferLine(line.position, of: host)
      _ = removeFirst()
    }
    return nil
  }

  /// Positions to remember for each line that the job may have in hand: what a list of many slow
  /// hosts may cost in memory.
  private static let deferredPerLineInHand = 16

  /// Whether one more line of the host may be taken up, see ``HostBacklog``.
  package func hasRoom(for host: String) -> Bool { backlogs[host].map { !$0.isFull } ?? true }
}
