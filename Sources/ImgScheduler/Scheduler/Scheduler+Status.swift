package import ImgModel

/// What the scheduler knows, for status requests.
extension Scheduler {
  /// A job that has not ended; `nil` for one that only the journal knows.
  ///
  /// - Parameters:
  ///   - instant: now; `nil` for the moment of the last event.
  ///   - journalError: why outcomes cannot be written; `nil` while they can.
  package func status(
    of id: JobID, at instant: ContinuousClock.Instant? = nil, journalError: String? = nil
  ) -> JobStatus? {
    jobs[id].map {
      JobStatus(
        $0.record, running: $0.runningCount, isDelayed: $0.isDelayed,
        isCancelling: $0.isEnding && $0.record.counts.finished < $0.record.counts.total,
        wait: jobWait(of: $0, at: instant ?? now.instant, journalError: journalError),
        shortage: StoreShortage(
          $0.record, store: store.report, budgetByteCount: limits.storeBudgetByteCount))
    }
  }

  /// A job that may be changed; `nil` for one that has ended or whose end is on its way.
  package func changeableRecord(of id: JobID) -> JobRecord? {
    jobs[id].flatMap { $0.isEnding ? nil : $0.record }
  }

  /// The jobs that have not ended, the newest first.
  ///
  /// - Parameters:
  ///   - id: only jobs older than this one; `nil` for the newest.
  ///   - limit: how many at most.
  ///   - instant: as of ``status(of:at:journalError:)``.
  ///   - journalError: as of ``status(of:at:journalError:)``.
  package func activeJobs(
    before id: JobID? = nil, limit: Int, at instant: ContinuousClock.Instant? = nil,
    journalError: String? = nil
  ) -> [JobStatus] {
    let older = jobs.ids.filter { job in id.map { job < $0 } ?? true }
    return older.sorted(by: >).prefix(limit).compactMap {
      status(of: $0, at: instant, journalError: journalError)
    }
  }

  package var activeJobCount: Int { jobs.count }
  package var viewerCount: Int { viewers.count }
  package var leaseCount: Int { leases.count }
  package var lateAnswerCount: Int { leases.lateAnswerCount }
  package var transferCount: Int { transferQueue.underWay }
  /// What a worker told last of the size of the store; `nil` before.
  package var storeReport: StoreReport? { store.report }
  /// How often a worker has told it.
  package var storeReportCount: Int { store.reportCount }
  /// What keeps thumbnails out of the store; `nil` when nothing is known to.
  package var storeError: StoreErrorStatus? { store.error }

  /// The workers, by number.
  ///
  /// - Parameter processes: those of a slot and its worker, as the driver knows them.
  package func workerStatuses(
    processes: (_ number: Int, WorkerID?) -> ClusterStatus.Worker.Processes
  ) -> [ClusterStatus.Worker] {
    workers.supervisor.children.enumerated().map { index, child in
      let worker = child.state.worker.flatMap { workers[$0] }
      let transferring = worker?.fetches.count { isTransferring($0) } ?? 0
      let state: ClusterStatus.Worker.State =
        switch child.state {
        case .starting, .stopping: .starting
        case .ready: .ready
        case .backingOff: .backingOff
        case .empty: .leaving
        }
      return ClusterStatus.Worker(
        number: index, processes: processes(index, child.state.worker), state: state,
        lookingUp: worker?.lookups.count ?? 0, fetching: transferring,
        decoding: (worker?.fetches.count ?? 0) - transferring, deaths: child.deaths)
    }
  }

  /// The one worker that keeps the store in order; `nil` while none is ready. It changes only when
  /// workers come and go, so that two hardly ever do the same work.
  package var housekeeper: WorkerID? {
    workers.supervisor.children.lazy.compactMap { child in
      if case .ready(let worker) = child.state { worker } else { nil }
    }.first
  }
}
