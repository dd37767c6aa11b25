package import ImgModel
package import ImgWire

/// What the scheduler wants done. Effects are performed in their order.
///
/// Each is moved several times on its way, so the large ones are boxed.
package enum Effect: Hashable, Sendable {
  indirect case send(CoordinatorMessage, to: WorkerID)
  /// The same with a memory file beside the message. The driver keeps the file.
  indirect case pass(MemoryFileID, CoordinatorMessage, to: WorkerID)
  /// Start a process for the worker of this number; a failure to start is reported as its exit.
  case spawn(WorkerID, number: Int)
  /// End the process at once; its exit follows as an event.
  case kill(WorkerID)

  /// Read lines without an outcome from the journal; answered by `linesRead`.
  case readLines(LinePageRequest)
  /// Make this durable; answered by `journaled`. Operations are made durable in their order.
  case journal(JournalOperation)

  /// - timings: of what was fetched or decoded for the outcome.
  indirect case answer(ViewerID, Outcome, Timings?)
  /// The viewer's answer is a thumbnail that is not in the store; the memory file holds it.
  indirect case deliver(MemoryFileID, UncachedThumbnail, bytesFetched: Int, to: ViewerID)
  /// Show the viewer a preview, which the memory file holds. The viewer still waits for its answer.
  case show(MemoryFileID, Thumbnail, to: ViewerID)
  /// Tell the viewer how much of its picture has arrived. The viewer still waits for its answer.
  case reportProgress(ImageProgress, to: ViewerID)
  /// Ask the viewer's client to fetch the picture, for all that wait for it. The viewer still waits for its answer.
  case askToFetch(ViewerID, within: Duration)
  /// Ask the client of a reader to read the file of this URL, see ``Event/readerArrived(_:for:)``.
  case askToRead(ViewerID, WantedFile, within: Duration)
  /// The reader's job needs no further file.
  case readingEnded(ViewerID)
  /// Close the memory file: it is sent to no further recipient.
  case release(MemoryFileID)
  /// The job has ended, by a finish or a cancel, and its end is durable.
  indirect case jobEnded(JobRecord)

  /// The store takes no thumbnails any more, or takes them again; for people.
  case storeErrorBegan(StoreErrorStatus)
  case storeErrorEnded(StoreErrorStatus)

  /// An outage of the network of this machine has begun or ended, or was waited for long enough; for people.
  case networkChanged(news: String)
  /// A host is given up, or answers again; for people.
  case hostChanged(news: String)

  /// Workers crash on the store: remove it, so that the next writer creates it. The reason is for
  /// people.
  case recreateStore(reason: String)

  /// Nothing runs any more after a request to drain.
  case drained
  /// No worker can be kept alive; the reason is for people. Jobs stay in the journal.
  case noWorkers(reason: String)
}

extension IdentifierKind {
  package enum Viewer {}
  package enum MemoryFile {}
  package enum Work {}
  package enum Source {}
  enum Host {}
  package enum Command {}
}

/// A client's connection and request that wait for one picture. A later one has a higher number.
package typealias ViewerID = Identifier<IdentifierKind.Viewer>

/// A memory file that came with an event. The driver holds it; the scheduler only names it, and
/// releases it: a result with the effects of the same event, a picture that a client uploaded or fetched
/// when no request waits for its thumbnails any more.
package typealias MemoryFileID = Identifier<IdentifierKind.MemoryFile>

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

/// A picture that a client has fetched, see `FetchedPicture`.
package struct FetchedBody: Hashable, Sendable {
  package let file: MemoryFileID
  package let picture: FetchedPicture

  package init(file: MemoryFileID, picture: FetchedPicture) {
    self.file = file
    self.picture = picture
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

/// What happens to the scheduler. The large events are boxed, like those of ``Effect``.
package enum Event: Hashable, Sendable {
  /// The program begins: start the workers.
  case began
  /// Time has passed: a deadline of the scheduler's may be due.
  case timePassed

  /// A job is durable, or was found in the journal at the start.
  indirect case jobAccepted(JobRecord)
  /// The answer to a `readLines`.
  case linesRead(LinePageRequest, LinePage)
  /// The journal has made these durable, in this order.
  case journaled([JournalOperation])
  /// A change of a job that has not ended, which `JobRecord.apply(_:at:)` allows: a pause, a
  /// resumption, a cancel or a priority.
  case changeRequested(JobID, ImageJobChange)
  /// A change that was requested cannot be made durable: the job goes on as before.
  case changeRefused(JobID, ImageJobChange)
  /// From now on these limits hold.
  /// Boxed: the others are much smaller.
  indirect case limitsChanged(LimitChange)

  indirect case viewerArrived(ViewerID, GetRequest)
  indirect case viewerUploaded(ViewerID, UploadedPicture, RequestOptions)
  /// A client reads local files for a job, one at a time, with the rights of its user: a *reader*.
  case readerArrived(ViewerID, for: JobID)
  /// The client of a viewer has fetched the picture that it was asked for, or a reader has read the file.
  indirect case viewerFetched(ViewerID, FetchedBody)
  /// The client of a viewer could not fetch the picture that it was asked for, or a reader could not read the file.
  indirect case viewerFailedToFetch(ViewerID, Failure)
  /// A viewer or a reader has left.
  case viewerLeft(ViewerID)
  /// What is remembered of the failures of these URLs counts no more.
  case failuresForgotten(Set<String>)

  /// A worker says something. What it asks of the driver, that is `hello`, `startDecoder`, `endDecoder`
  /// and `sandboxed`, changes nothing here. For a worker that cannot be started, or is of another
  /// version, the driver says `refused`; its exit follows.
  ///
  /// - file: has the bytes that the message announces.
  case fromWorker(WorkerID, WorkerMessage, file: MemoryFileID? = nil)
  case workerObserved(WorkerID, Observation)
  /// The process is gone, and what it sent before is about to be handled. From now on it is assigned
  /// nothing. `workerExited` follows.
  case workerExiting(WorkerID)
  /// The process is gone. Its heartbeat page showed the transfer that its loop was working on, named
  /// by the lease that began it.
  case workerExited(WorkerID, WorkerEnd, transferring: LeaseID?)

  /// Finish what runs, unless limits of bandwidth hold it, take no more, and say so with `drained`.
  case drainRequested
}

/// A line of a job's list that has no outcome yet.
package struct JobLine: Hashable, Sendable {
  /// Its index in the list, from 0, whatever the job's order.
  package let index: Int
  /// `nil` where the journal is damaged.
  package let text: String?

  package init(index: Int, text: String?) {
    self.index = index
    self.text = text
  }
}

/// A page of a list that the scheduler wants to read.
///
/// Positions count the lines in the job's order: position 0 is the first line of a `fifo` job and
/// the last of a `lifo` one.
package struct LinePageRequest: Hashable, Sendable {
  package let job: JobID
  /// Names the request; its answer is taken only while the scheduler still waits for it.
  let ticket: UInt64
  /// The host for whose lines this is; `nil` for all.
  let host: String?
  package let order: LineOrder
  /// The positions to look at, in ascending order. Lines that have an outcome are left out.
  package let positions: [Range<Int>]
  /// How many lines at most.
  package let limit: Int
}

/// The lines that were found, as the journal had them when they were read. The driver sends a page
/// before it reports any later `journaled`.
package struct LinePage: Hashable, Sendable {
  package let lines: [JobLine]
  /// The position where the next page begins; the end of the last requested range after the last.
  package let next: Int

  package init(lines: [JobLine], next: Int) {
    self.lines = lines
    self.next = next
  }
}
