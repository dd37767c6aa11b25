import ImgModel
import ImgScheduler

/// From here on nothing goes wrong any more, and everything must come to its end.
extension Scenario {
  /// In each of these rounds time passes, and all that is under way ends.
  private static let finalRoundMaximum = 2_000
  /// Messages that arrive and operations that end in all rounds together: more than any run needs.
  static let finalMoveMaximum = 100_000

  mutating func end() {
    for job in cluster.journal.jobs.keys.sorted() { cluster.change(job, .resume) }
    advance { $0.scheduler.isIdle && $0.changingJobs.isEmpty }
    // A pause that was on its way has come after the resumption.
    for job in cluster.journal.jobs.keys.sorted() { cluster.change(job, .resume) }
    advance { $0.scheduler.isIdle && $0.scheduler.jobs.isEmpty }
    // After a fault nothing goes on.
    guard faults.isEmpty else { return }
    guard cluster.scheduler.isIdle, cluster.scheduler.jobs.isEmpty else {
      let jobs = cluster.scheduler.jobs.ids.sorted().compactMap { cluster.status($0) }
      return cluster.fail(
        "does not come to rest: \(jobs), workers \(cluster.scheduler.workers.supervisor.children)")
    }
    finishEverything()
    checkResults()
  }

  /// The coordinator leaves in the middle of it.
  mutating func endByDraining() {
    cluster.handle(.drainRequested)
    let spawnCount = cluster.spawnCount
    advance { $0.drainedCount > 0 }
    cluster.handle(.timePassed)
    if cluster.drainedCount != 1 { cluster.fail("drained \(cluster.drainedCount) times") }
    if cluster.spawnCount != spawnCount { cluster.fail("starts workers while it drains") }
    if !cluster.scheduler.leases.isEmpty { cluster.fail("drained with leases") }
    if !expectedViewers.isSubset(of: cluster.answers.keys) { cluster.fail("a viewer waits") }
  }

  private mutating func advance(until isDone: (ClusterModel) -> Bool) {
    cluster.areWorkersReadyAtOnce = true
    cluster.isJournalHeld = false
    cluster.isMailHeld = false
    cluster.handle(.timePassed)
    if let fleet = cluster.fleet { calm(fleet) }
    for _ in 0..<Self.finalRoundMaximum where faults.isEmpty && !isDone(cluster) {
      exitKilled()
      for id in cluster.livingWorkers where !cluster.isReady(id) { cluster.ready(id) }
      // A worker whose answer was lost is found out.
      for id in cluster.livingWorkers where cluster.isReady(id) && !cluster.killed.contains(id) {
        cluster.handle(.workerObserved(id, Observation(heartbeatAge: .zero)))
      }
      // Less and less is pinned.
      for byteCount in [1, 0] { cluster.reportStore(pinned: Int64(byteCount), of: 1_000) }
      cluster.advance(by: .seconds(6))
      finishEverything()
    }
  }

  private mutating func finishEverything() {
    if let fleet = cluster.fleet {
      finishEverything(in: fleet)
    } else {
      cluster.finishEverything()
    }
  }

  private func checkResults() {
    for (id, job) in cluster.journal.jobs {
      let counts = job.record.counts
      let isWhole = job.record.state == .cancelled || job.outcomeCount == counts.total
      if job.record.isActive || counts.finished != counts.total || !isWhole
        || counts.done + counts.failed != job.outcomeCount
      {
        cluster.fail("job \(id) ended as \(job.record.state) with \(counts)")
      }
    }
    if !expectedViewers.isSubset(of: cluster.answers.keys) { cluster.fail("a viewer waits") }
    let scheduler = cluster.scheduler
    if !scheduler.work.isEmpty || !scheduler.sources.isEmpty || !scheduler.transfers.isEmpty {
      cluster.fail("items are left")
    }
    if let fleet = cluster.fleet { fleet.ids.forEach(fleet.checkEnd) }
    if !cluster.stopReasons.isEmpty { cluster.fail("gave up") }
  }
}
