public import ImgModel

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
