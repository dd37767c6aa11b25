public import ImgModel

/// One URL of a job.
public struct ImageJobResult: Hashable, Sendable {
  /// What came of a URL.
  ///
  /// The enumeration is closed: no version adds a case.
  public enum Outcome: Hashable, Sendable {
    /// The thumbnail was stored, or the store had it. A load of the same variant has it, unless it has expired
    /// since. Of a job with ``ImageJobRequest/Decoding/lazy``, the original was.
    case done(Thumbnail, isFromCache: Bool)
    /// There is no thumbnail.
    case failed(ImageError)
    /// The job was cancelled before.
    case cancelled
  }

  /// The position in the list, from 0.
  public let index: Int
  /// The URL as it was submitted.
  public let url: String
  /// What came of it; `nil` if it has no result yet.
  public let outcome: Outcome?

  /// A result, such as one for a test.
  public init(index: Int, url: String, outcome: Outcome?) {
    self.index = index
    self.url = url
    self.outcome = outcome
  }

  /// Why there is no thumbnail, if the URL has failed.
  public var error: ImageError? {
    if case .failed(let error) = outcome { error } else { nil }
  }
}

extension ImageJobResult.Outcome {
  /// - Parameter url: of the line, as it was submitted.
  init(_ outcome: Outcome, url: String) {
    self =
      switch outcome {
      case .done(let thumbnail, let isFromCache, _): .done(thumbnail, isFromCache: isFromCache)
      case .failed(let failure, _): .failed(ImageError(failure, url: url))
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
