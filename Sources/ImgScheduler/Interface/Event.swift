package import ImgModel
package import ImgWire

/// A client's connection and request that wait for one picture. A later one has a higher number.
package struct ViewerID: RawRepresentable, Hashable, Sendable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }
}

/// A memory file that came with an event. The driver holds it; the scheduler only names it, and
/// releases it: a result with the effects of the same event, an uploaded picture when no request
/// waits for its thumbnail any more.
package struct MemoryFileID: RawRepresentable, Hashable, Sendable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }
}

/// A picture that a client uploads, see `UploadRequest`.
package struct UploadedPicture: Hashable, Sendable {
  package let file: MemoryFileID
  package let byteCount: Int
  /// The name to store it under; `nil` when it is not stored.
  package let url: String?
  /// Whether the result is pixels in place of a thumbnail.
  package let wantsPixels: Bool

  package init(file: MemoryFileID, byteCount: Int, url: String?, wantsPixels: Bool = false) {
    self.file = file
    self.byteCount = byteCount
    self.url = url
    self.wantsPixels = wantsPixels
  }
}

/// How a worker process ended.
package enum WorkerEnd: Hashable, Sendable {
  /// By itself, because it was told to drain.
  case left
  /// By a signal that a fault inside raises (SIGSEGV, SIGABRT, …), or by its own exit.
  case crashed(String)
  /// In the same way, and the thread with the fault was in a call of the store.
  case crashedInStore(String)
  /// By SIGKILL or SIGTERM from outside: the kernel's out-of-memory killer, or a person.
  case killed(String)
}

/// What the watchdog saw on a worker's heartbeat page.
package struct Observation: Hashable, Sendable {
  /// How long ago the worker's loop last ran.
  package let heartbeatAge: Duration
  /// The lease whose local file, or original in the store, is being read; `nil` when none is.
  package let readingLease: LeaseID?
  /// For how long; zero when none is.
  package let readingTime: Duration

  package init(
    heartbeatAge: Duration, readingLease: LeaseID? = nil, readingTime: Duration = .zero
  ) {
    self.heartbeatAge = heartbeatAge
    self.readingLease = readingLease
    self.readingTime = readingTime
  }
}

/// What happens to the scheduler.
package enum Event: Hashable, Sendable {
  /// The program begins: start the workers.
  case began
  /// Time has passed: a deadline of the scheduler's may be due.
  case timePassed

  /// A job is durable, or was found in the journal at the start.
  case jobAccepted(JobRecord)
  /// The answer to a `readLines`.
  case linesRead(LinePageRequest, LinePage)
  /// The journal has made these durable, in this order.
  case journaled([JournalOperation])
  /// A change of a job that has not ended, which `JobRecord.apply(_:at:)` allows: a pause, a
  /// resumption, a cancel or a priority.
  case changeRequested(JobID, JobChange)
  /// A change that was requested cannot be made durable: the job goes on as before.
  case changeRefused(JobID, JobChange)
  /// From now on these limits hold.
  case limitsChanged(LimitChange)

  case viewerArrived(ViewerID, ViewerRequest)
  case viewerUploaded(ViewerID, UploadedPicture, RequestOptions)
  case viewerLeft(ViewerID)
  /// What is remembered of the failures of these URLs counts no more.
  case failuresForgotten(Set<String>)

  case workerReady(WorkerID, Credits)
  /// The worker says that it cannot begin; its exit follows.
  case workerRefused(WorkerID, reason: String)
  case workerLookedUp(WorkerID, LookupResults)
  case workerReportedHosts(WorkerID, HostUpdates)
  case workerRedirected(WorkerID, [Redirections.Redirection])
  case workerTransferred(WorkerID, [LeaseID])
  /// The body that these leases were attached to is gone, or their host has sent Retry-After.
  case workerReleased(WorkerID, [LeaseID])
  /// The store has what these look-ups and fetches are about, but no room to pin it.
  case workerUnpinned(WorkerID, [LeaseID])
  case workerFinished(WorkerID, FetchResults)
  /// A lease has ended with a thumbnail that only the memory file holds.
  case workerMadeUncached(WorkerID, UncachedResult, MemoryFileID)
  /// A preview was made for a lease, which goes on. The memory file holds it.
  case workerMadePreview(WorkerID, MadePreview, MemoryFileID)
  /// So much of the bodies of leases has arrived. The leases go on.
  case workerReportedProgress(WorkerID, [ProgressReport.Entry])
  /// The size of the store, as a worker has seen it.
  case storeReported(StoreReport)
  case workerObserved(WorkerID, Observation)
  /// The process is gone, and what it sent before is about to be handled. From now on it is assigned
  /// nothing. `workerExited` follows.
  case workerExiting(WorkerID)
  /// The process is gone. Its heartbeat page showed the transfer that its loop was working on, named
  /// by the lease that began it.
  case workerExited(WorkerID, WorkerEnd, transferring: LeaseID?)

  /// Finish what runs, take no more, and say so with `drained`.
  case drainRequested
}
