import ImgModel
import ImgScheduler

/// What must hold after every event, whatever happened.
extension ClusterModel {
  func checkInvariants(after event: Event) {
    let held = heldLines
    for job in scheduler.jobs.all { checkLines(of: job, held[job.id] ?? [], after: event) }
    checkLeases(after: event)
    if let fleet { checkFleet(fleet, after: event) } else { checkModels(after: event) }
    checkItems(after: event)
    checkTimeouts(after: event)
    checkUpdates(after: event)
    checkClientFetches(after: event)
    let pictures = scheduler.work.all.flatMap {
      [$0.picture?.file, $0.body?.file].compactMap(\.self)
    }
    check(openFiles == Set(pictures), "a memory file is not released, or too early", event)
    checkSources(after: event)
    checkPauses(after: event)
    checkTurns(after: event)
    checkMemories(after: event)
    checkPlaces(after: event)
    checkOrder(after: event)
    checkNothingIdles(after: event)
    // Else the coordinator would turn in circles.
    let isAhead = scheduler.deadline.map { $0 > now.instant } ?? true
    check(event != .timePassed || isAhead, "wants to hear of a time that has passed", event)
  }

  // MARK: - Lines

  /// Every line is in exactly one place, and the job's numbers say in which.
  private func checkLines(of job: ActiveJob, _ held: [HeldLine], after event: Event) {
    let id = job.id
    guard let list = journal.jobs[id], let status = scheduler.status(of: id) else {
      return fail("an unknown job", after: event)
    }
    let unrecorded = unrecordedLines(of: id)
    let leasedCount = held.count { $0.stage.lease != nil }
    let inHand = held.map(\.index) + unrecorded
    let runningCount = leasedCount + unrecorded.count
    check(status.running == runningCount, "running: \(status.running), not \(runningCount)", event)
    check(job.inHand.count == inHand.count, "a line is in hand twice", event)
    check(Set(job.inHand.keys) == Set(inHand), "lines in hand are not those that are held", event)
    check(
      status.done + status.failed == list.outcomeCount, "counts differ from the journal's", event)
    check(status.queued >= 0, "fewer than no lines queued", event)
    check(
      status.total
        == status.queued + status.running + status.done + status.failed + status.cancelled,
      "the numbers do not add up", event)
    check(
      job.record.startedAt != nil
        || runningCount == 0 && (list.outcomeCount == 0 || list.record.retries.round > 0),
      "runs without a start", event)
    checkBacklogs(of: job, held, event)
    checkLookupOrder(of: job, held, event)
    if !job.isEnding, !job.isPaused { checkNothingLost(job, list, event) }
  }

  /// The lines of each job that items hold.
  private var heldLines: [JobID: [HeldLine]] {
    var lines: [JobID: [HeldLine]] = [:]
    for item in scheduler.work.all {
      for waiter in item.waiters {
        guard case .line(let job, let index) = waiter.who else { continue }
        lines[job, default: []].append(
          HeldLine(index: index, item: item.id, host: item.host, stage: item.stage))
      }
    }
    return lines
  }

  private func unrecordedLines(of id: JobID) -> [Int] {
    journalQueue.compactMap { operation in
      if case .record(id, let index, _) = operation { index } else { nil }
    }
  }

  private func checkBacklogs(of job: ActiveJob, _ held: [HeldLine], _ event: Event) {
    var expected: [String: [Int]] = [:]
    for line in held {
      switch line.stage {
      case .awaitingLookup, .lookingUp, .behindEarlierLines:
        expected[line.host, default: [0, 0]][0] += 1
      case .awaitingTransfer, .awaitingFile, .awaitingDecode:
        expected[line.host, default: [0, 0]][1] += 1
      case .transferring, .decoding: break
      }
    }
    // What is known of a saturated host stays while it has deferred lines.
    let found = job.backlogs.filter { !$0.value.isEmpty || !job.deferred.contains($0.key) }
      .mapValues { [$0.beforeTransfer, $0.waiting] }
    check(found == expected, "backlogs \(found), not \(expected)", event)
  }

  /// The lines that wait behind others are those that the job knows of.
  private func checkLookupOrder(of job: ActiveJob, _ held: [HeldLine], _ event: Event) {
    let behind = held.filter { $0.stage == .behindEarlierLines }
    let isWaiting = [
      job.lookups.isAnyWaiting, scheduler.jobs.withHeldLines.contains(job.id),
    ]
    check(
      isWaiting.allSatisfy { $0 == !behind.isEmpty }, "lines behind others are miscounted", event)
    let next = job.lookups.next.flatMap { id in held.first { $0.item == id } }
    check(
      next.map { $0.stage == .behindEarlierLines } ?? true, "what waits for no slot is next",
      event)
  }

  /// A line that has no outcome and is not in hand is in front of a cursor that will come by it.
  private func checkNothingLost(_ job: ActiveJob, _ list: JournalModel.Job, _ event: Event) {
    let ahead = LinesAhead(of: job)
    let total = list.record.counts.total
    for index in 0..<total where !list.hasOutcome(index) && !job.inHand.contains(index) {
      let position = list.record.order.line(at: index, of: total)
      check(ahead.contains(position), "line \(index) of job \(job.id) is lost", event)
    }
    let rangeCount = job.deferred.hosts.values.reduce(0) { $0 + $1.deferred.rangeCount }
    check(job.deferred.rangeCount == rangeCount, "deferred positions are miscounted", event)
  }

  // MARK: - Leases and items

  /// Leases, items and workers tell the same scenario.
  private func checkLeases(after event: Event) {
    for (lease, held) in scheduler.fetches.leases.all {
      let worker = scheduler.workers[held.worker]
      check(scheduler.work[held.item]?.stage.lease == lease, "a lease without its item", event)
      check(
        (worker?.hold(of: lease)).map { ($0 == .lookup) == (held.purpose == .lookup) } ?? false,
        "a lease that its worker does not hold", event)
    }
    let leased = scheduler.work.all.count { $0.stage.lease != nil }
    let held = scheduler.workers.ready.reduce(0) { $0 + $1.leases.count }
    check(leased == scheduler.fetches.leases.count, "an item without its lease", event)
    check(held == scheduler.fetches.leases.count, "a worker holds what is no lease", event)
    for worker in scheduler.workers.ready {
      for lease in worker.fetches {
        let stage = scheduler.fetches.leases[lease].flatMap { scheduler.work[$0.item] }?.stage
        check(
          (stage == .decoding(lease)) == (worker.hold(of: lease) == .decode),
          "decodes are miscounted", event)
      }
    }
  }

  private func checkModels(after event: Event) {
    for worker in scheduler.workers.ready {
      // What the worker has ended may still be in the mail, or lost.
      check(
        workers[worker.id].map { Set(worker.leases).isSuperset(of: $0.leases) }
          ?? false, "the worker holds what the scheduler does not know", event)
    }
  }

  private func checkItems(after event: Event) {
    for item in scheduler.work.all {
      check(
        scheduler.work.isOpen(item) == !item.waiters.isEmpty, "an item that cannot be joined", event
      )
      check(!item.waiters.isEmpty || item.stage.lease != nil, "an item without a waiter", event)
      if item.picture != nil {
        let isReady = [.awaitingDecode, item.stage.lease.map(WorkItem.Stage.decoding)]
          .contains(item.stage)
        check(isReady && item.waiters.count <= 1, "what was uploaded is one's own", event)
      }
      if item.key.request.bypassesStore {
        let isForViewers = item.waiters.allSatisfy { $0.viewer != nil }
        let isLookedUp = [.awaitingLookup, item.stage.lease.map(WorkItem.Stage.lookingUp)]
          .contains(item.stage)
        check(isForViewers && !isLookedUp, "the store is not bypassed", event)
      }
      let isRevalidation = item.waiters.contains { $0.who == .revalidation }
      check(
        isRevalidation == item.key.isRevalidation && (!isRevalidation || item.waiters.count == 1),
        "a revalidation is shared", event)
      let strongest = item.waiters.map { item.urgency(of: $0) }.min()
      check(strongest == nil || strongest == item.urgency, "a stale urgency", event)
    }
    let behind = scheduler.work.all.filter { $0.stage == .behindEarlierLines }
    check(
      behind.allSatisfy { $0.waiters.allSatisfy { $0.viewer == nil } }, "a viewer waits for lines",
      event)
    let revalidationCount = scheduler.work.all.count(where: \.key.isRevalidation)
    check(
      revalidationCount == scheduler.work.revalidationCount
        && revalidationCount <= Scheduler.revalidationMaximum,
      "revalidations are miscounted, or too many", event)
    let registered = scheduler.work.all.count { !$0.waiters.isEmpty }
    check(scheduler.work.openCount == registered, "a key without its item", event)
    check(Set(scheduler.viewers.all.keys) == waitingViewers, "a viewer is forgotten", event)
    for case (let viewer, .waiting(_, let item)) in scheduler.viewers.all {
      check(
        scheduler.work[item]?.waiters.contains { $0.viewer == viewer } == true,
        "a viewer who waits for nothing", event)
    }
    let named = scheduler.viewers.all.values.filter { $0.name != nil }
    check(named.count == scheduler.viewers.nameCount, "a viewer's name is stale", event)
  }

  // MARK: - Sources and transfers

  private func checkSources(after event: Event) {
    for source in scheduler.fetches.sources.all {
      check(!source.members.isEmpty, "a source of nothing", event)
      check(
        scheduler.fetches.sources.id(for: source.key) == source.id, "a source that is not found",
        event)
      check(
        source.members.allSatisfy { scheduler.work[$0]?.source == source.id },
        "a source with a foreign item", event)
      check(
        source.joinable.map { scheduler.fetches.transfers[$0]?.source == source.id } ?? true,
        "what can be joined is no transfer", event)
    }
    check(
      Set(scheduler.fetches.sources.all.map(\.key)).count == scheduler.fetches.sources.all.count,
      "a source too many", event)
    for (id, transfer) in scheduler.fetches.transfers.all {
      check(!transfer.leases.isEmpty, "a transfer for no lease", event)
      check(
        transfer.leases.allSatisfy { scheduler.fetches.leases[$0]?.transfer == id },
        "a transfer of other leases", event)
    }
  }

  // MARK: - Pauses, probes and turns

  /// No viewer waits for a pause that is too long for it, and no host for a probe that nothing needs.
  private func checkPauses(after event: Event) {
    for source in scheduler.fetches.sources.all {
      guard let place = scheduler.fetches.placeToWaitFor(source) else { continue }
      guard !isFetchedByClient(source) else { continue }
      let waiting = scheduler.waitingItems(of: source)
      checkPause(of: place.origin, host: place.host, waiting, after: event)
      if source.joinable == nil { checkOutage(of: place.host, waiting, after: event) }
    }
    for (origin, host, items) in redirectedItems {
      checkPause(of: origin, host: host, items, after: event)
    }
    let hosts = Set(competingItems.filter { $0.stage == .awaitingTransfer }.map(\.host))
    for (name, host) in scheduler.fetches.queue.hosts where host.health.isProbeWanted {
      check(hosts.contains(name), "\(name) waits for a probe that nothing needs", event)
    }
  }

  private func checkPause(
    of origin: String, host: String, _ items: [WorkItem], after event: Event
  ) {
    guard
      let pause = scheduler.fetches.queue.retryAfter(of: origin, host: host, at: now.instant)
    else { return }
    check(
      permitsWait(until: pause.untilForViewers, items),
      "a viewer waits for a pause of \(origin) that is too long for it", event)
  }

  private func checkOutage(of host: String, _ items: [WorkItem], after event: Event) {
    guard let outage = scheduler.fetches.queue.outage(of: host, at: now.instant) else { return }
    check(
      permitsWait(until: outage.until, items),
      "a viewer waits for \(host), which fails, longer than it may", event)
  }

  private func permitsWait(until end: Instant, _ items: [WorkItem]) -> Bool {
    let longest = items.flatMap(\.waiters).compactMap(\.maximumRetryAfter).min()
    return longest.map { end - now.instant <= $0 } ?? true
  }

  /// Lines compete by their start tags, also those that waited beside a viewer before.
  private func checkTurns(after event: Event) {
    guard !scheduler.isDraining else { return }
    let items = competingItems + redirectedItems.flatMap(\.items)
    check(
      items.allSatisfy { !$0.isOfLines || !$0.lacksStartTags }, "a line goes before its turn", event
    )
  }

  /// The items that wait for a transfer or for a decoder.
  private var competingItems: [WorkItem] {
    scheduler.work.all.filter { [.awaitingTransfer, .awaitingDecode].contains($0.stage) }
  }

  /// The items of transfers that wait for a slot where their redirects lead, and the hosts there.
  private var redirectedItems: [(origin: String, host: String, items: [WorkItem])] {
    scheduler.fetches.transfers.all.values.filter(\.isWaitingAfterRedirect).map { transfer in
      let items = transfer.leases.compactMap {
        scheduler.fetches.leases[$0].flatMap { scheduler.work[$0.item] }
      }
      return (transfer.origin, transfer.host, items)
    }
  }

  /// Places are taken by exactly those who transfer.
  private func checkPlaces(after event: Event) {
    let holders = scheduler.fetches.transfers.all.values.filter(\.holdsSlot)
    check(scheduler.transferCount == holders.count, "a place of the cluster leaked", event)
    check(
      scheduler.fetches.queue.asideCount <= holders.count,
      "more transfers are slow than there are", event)
    let perHost = Dictionary(grouping: holders, by: \.host).mapValues(\.count)
    let known = scheduler.fetches.queue.hosts.mapValues(\.underWay).filter { $0.value > 0 }
    check(perHost == known, "a place of a host leaked", event)
    let waiting = scheduler.fetches.transfers.all.values.compactMap(\.redirectingHost)
    let redirecting = Dictionary(grouping: waiting) { $0 }
    check(
      redirecting.mapValues(\.count)
        == scheduler.fetches.queue.hosts.mapValues(\.redirectingCount).filter { $0.value > 0 },
      "a host is kept from starting by no transfer", event)
    let queued = scheduler.fetches.queue.hosts.values.flatMap(\.redirected)
    let awaiting = scheduler.fetches.transfers.all.filter { $1.isWaitingAfterRedirect }.map(\.0)
    check(Set(queued) == Set(awaiting), "a redirected transfer is not queued", event)
    check(
      Set(scheduler.fetches.transfers.withDeadlines) == Set(awaiting),
      "a redirected transfer waits without end", event)
  }

  // MARK: - Choices

  /// Whether the origin of a source has asked for a pause that holds for what waits so urgently, or the rate of its job
  /// has no token.
  private func isHeldBack(_ source: Source, for urgency: Urgency) -> Bool {
    let host = scheduler.fetches.queue.host(source.key.host)
    if let token = host?.ownTokens.next(for: urgency.pace), token.at > now.instant { return true }
    let pause = scheduler.fetches.queue.retryAfter(
      of: source.key.origin, host: source.key.host, at: now.instant)
    return pause.map { $0.until(for: urgency) > now.instant } ?? false
  }

  /// What has begun was more urgent than what still waits at the same host: above all, no viewer
  /// waits while a batch of its host begins.
  private func checkOrder(after event: Event) {
    for begun in begunTransfers {
      guard let item = scheduler.fetches.leases[begun].flatMap({ scheduler.work[$0.item] }) else {
        continue
      }
      let retryAt = item.source.flatMap { scheduler.fetches.sources[$0]?.retryAt }
      check(
        retryAt.map { $0 <= now.instant } ?? true, "\(item.url.text) begins before its retry", event
      )
      let urgency = queueUrgency(item.urgency, of: item.source, at: item.host)
      for source in waitingSources where source.key.host == item.host {
        let waiting = scheduler.waitingItems(of: source)
          .filter { hasNotGrown($0) && !wasTakenUp($0, after: item) }.map(\.urgency).min()
        let isInTurn = waiting.map {
          urgency < queueUrgency($0, of: source.id, at: item.host) || isHeldBack(source, for: $0)
            || scheduler.fetches.queue.host(item.host)?.comesLast(source.key.origin, $0) == true
        }
        check(
          isInTurn ?? true,
          "\(item.url.text) begins out of turn: \(item.urgency) before \(source.key.name.text) "
            + "\(String(describing: waiting))",
          event)
      }
    }
  }

  /// The urgency among the sources of a host, see ``Host/queueUrgency(_:of:)``.
  private func queueUrgency(_ urgency: Urgency, of source: SourceID?, at name: String) -> Urgency {
    guard let source, let host = scheduler.fetches.queue.host(name) else { return urgency }
    return host.queueUrgency(urgency, of: source)
  }

  /// Whether the URL was as urgent when this event began. Lines are taken up when transfers have begun,
  /// and may make a URL that waits more urgent than what was chosen before. So may a line that has its
  /// turn, if another line, of a more urgent job that is not there yet, waits for the same URL.
  private func hasNotGrown(_ item: WorkItem) -> Bool {
    guard let before = itemsBefore[item.id] else { return true }
    let wasHeldByOthers = before.stage == .behindEarlierLines && item.waiters.count > 1
    return item.waiters.count <= before.waiters.count && !wasHeldByOthers
  }

  /// Whether a line waited behind others when this event began, and competed for a slot only after what has begun:
  /// lines are taken up by their urgency among all hosts, for which failures at one host do not count.
  private func wasTakenUp(_ item: WorkItem, after begun: WorkItem) -> Bool {
    itemsBefore[item.id]?.stage == .behindEarlierLines && begun.urgency < item.urgency
  }

  /// Sources of which items wait for a transfer of their own.
  private var waitingSources: [Source] {
    scheduler.fetches.sources.all.filter {
      $0.joinable == nil && $0.retryAt == nil && !scheduler.waitingItems(of: $0).isEmpty
        && !isFetchedByClient($0)
    }
  }

  /// Nothing that could start waits.
  private func checkNothingIdles(after event: Event) {
    guard !scheduler.isDraining, scheduler.jobs.unrecordedCount < Scheduler.unrecordedMaximum else {
      return
    }
    if scheduler.workers.ready.contains(where: \.takesLookups) {
      check(
        scheduler.work.all.allSatisfy { $0.stage != .awaitingLookup },
        "a look-up waits without need", event)
      check(
        scheduler.jobs.all.allSatisfy {
          !$0.isStartable || $0.inHand.count >= scheduler.jobs.linesInHandPerJob
            || ($0.deferred.nextHost == nil && !$0.couldTakeMainLine)
        }, "a line waits without need", event)
    }
    let share = scheduler.transferShare
    let takesLines = scheduler.workers.ready.contains { $0.takesFetches(share: share) }
    let takesViewers = scheduler.workers.ready.contains {
      $0.takesFetches(share: share, isForViewer: true)
    }
    func isTaken(_ urgency: Urgency) -> Bool { urgency.viewer > 0 ? takesViewers : takesLines }
    check(
      scheduler.work.all.allSatisfy { $0.stage != .awaitingDecode || !isTaken($0.urgency) },
      "an original waits without need", event)
    check(
      !takesLines || !scheduler.fetches.queue.hasSlot || scheduler.nextHeldLine() == nil,
      "a line waits behind others without need", event)
    let queue = scheduler.fetches.queue
    for source in waitingSources {
      let host = queue.host(source.key.host)
      let isOneAtATime =
        host.map { $0.health.isTripped && !$0.health.isProbeWanted || $0.isAnswerAwaited } ?? false
      let urgency = scheduler.waitingItems(of: source).map(\.urgency).min()
      let isForViewer = urgency.map { $0.viewer > 0 } ?? false
      let limit = isOneAtATime ? 1 : queue.limitPerHost(isForViewer: isForViewer)
      let isFull =
        host.map { $0.underWay + $0.redirectingCount >= limit || $0.robotsProbe != nil } ?? false
      let token = queue.nextToken(of: source.key.host, at: now.instant)
      let moments = [token, host?.health.nextAttempt].compactMap(\.self)
      let isCoolingDown =
        moments.contains { $0 > now.instant }
        || urgency.map { isHeldBack(source, for: $0) } ?? false
      let isKeptOut = urgency.map { !queue.takesSlot(for: source.key.host, $0) } ?? false
      let isRefused = urgency.map { !isTaken($0) } ?? true
      let outage = scheduler.networks[queue.route(to: source.key.host)].outage
      let isGated = outage != nil && (urgency?.viewer ?? 0) == 0
      check(
        isFull || isCoolingDown || isKeptOut || isRefused || isGated,
        "a transfer waits without need", event)
    }
  }

  func check(_ isHeld: Bool, _ message: @autoclosure () -> String, _ event: Event) {
    if !isHeld { fail(message(), after: event) }
  }
}

extension ActiveJob {
  /// Whether the main cursor's next line needs only a worker.
  fileprivate var couldTakeMainLine: Bool {
    guard let line = cursor.lines.first else { return false }
    return line.host.map { !deferred.contains($0) && hasRoom(for: $0) } ?? true
  }
}

/// A line that waits for an item.
private struct HeldLine {
  let index: Int
  let item: WorkID
  let host: String
  let stage: WorkItem.Stage
}

/// The lines that a job will come by.
private struct LinesAhead {
  private var read: Set<Int> = []
  private let deferred: [PositionList]
  private let next: Int

  init(of job: ActiveJob) {
    next = job.cursor.next
    deferred = job.deferred.hosts.values.map(\.deferred)
    for queue in [job.cursor.lines] + job.deferred.hosts.values.map(\.lines) {
      var queue = queue
      while let line = queue.removeFirst() { read.insert(line.position) }
    }
  }

  func contains(_ position: Int) -> Bool {
    position >= next || read.contains(position)
      || deferred.contains { $0.contains(position) }
  }
}
