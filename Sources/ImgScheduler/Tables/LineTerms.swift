import ImgModel

/// What is made from pictures. All lines of a job share one, because it is large.
final class SharedRequest: Sendable {
  let request: ThumbnailRequest
  /// The same for all requests that join each other.
  private let joinable: ThumbnailRequest
  private let isForEveryURL: Bool

  init(_ request: ThumbnailRequest) {
    self.request = request
    var joinable = request
    joinable.keep = request.keep.joinable
    self.joinable = joinable
    isForEveryURL = request.fetch.isForEveryURL
  }

  /// The same for a URL, without what is for others.
  func narrowed(to url: ImageURL) -> SharedRequest {
    guard url.isLocal || !isForEveryURL else { return self }
    var narrowed = request
    narrowed.fetch = request.fetch.narrowed(to: url)
    // A client that has a local URL has the picture already.
    if url.isLocal { narrowed.keep = request.keep.withoutOriginal }
    return SharedRequest(narrowed)
  }

  /// Whether it asks for the same.
  func isEqual(to other: SharedRequest) -> Bool { self === other || request == other.request }

  func joins(_ other: SharedRequest) -> Bool { self === other || joinable == other.joinable }
}

extension Keep {
  /// The policy of requests that join each other: they have the same result, and an original is kept for one of
  /// them only where that is cheap.
  fileprivate var joinable: Keep {
    switch self {
    case .thumbnail, .auto: .auto
    case .none, .original, .undecodedOriginal, .all, .facts, .allFacts, .pixelFacts: self
    }
  }
}

/// What every line of a job asks for.
final class LineTerms: Sendable {
  let request: SharedRequest
  let options: RequestOptions
  private let pins: [JobID]
  private let command: CommandID?
  /// Whether the job has lost the headers to ask with.
  let lacksHeaders: Bool

  init(_ record: JobRecord, command: CommandID?) {
    request = SharedRequest(record.options.request)
    options = record.options
    pins = record.holdsPins && record.options.request.keep != .none ? [record.id] : []
    self.command = command
    lacksHeaders = record.lacksHeaders
  }

  func waiter(of job: JobID, index: Int, arrivalTag: UInt64) -> Waiter {
    Waiter(
      who: .line(job, index: index), expiry: options.expiry, pins: pins,
      priority: options.priority, arrivalTag: arrivalTag, command: command,
      timeout: options.timeout, hostRatePerMinute: options.hostRatePerMinute,
      attempts: options.attempts)
  }
}
