import ImgWire

@testable import ImgCore

/// What must hold after every event, whatever happened.
extension ClusterModel {
  func checkInvariants(after event: Event) {
    for job in scheduler.jobs.values { checkLines(of: job, after: event) }
    checkLeases(after: event)
    checkItems(after: event)
    checkPlaces(after: event)
    checkNothingIdles(after: event)
  }

  /// Every line is in exactly one place, and the job's numbers say in which.
  private func checkLines(of job: ActiveJob, after event: Event) {
    let id = job.record.id
    guard let list = journal.jobs[id], let status = scheduler.status(of: id) else {
      return fail("an unknown job", after: event)
    }
    let unrecorded = journalQueue.count {
      if case .journal(.record(id, _, _)) = $0 { true } else { false }
    }
    let held = scheduler.items.values.map { item in
      (isRunning: item.stage.lease != nil, lines: item.waiters.count { $0.isLine(of: id) })
    }
    let running = held.filter(\.isRunning).reduce(unrecorded) { $0 + $1.lines }
    let takenUp = held.reduce(0) { $0 + $1.lines }
    let finished = list.outcomes.count
    check(status.running == running, "running: \(status.running), not \(running)", event)
    check(job.takenUpCount == takenUp, "taken up: \(job.takenUpCount), not \(takenUp)", event)
    check(status.done + status.failed == finished, "counts differ from the journal's", event)
    check(status.queued >= 0, "fewer than no lines queued", event)
    check(
      status.total
        == status.queued + status.running + status.done + status.failed + status.cancelled,
      "the numbers do not add up", event)
    check(
      job.record.startedAt != nil || finished + running == 0, "runs without a start", event)
    guard !job.isEnding else { return }
    let next = job.nextIndex ?? list.record.counts.total
    let unread = (next..<max(next, list.record.counts.total)).count { list.outcomes[$0] == nil }
    let accounted = finished + unrecorded + takenUp + job.window.count + unread
    check(
      accounted == status.total, "\(status.total - accounted) lines of job \(id) lost", event)
  }

  /// Leases, items and workers tell the same story.
  private func checkLeases(after event: Event) {
    for (lease, held) in scheduler.leases {
      let worker = scheduler.workers[held.worker]
      check(scheduler.items[held.item]?.stage.lease == lease, "a lease without its item", event)
      check(
        worker?.lookups.contains(lease) != worker?.fetches.contains(lease),
        "a lease that its worker does not hold", event)
    }
    let leased = scheduler.items.values.count { $0.stage.lease != nil }
    let held = scheduler.workers.values.reduce(0) { $0 + $1.lookups.count + $1.fetches.count }
    check(leased == scheduler.leases.count, "an item without its lease", event)
    check(held == scheduler.leases.count, "a worker holds what is no lease", event)
    for worker in scheduler.workers.values {
      check(
        workers[worker.id].map { Set($0.leases) } == worker.lookups.union(worker.fetches),
        "the worker and the scheduler disagree", event)
    }
  }

  private func checkItems(after event: Event) {
    for item in scheduler.items.values {
      let isRegistered = scheduler.itemsByKey[item.key] == item.id
      check(isRegistered == !item.waiters.isEmpty, "an item that cannot be joined", event)
      check(
        !item.waiters.isEmpty || item.stage.lease != nil, "an item for nobody", event)
    }
    let registered = scheduler.items.values.count { !$0.waiters.isEmpty }
    check(scheduler.itemsByKey.count == registered, "a key without its item", event)
    check(Set(scheduler.viewers.keys) == waitingViewers, "a viewer is forgotten", event)
    for (viewer, item) in scheduler.viewers {
      check(
        scheduler.items[item]?.waiters.contains(.viewer(viewer)) == true,
        "a viewer who waits for nothing", event)
    }
  }

  private var transfersPerHost: [String: Int] {
    let transferring = scheduler.items.values.filter {
      if case .transferring = $0.stage { true } else { false }
    }
    return transferring.reduce(into: [:]) { $0[$1.key.url.authority, default: 0] += 1 }
  }

  /// Places are taken by exactly those who transfer.
  private func checkPlaces(after event: Event) {
    let perHost = transfersPerHost
    let total = perHost.values.reduce(0, +)
    check(scheduler.transferCount == total, "a place of the cluster leaked", event)
    check(total <= scheduler.limits.transfers, "over the cluster's limit", event)
    check(
      perHost.values.allSatisfy { $0 <= scheduler.limits.transfersPerHost },
      "over a host's limit", event)
  }

  /// Nothing that could start waits.
  private func checkNothingIdles(after event: Event) {
    guard !scheduler.isDraining, scheduler.unrecordedCount < Scheduler.unrecordedMaximum else {
      return
    }
    if scheduler.workers.values.contains(where: \.takesLookups) {
      check(
        scheduler.items.values.allSatisfy { $0.stage != .awaitingLookup },
        "a look-up waits without need", event)
      check(
        scheduler.jobs.values.allSatisfy {
          $0.window.isEmpty || $0.takenUpCount >= Scheduler.takenUpMinimumPerJob
        }, "a line waits without need", event)
    }
    guard scheduler.workers.values.contains(where: \.takesFetches),
      scheduler.transferCount < scheduler.limits.transfers
    else { return }
    let perHost = transfersPerHost
    check(
      scheduler.items.values.allSatisfy {
        $0.stage != .awaitingTransfer
          || perHost[$0.key.url.authority, default: 0] >= scheduler.limits.transfersPerHost
      }, "a transfer waits without need", event)
  }

  private func check(_ isHeld: Bool, _ message: @autoclosure () -> String, _ event: Event) {
    if !isHeld { fail(message(), after: event) }
  }
}
