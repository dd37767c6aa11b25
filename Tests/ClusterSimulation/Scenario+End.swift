import ImgModel
import ImgScheduler

/// From here on nothing goes wrong any more, and everything must come to its end.
extension Scenario {
  mutating func end() {
    for job in cluster.journal.jobs.keys.sorted() { cluster.change(job, .resume) }
    advance { $0.scheduler.isIdle && $0.changingJobs.isEmpty }
    // A pause that was on its way has come after the resumption.
    for job in cluster.journal.jobs.keys.sorted() { cluster.change(job, .resume) }
    advance { $0.scheduler.isIdle && $0.scheduler.jobs.isEmpty }
    guard cluster.scheduler.isIdle, cluster.scheduler.jobs.isEmpty else {
      let jobs = cluster.scheduler.jobs.ids.sorted().compactMap { cluster.status($0) }
      return cluster.fail(
        "does not come to rest: \(jobs), workers \(cluster.scheduler.workers.supervisor.children)")
    }
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
    for _ in 0..<2_000 where faults.isEmpty && !isDone(cluster) {
      exitKilled()
      for worker in cluster.workers.values.filter({ !$0.isReady }).map(\.id).sorted() {
        cluster.ready(worker)
      }
      // A worker whose answer was lost is found out.
      for worker in cluster.workers.keys.sorted() where !cluster.killed.contains(worker) {
        cluster.handle(.workerObserved(worker, Observation(heartbeatAge: .zero)))
      }
      cluster.advance(by: .seconds(6))
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
    if !cluster.stopReasons.isEmpty { cluster.fail("gave up") }
  }
}
