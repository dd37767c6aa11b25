public import ImgModel

/// The jobs of a cluster: lists of URLs whose thumbnails it makes in the background. A job outlives the
/// process that submitted it.
///
/// ```swift
/// let id = try await client.jobs.submit(urls, as: ImageJobRequest(size: 256))
/// for try await job in client.jobs.updates(of: id) { show(job.fraction) }
/// for try await result in client.jobs.results(of: id, failedOnly: true) { report(result) }
/// ```
///
/// It is the sequence of all jobs, newest first. Its functions fail with ``ImageError/Code/unsupportedOperation`` if
/// the transport of the client is no ``JobTransport``.
///
/// A submission or a change whose connection is lost is not sent again, because it may have been carried
/// out: the error says so. All other requests are sent again. The cancellation of the task ends a function
/// at once with ``ImageError/Code/cancelled``; a change may be carried out nevertheless.
///
/// A function that names a job fails with ``ImageError/Code/unknownJob`` if there is none of that number. One
/// that changes it fails with ``ImageError/Code/wrongState`` if its ``ImageJob/state`` does not permit that.
/// Changes are durable when the function returns.
public struct ImageJobs: Sendable {
  private let transport: (any JobTransport)?

  package init(_ transport: any ImageTransport) {
    self.transport = transport as? any JobTransport
  }

  func served() throws(ImageError) -> any JobTransport {
    guard let transport else {
      throw ImageError(
        code: .unsupportedOperation,
        message: "the transport of this client has no jobs; use a ClusterTransport")
    }
    return transport
  }

  // MARK: - Submitting

  /// Submits a list as one job. A task that is cancelled before the whole list was sent leaves no job.
  ///
  /// - Parameters:
  ///   - urls: are read while the list is sent, so that a long list may be lazy. Spaces and letters outside
  ///     ASCII may be there as they are. A text that is no URL fails alone.
  ///   - request: what is done with them.
  /// - Returns: the number of the job, once the job is durable.
  /// - Throws: ``ImageError/Code/disconnected`` if the connection was lost. The error is retryable if no job
  ///   came of the list; otherwise that is not known.
  public func submit(
    _ urls: some Sequence<String> & Sendable, as request: ImageJobRequest = ImageJobRequest()
  ) async throws(ImageError) -> ImageJob.ID {
    try await served().submitJob(request, urls: urls)
  }

  // MARK: - Reading

  /// A job as it stands now.
  public func job(_ id: ImageJob.ID) async throws(ImageError) -> ImageJob {
    try await served().job(id)
  }

  /// The job at once and after each change, up to ten times a second, until it has ended.
  ///
  /// A reader that is slow sees the newest update, not all of them. The sequence goes on when the
  /// coordinator ends and is started again. It fails if none can be reached for ten seconds.
  public func updates(of id: ImageJob.ID) -> ImageJobUpdates {
    ImageJobUpdates(of: id, in: self)
  }

  /// The URLs of a job with their results, in the order of the list. They are read page by page.
  ///
  /// - Parameter failedOnly: whether only those that failed are there.
  public func results(of id: ImageJob.ID, failedOnly: Bool = false) -> ImageJobResults {
    ImageJobResults(of: id, failedOnly: failedOnly, in: self)
  }

  // MARK: - Changing

  /// Starts no more URLs of a job. Those that run finish.
  @discardableResult
  public func pause(_ id: ImageJob.ID) async throws(ImageError) -> ImageJob {
    try await served().changeJob(id, .pause)
  }

  /// Continues a paused job.
  @discardableResult
  public func resume(_ id: ImageJob.ID) async throws(ImageError) -> ImageJob {
    try await served().changeJob(id, .resume)
  }

  /// Ends a job. Thumbnails that are stored stay.
  @discardableResult
  public func cancel(_ id: ImageJob.ID) async throws(ImageError) -> ImageJob {
    try await served().changeJob(id, .cancel)
  }

  /// Repeats failures of a job that has ended, and continues with URLs that were cancelled.
  ///
  /// - Parameter includesFinal: whether failures that are not retryable are repeated, too.
  @discardableResult
  public func retry(
    _ id: ImageJob.ID, includesFinal: Bool = false
  ) async throws(ImageError) -> ImageJob {
    try await served().changeJob(id, .retry(includesFinal: includesFinal))
  }

  /// Sets the priority of a job, for URLs that have not started.
  @discardableResult
  public func setPriority(
    _ priority: ImageJob.Priority, of id: ImageJob.ID
  ) async throws(ImageError) -> ImageJob {
    try await served().changeJob(id, .setPriority(priority))
  }

  /// Removes a job that has ended, with its list and its results. Its thumbnails stay in the store.
  ///
  /// - Returns: the job as it was.
  @discardableResult
  public func remove(_ id: ImageJob.ID) async throws(ImageError) -> ImageJob {
    try await served().changeJob(id, .remove)
  }
}

extension ImageClient {
  /// The jobs of the cluster.
  public var jobs: ImageJobs { ImageJobs(transport) }
}

/// All jobs, newest first. They are read page by page.
extension ImageJobs: AsyncSequence {
  /// Begins with the newest job.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(jobs: self)
  }

  /// A walk through the jobs.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let jobs: ImageJobs
    private var page: ArraySlice<ImageJob> = []
    private var last: ImageJob.ID?
    private var hasMore = true

    fileprivate init(jobs: ImageJobs) {
      self.jobs = jobs
    }

    /// The next older job; `nil` after the oldest one. Asks the coordinator for some hundred at a time.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(ImageError) -> ImageJob? {
      if page.isEmpty, hasMore {
        let next = try await jobs.served().jobs(before: last)
        page = next.jobs[...]
        hasMore = next.hasMore && !next.jobs.isEmpty
      }
      guard let job = page.popFirst() else { return nil }
      last = job.id
      return job
    }
  }
}

/// What serves ``ImageJobs``: an ``ImageTransport`` that has jobs, too.
///
/// Each function ends early with ``ImageError/Code/cancelled`` when its task is cancelled.
public protocol JobTransport: ImageTransport {
  /// Submits a list as one job.
  ///
  /// - Parameter urls: is read while the list is sent, possibly on another thread. It may block.
  /// - Returns: the number of the job, once the job is durable.
  func submitJob(
    _ request: ImageJobRequest, urls: some Sequence<String> & Sendable
  ) async throws(ImageError) -> ImageJob.ID

  /// A job as it stands now.
  func job(_ id: ImageJob.ID) async throws(ImageError) -> ImageJob

  /// A page of jobs, newest first.
  ///
  /// - Parameter id: the page begins after this job; `nil` for the newest jobs.
  func jobs(
    before id: ImageJob.ID?
  ) async throws(ImageError) -> (jobs: [ImageJob], hasMore: Bool)

  /// Watches a job until it has ended.
  ///
  /// - Parameter onUpdate: is given the job at once and after changes, in order, from any thread; the last
  ///   time with its end. It must not block.
  func watchJob(
    _ id: ImageJob.ID, onUpdate: @escaping @Sendable (ImageJob) -> Void
  ) async throws(ImageError)

  /// A page of results, in the order of the list.
  ///
  /// - Parameter index: of the first URL of the page.
  /// - Returns: the page, and the index of the next one; `nil` at the end.
  func jobResults(
    of id: ImageJob.ID, from index: Int, failedOnly: Bool
  ) async throws(ImageError) -> (results: [ImageJobResult], next: Int?)

  /// Changes a job.
  ///
  /// - Returns: the job after the change, or for a removal before it; once the change is durable.
  func changeJob(
    _ id: ImageJob.ID, _ change: ImageJobChange
  ) async throws(ImageError) -> ImageJob
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

/// One URL of a job.
public struct ImageJobResult: Hashable, Sendable {
  /// What came of a URL.
  ///
  /// The enumeration is closed: no version adds a case.
  public enum Outcome: Hashable, Sendable {
    /// The thumbnail was stored, or the store had it. A load of the same variant has it, unless it has expired
    /// since, or the store has evicted it for newer ones. Of a job with ``ImageJobRequest/Decoding/lazy``, the
    /// original was.
    case done(Thumbnail, isFromCache: Bool)
    /// There is no thumbnail.
    case failed(ImageError)
    /// The job was cancelled before.
    case cancelled
  }

  /// The position in the list, from 0.
  public let index: Int
  /// The number of its line in the list that was submitted, from 1; empty lines and comments have numbers, too.
  /// `nil` for URLs that a program submitted, and in jobs of earlier releases.
  public let line: Int?
  /// The position of its list among what was submitted with it, from 0; `nil` if that is the list alone.
  public let list: Int?
  /// The URL as it was submitted.
  public let url: String
  /// What came of it; `nil` if it has no result yet.
  public let outcome: Outcome?

  /// A result, such as one for a test.
  public init(
    index: Int, line: Int? = nil, list: Int? = nil, url: String, outcome: Outcome?
  ) {
    self.index = index
    self.line = line
    self.list = list
    self.url = url
    self.outcome = outcome
  }

  /// Why there is no thumbnail, if the URL has failed.
  public var error: ImageError? {
    if case .failed(let error) = outcome { error } else { nil }
  }
}

extension ImageJobResult.Outcome {
  /// - Parameters:
  ///   - url: of the line, as it was submitted.
  ///   - places: give errors their advice.
  init(_ outcome: Outcome, url: String, in places: ClusterPlaces) {
    self =
      switch outcome {
      case .done(let thumbnail, let isFromCache, _): .done(thumbnail, isFromCache: isFromCache)
      case .failed(let failure, _): .failed(places.advised(ImageError(failure, url: url)))
      case .cancelled: .cancelled
      }
  }
}

/// The URLs of a job with their results, see ``ImageJobs/results(of:failedOnly:)``.
public struct ImageJobResults: AsyncSequence, Sendable {
  private let id: ImageJob.ID
  private let failedOnly: Bool
  private let jobs: ImageJobs

  init(of id: ImageJob.ID, failedOnly: Bool, in jobs: ImageJobs) {
    self.id = id
    self.failedOnly = failedOnly
    self.jobs = jobs
  }

  /// Begins with the first URL.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(results: self)
  }

  /// A walk through the list.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private let results: ImageJobResults
    private var page: ArraySlice<ImageJobResult> = []
    private var nextIndex: Int? = 0

    fileprivate init(results: ImageJobResults) {
      self.results = results
    }

    /// The next URL; `nil` after the last one.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(ImageError) -> ImageJobResult? {
      while page.isEmpty, let index = nextIndex {
        let next = try await results.page(from: index)
        page = next.results[...]
        nextIndex = next.next
      }
      return page.popFirst()
    }
  }

  private func page(
    from index: Int
  ) async throws(ImageError) -> (results: [ImageJobResult], next: Int?) {
    try await jobs.served().jobResults(of: id, from: index, failedOnly: failedOnly)
  }
}
