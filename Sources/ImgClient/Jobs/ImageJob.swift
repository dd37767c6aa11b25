public import FoundationEssentials
package import ImgModel

/// A job at one moment: a list of URLs whose thumbnails the cluster makes in the background.
///
/// It encodes as `imgctl status JOB --json` prints it. The values of its header fields are not part of it.
public struct ImageJob: Identifiable, Hashable, Sendable {
  /// How far a job is.
  ///
  /// Later versions may add states, so a `switch` over them needs a `default`.
  public struct State: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The name that `imgctl` uses, such as `running`.
    public let rawValue: String

    /// A state by its name.
    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// The name, see ``rawValue``.
    public var description: String { rawValue }

    /// Its delay is not over.
    public static let scheduled = State(rawValue: JobStatus.State.scheduled.rawValue)
    /// No URL has started.
    public static let queued = State(rawValue: JobStatus.State.queued.rawValue)
    /// Its thumbnails are being made.
    public static let running = State(rawValue: JobStatus.State.running.rawValue)
    /// No URL starts until the job is resumed.
    public static let paused = State(rawValue: JobStatus.State.paused.rawValue)
    /// The job was cancelled, and that is not on disk yet.
    public static let cancelling = State(rawValue: JobStatus.State.cancelling.rawValue)
    /// Each URL has a result.
    public static let finished = State(rawValue: JobStatus.State.finished.rawValue)
    /// The job was cancelled.
    public static let cancelled = State(rawValue: JobStatus.State.cancelled.rawValue)
    /// The record of the job is damaged. The job can only be removed.
    public static let damaged = State(rawValue: JobStatus.State.damaged.rawValue)
  }

  /// Which of several jobs comes first.
  ///
  /// The enumeration is closed: no version adds a case.
  public enum Priority: Int, Hashable, Sendable, CaseIterable {
    /// After all others.
    case veryLow = -2
    /// After ``normal``.
    case low
    /// What a job has by default.
    case normal
    /// Before ``normal``.
    case high
    /// Before all others.
    case veryHigh
  }

  /// What the coordinator tells of the job.
  package let status: JobStatus

  package init(_ status: JobStatus) {
    self.status = status.withoutSecrets
  }

  /// The number that `imgctl` takes as JOB. The jobs of a cluster are numbered from 1.
  public var id: UInt64 { status.job.rawValue }
  /// The name that lists show; `nil` if it has none.
  public var name: String? { status.name }
  /// How far it is.
  public var state: State { State(rawValue: status.state.rawValue) }
  /// Which of several jobs comes first.
  public var priority: Priority { Priority(rawValue: status.priority) ?? .normal }

  /// The URLs of the list. Always the sum of ``queued``, ``running``, ``done``, ``failed`` and
  /// ``cancelled``.
  public var total: Int { status.total }
  /// URLs that have not started.
  public var queued: Int { status.queued }
  /// URLs that are looked up, fetched or decoded.
  public var running: Int { status.running }
  /// URLs with a thumbnail.
  public var done: Int { status.done }
  /// URLs without a thumbnail.
  public var failed: Int { status.failed }
  /// URLs that the cancellation of the job ended.
  public var cancelled: Int { status.cancelled }
  /// URLs with a result.
  public var finished: Int { status.finished }
  /// Those of ``done`` whose thumbnails the store had.
  public var fromCache: Int { status.fromCache }
  /// Those of ``done`` whose pictures are damaged, see ``ImageJobRequest/acceptsDamage``.
  public var damaged: Int { status.damaged }
  /// Those of ``failed`` that may succeed later, see ``ImageJobs/retry(_:includesFinal:)``.
  public var retryable: Int { status.retryable }

  /// Bytes of the responses of origins.
  public var fetchedByteCount: Int { Int(status.bytesFetched) }
  /// Bytes of the thumbnails that were stored.
  public var storedByteCount: Int { Int(status.bytesStored) }

  /// When it was accepted.
  public var submittedAt: Date { Date(status.submittedAt) }
  /// When its first URL started; `nil` before that.
  public var startedAt: Date? { status.startedAt.map { Date($0) } }
  /// When it ended; `nil` before that.
  public var finishedAt: Date? { status.finishedAt.map { Date($0) } }

  /// Whether nothing changes any more, unless the job is retried.
  public var hasEnded: Bool { status.hasEnded }
  /// How much of the list has a result, from 0 to 1.
  public var fraction: Double {
    total > 0 ? Double(finished) / Double(total) : hasEnded ? 1 : 0
  }
}

extension ImageJob: Encodable {
  /// Writes the keys of `imgctl status JOB --json`, without `schema`.
  public func encode(to encoder: any Encoder) throws {
    try status.encode(to: encoder)
  }
}

/// A change of an accepted job, see the functions of ``ImageJobs``.
///
/// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
@nonexhaustive
public enum ImageJobChange: Hashable, Sendable {
  /// Starts no more URLs, see ``ImageJobs/pause(_:)``.
  case pause
  /// Continues a paused job, see ``ImageJobs/resume(_:)``.
  case resume
  /// Ends the job, see ``ImageJobs/cancel(_:)``.
  case cancel
  /// Repeats failures, see ``ImageJobs/retry(_:includesFinal:)``.
  case retry(includesFinal: Bool)
  /// Counts for URLs that have not started, see ``ImageJobs/setPriority(_:of:)``.
  case setPriority(ImageJob.Priority)
  /// Removes the job and its results, see ``ImageJobs/remove(_:)``.
  case remove
}

extension JobChange {
  init(_ change: ImageJobChange) {
    self =
      switch change {
      case .pause: .pause
      case .resume: .resume
      case .cancel: .cancel
      case .retry(let includesFinal): .retry(includesFinal: includesFinal)
      case .setPriority(let priority): .prioritise(priority.rawValue)
      case .remove: .remove
      }
  }
}

/// A job after each change until it has ended, see ``ImageJobs/updates(of:)``. Each iteration is a watch of
/// its own.
///
/// The watch ends when its reader's task is cancelled, with ``ImageError/Code/cancelled``, and when its
/// iterator is released.
public struct ImageJobUpdates: AsyncSequence, Sendable {
  private typealias Stream = AsyncThrowingStream<ImageJob, any Error>

  private let id: ImageJob.ID
  private let jobs: ImageJobs

  init(of id: ImageJob.ID, in jobs: ImageJobs) {
    self.id = id
    self.jobs = jobs
  }

  /// Prepares a watch, which begins with the first update that is asked for.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(updates: self)
  }

  /// Begins a watch. It ends with the stream.
  private func stream() -> Stream {
    Stream(bufferingPolicy: .bufferingNewest(1)) { [id, jobs] updates in
      let task = Task {
        do throws(ImageError) {
          try await jobs.served().watchJob(id) { updates.yield($0) }
          updates.finish()
        } catch {
          updates.finish(throwing: error)
        }
      }
      updates.onTermination = { _ in task.cancel() }
    }
  }

  /// One watch.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private let updates: ImageJobUpdates
    private var stream: Stream.Iterator?
    private var last: ImageJob?

    fileprivate init(updates: ImageJobUpdates) {
      self.updates = updates
    }

    /// The job after the next change; `nil` after its end.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(ImageError) -> ImageJob? {
      guard last?.hasEnded != true else { return nil }
      var stream = stream ?? updates.stream().makeAsyncIterator()
      defer { self.stream = stream }
      do {
        // The first update of a further connection may tell nothing new.
        while let job = try await stream.next(isolation: actor) {
          guard job != last else { continue }
          last = job
          return job
        }
      } catch let error as ImageError {
        throw error
      } catch {
        throw ImageError(code: .internal, message: "\(error)")
      }
      // A stream whose reader was cancelled ends without an error.
      throw .cancelled(nil)
    }
  }
}
