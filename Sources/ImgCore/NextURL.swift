import ImgModel

// How the next URL is chosen, whole. After every event the scheduler starts all that may start at
// that moment, so a choice is never older than the moment it is made in.
//
// A URL is *looked up* in the store as soon as a worker takes it: first what somebody waits for in
// person, the newest first, then the jobs of the highest priority in turn, one line each. Workers
// answer in any order; the lines that are not in the store go on in the order of their list.
//
// A URL that is not in the store has failed when its origin said a short while ago that it is not
// there (see `RememberedFailures`). Else it is *fetched* when there is a place in the cluster for
// such a host (see `TransferQueue`), a place at the host and a token of the host's, the host is not
// left alone for a while (see `HostHealth`; an explicit command sends one probe nevertheless), and
// a worker takes it. One whose original is in the store needs only the worker,
// which *decodes* that. Among those that could start, the most urgent one does: see `Urgency`.

/// How urgent a URL is among all that wait; the least is next.
///
/// Somebody who waits goes before nobody who waits; among those who wait, the newest first; among
/// jobs, by priority and then by turn. Of all who wait for one URL, the strongest counts.
struct Urgency: Hashable, Comparable {
  /// The newest viewer's number; 0 when only jobs wait.
  let viewer: UInt64
  /// The job's priority; below all of them where nobody waits at all.
  let priority: Int
  /// When the line's turn comes among the jobs of its priority, by start-time fair queueing (Goyal,
  /// Vin and Cheng 1996): a job's lines have turns one after the other, and the first turn of a job
  /// that comes later is the one served now. So jobs share in turn however long their lists are,
  /// each in the order of its list, and who had nothing to do for a while has saved nothing up.
  let turn: UInt64
  /// The order in which URLs were taken up.
  let sequence: UInt64

  init(of waiter: Waiter, item: WorkID) {
    viewer = waiter.viewer?.rawValue ?? 0
    priority = waiter.priority
    turn = waiter.turn
    sequence = item.rawValue
  }

  /// Of a line that waits for a slot behind others.
  init(priority: Int, turn: UInt64, item: WorkID) {
    viewer = 0
    self.priority = priority
    self.turn = turn
    sequence = item.rawValue
  }

  static func < (left: Self, right: Self) -> Bool {
    if left.viewer != right.viewer { return left.viewer > right.viewer }
    if left.priority != right.priority { return left.priority > right.priority }
    if left.turn != right.turn { return left.turn < right.turn }
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

  /// Takes what is to be fetched or decoded next; `nil` when nothing may start now.
  mutating func nextAssignable() -> Assignable? {
    releaseMisses()
    if let (id, urgency) = originals.first,
      transferQueue.mostUrgent.map({ urgency < $0 }) ?? true
    {
      originals.remove(id)
      return items[id].map(Assignable.decode)
    }
    return nextTransfer().map(Assignable.transfer)
  }

  /// Lets lines that wait behind others compete for a slot, as long as their turns come before those
  /// of all that could begin. Later ones wait: what is taken up meanwhile may come before them.
  private mutating func releaseMisses() {
    while transferQueue.hasPlace, let (item, urgency) = nextMiss(),
      transferQueue.mostUrgent.map({ urgency < $0 }) ?? true
    {
      if isJoinable(item) {
        // Its transfer begins in this event. The item joins it when that is on its way to a worker.
        var joining = item
        giveTurns(&joining)
        _ = park(&joining, in: .awaitingTransfer)
      } else {
        awaitTransfer(item)
        reviewSources()
      }
    }
  }

  /// Takes the item whose URL is to be fetched next, and the places; `nil` when nothing may start
  /// now. The other items of its URL ride on its transfer.
  private mutating func nextTransfer() -> WorkItem? {
    guard let source = transferQueue.next(at: now.instant).flatMap({ sources[$0] }) else {
      return nil
    }
    let next = waitingItems(of: source).min { $0.urgency < $1.urgency }
    if let next, next.key.request.fetch.respectsRobots {
      transferQueue.scout(next.url.origin, for: source.id, host: next.host, at: now.instant)
    }
    return next
  }

  /// The turn of the next line of a job that goes on from its look-up.
  func nextTurn(of waiter: Waiter, in job: ActiveJob) -> UInt64 {
    max(waiter.arrivalTurn, job.lastTurn) + 1
  }

  /// The look-up of an item is over: its lines get their turns, if they have none. Lines beside a
  /// viewer need none: they begin with it.
  mutating func giveTurns(_ item: inout WorkItem) {
    guard item.isOfLines else { return }
    item.changeWaiters { giveTurn(&$0) }
  }

  mutating func giveTurn(_ waiter: inout Waiter) {
    guard waiter.turn == 0, let id = waiter.job, let job = jobs[id] else { return }
    waiter.turn = nextTurn(of: waiter, in: job)
    jobs[id]?.lastTurn = waiter.turn
  }

  /// A line goes back to its list: its turn is the next one's.
  mutating func giveBack(_ turn: UInt64, of job: JobID) {
    guard turn > 0, let lastTurn = jobs[job]?.lastTurn else { return }
    jobs[job]?.lastTurn = min(lastTurn, turn - 1)
  }

  /// An item's transfer begins, or it needs none: its turn is the one served now.
  mutating func serve(_ urgency: Urgency) {
    guard urgency.viewer == 0, RequestOptions.priorityRange.contains(urgency.priority) else {
      return
    }
    turnsServed[urgency.priority] = max(turnsServed[urgency.priority] ?? 0, urgency.turn)
  }
}

extension TransferQueue {
  /// How urgent the next URL is; `nil` when none may start.
  fileprivate var mostUrgent: Urgency? { nextHost?.urgency }

  /// Takes the most urgent URL of all hosts that have a place and a token.
  fileprivate mutating func next(at now: ContinuousClock.Instant) -> SourceID? {
    nextHost.flatMap { start($0.name, at: now) }
  }

  /// Takes the most urgent transfer that was redirected to a host which has a slot and a token. What
  /// has begun goes before all that has not.
  mutating func nextRedirected(at now: ContinuousClock.Instant) -> LeaseID? {
    mostUrgent(of: promptRedirects, otherRedirects).flatMap { startRedirected($0.name, at: now) }
  }

  private var nextHost: (name: String, urgency: Urgency)? {
    mostUrgent(of: promptStartable, otherStartable)
  }

  private func mostUrgent(
    of promptHosts: PriorityQueue<String, Urgency>, _ otherHosts: PriorityQueue<String, Urgency>
  ) -> (name: String, urgency: Urgency)? {
    let prompt = hasPlace ? promptHosts.first : nil
    let other = otherHosts.first.flatMap { hasPlaceForOther($0.priority) ? $0 : nil }
    return [prompt, other].compactMap(\.self).min { $0.priority < $1.priority }
      .map { ($0.key, $0.priority) }
  }

  /// What a host may do at a moment.
  enum Standing {
    /// Start its most urgent URL as soon as the cluster has a place.
    case startable(Urgency)
    /// Nothing before a token comes and its rest is over; or, for a host without work, before its
    /// bucket is full and its health of no interest: forgotten any earlier, it would have all its
    /// tokens again at once, and be thought well.
    case resting(until: ContinuousClock.Instant)
    /// Be forgotten then, or earlier when there are many such hosts: it has no work, and only its
    /// failures in a row are of interest.
    case remembered(until: ContinuousClock.Instant)
    /// Nothing before one of its transfers ends.
    case full
    /// Be forgotten.
    case idle
  }

  func standing(of host: Host, at now: ContinuousClock.Instant) -> Standing {
    let urgencies = [host.waiting.first?.priority, host.redirected.first?.priority]
    guard let mostUrgent = urgencies.compactMap(\.self).min() else {
      if host.underWay > 0 || host.redirectingCount > 0 { return .full }
      let fullAt = rate == nil ? nil : host.bucket.fullAt
      let memories = [fullAt, host.health.forgettableAt].compactMap(\.self)
      if let until = memories.max(), until > now { return .resting(until: until) }
      guard let until = host.health.failuresForgottenAt, until > now else { return .idle }
      return .remembered(until: until)
    }
    if host.scout != nil { return .full }
    let isOneAtATime = host.health.isOnProbation && !host.health.isProbeWanted
    let limit = isOneAtATime ? 1 : limitPerHost
    let redirectingCount = host.redirected.isEmpty ? host.redirectingCount : 0
    if host.underWay + redirectingCount >= limit { return .full }
    let moments = [rate.flatMap(host.bucket.nextToken), host.health.nextAttempt]
    guard let until = moments.compactMap(\.self).max(), until > now else {
      return .startable(mostUrgent)
    }
    return .resting(until: until)
  }
}

// MARK: - Look-ups

extension Scheduler {
  /// Takes the item to look up next.
  mutating func nextLookup() -> WorkID? {
    if let id = urgentLookups.removeFirst() { return id }
    while let (job, line) = nextLine() {
      if let id = takeUp(line, of: job) { return id }
    }
    return nil
  }

  /// Takes a line off its list, the jobs of the highest priority in turn, one line each, so that a
  /// job of ten URLs is not behind a job of ten million.
  private mutating func nextLine() -> (JobID, QueuedLine)? {
    for level in turns.levelIndices {
      while let job = turns.removeFirst(atLevel: level) {
        let line = jobs[job]?.nextLine(share: linesInHandPerJob)
        readOn(job)
        guard let line else { continue }
        giveTurn(to: job)
        return (job, line)
      }
    }
    return nil
  }

  /// Something has changed by which the job may have a line to take: more was read, a line has got
  /// its outcome, a host has room, the job goes on.
  mutating func giveTurn(to id: JobID) {
    if let job = jobs[id] { turns.append(id, priority: job.priority) }
  }
}

extension ActiveJob {
  /// Takes the job's next line: of a host that lags when there is room for it, as those are the
  /// older lines, else the next one whose host has room. What has none is passed over.
  ///
  /// - Parameter share: lines that the job may have in hand.
  fileprivate mutating func nextLine(share: Int) -> QueuedLine? {
    guard isStartable, inHand.count < share else { return nil }
    if let host = takeable.first?.key { return removeFirst(ofLagging: host) }
    while let line = cursor.window.first {
      // What is no URL has no host, and fails when it is taken up.
      guard let host = line.host, isLagging(host) || !hasRoom(for: host) else {
        return removeFirst()
      }
      guard passedOverCount < Self.passedOverPerLineInHand * share else { return nil }
      passOver(line.position, of: host)
      _ = removeFirst()
    }
    return nil
  }

  /// Positions to remember for each line that the job may have in hand: what a list of many slow
  /// hosts may cost in memory.
  private static let passedOverPerLineInHand = 16

  /// Whether one more line of the host may be taken up: as many as there are look-ups while none
  /// had to wait for a transfer, since then they may all be in the store; few ahead once one has.
  func hasRoom(for host: String) -> Bool {
    guard let backlog = backlogs[host], backlog.waiting > 0 else { return true }
    return backlog.lookingUp + backlog.waiting < backlogMaximum
  }
}
