public import ImgModel
import ImgSystem
import ImgWire
import Synchronization

/// What is done with the URLs of a job.
public struct ImageJobRequest: Hashable, Sendable {
  /// When the pictures of a job are decoded.
  ///
  /// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
  @nonexhaustive
  public enum Decoding: String, Hashable, Sendable, CaseIterable {
    /// When they have arrived: the job stores thumbnails.
    case eager
    /// When they are loaded: the job stores originals after a check of their headers, and no thumbnails. A load of any
    /// variant makes its thumbnail without a request to the origin, and is the first to find a picture damaged.
    case lazy
  }

  /// What each thumbnail shows, and how it is encoded.
  public var variant: ImageVariant
  /// The name of the job in lists, up to 200 bytes.
  public var name: String?
  /// Which of several jobs comes first.
  public var priority = ImageJob.Priority.normal
  /// The order in which URLs start.
  public var order = LineOrder.firstInFirstOut
  /// How long the job waits before its first URL starts, at most a day.
  public var delay = Duration.zero
  /// How long each URL may take from the moment at which its fetch begins, from 1 ms to a day; `nil` for no limit but
  /// those of the cluster. One that takes longer fails with ``ImageError/Code/timeout``; other requests for it go on.
  public var timeout: Duration?
  /// Who answers: the store or the origin. A job stores its thumbnails, so
  /// ``ImageRequest/CachePolicy/bypass`` is refused.
  public var cachePolicy = ImageRequest.CachePolicy.cacheElseLoad
  /// When the thumbnails expire.
  public var expiry = ImageRequest.Expiry.standard
  /// Fields that are added to requests to the origins.
  public var headers: [ImageRequest.HeaderField] = []
  /// What the store keeps of each picture. With an original, other sizes need no further fetch.
  public var kept = ImageRequest.Kept.thumbnail
  /// The query parameters that are no part of a picture's name, see ``ImageRequest/ignoredQuery``.
  public var ignoredQuery: [String] = []
  /// Whether URLs that an origin's robots.txt disallows fail with ``ImageError/Code/optedOut`` (RFC 9309).
  public var respectsRobots = false
  /// Whether pictures fail with ``ImageError/Code/optedOut`` if their origin opts out in an `X-Robots-Tag`.
  public var respectsOptOut = true
  /// How many transfers may start at one host in a minute, at most 600,000; `nil` for as many as the cluster permits.
  /// The lower of both holds.
  public var ratePerHost: Int?
  /// How many transfers of one URL there may be if they fail temporarily, at most 100; `nil` for as many as the
  /// cluster permits, which are the most.
  public var attempts: Int?
  /// A mail address or URL in the User-Agent of the requests, for questions from origins; `nil` for that of the cluster.
  public var contact: String?
  /// Whether damaged pictures have thumbnails, too, as far as they can be decoded.
  public var acceptsDamage = false
  /// When the pictures are decoded. With ``Decoding/lazy``, ``variant``, ``kept`` and ``acceptsDamage`` do not matter, and a
  /// cluster in memory refuses the job.
  public var decoding = Decoding.eager

  /// A request for one variant of each picture.
  public init(variant: ImageVariant = .standard) {
    self.variant = variant
  }

  /// A request for thumbnails that fit a square box.
  public init(size: Int) {
    self.init(variant: ImageVariant(size: size))
  }

  /// The load of one URL.
  func load(of url: String) -> ImageRequest {
    var request = ImageRequest(url: url, variant: variant)
    request.cachePolicy = cachePolicy
    request.expiry = expiry
    request.headers = headers
    request.kept = kept
    request.ignoredQuery = ignoredQuery
    request.respectsRobots = respectsRobots
    request.respectsOptOut = respectsOptOut
    request.acceptsDamage = acceptsDamage
    request.timeout = timeout
    return request
  }
}

extension ImageJobRequest {
  /// The options as the cluster knows them.
  ///
  /// - Throws: ``ImageError/Code/invalidRequest``.
  func options() throws(ImageError) -> RequestOptions {
    guard cachePolicy != .bypass else {
      throw ImageError(invalidRequest: "a job stores its thumbnails, so it cannot bypass the store")
    }
    var request = load(of: "")
    request.delay = delay
    let limits = try checkedLimits()
    var options = try ClusterRequest.options(of: request, timeout: timeout, limits)
    options.priority = priority.rawValue
    options.fetch.contact = try contact.map { (text) throws(ImageError) in
      try rethrowing(try Contact(text)) { (error: InvalidFetchOption) in
        ImageError(invalidRequest: "\(error)")
      }
    }
    if decoding == .lazy { options.request.keep = .undecodedOriginal }
    return options
  }
}

extension ImageJobRequest {
  /// - Throws: ``ImageError/Code/invalidRequest`` for a rate or attempts out of range.
  private func checkedLimits() throws(ImageError) -> (hostRatePerMinute: Int, attempts: Int?) {
    let rates = LimitChange.hostRateRange
    guard ratePerHost.map({ $0 > 0 && rates.contains($0) }) ?? true else {
      throw ImageError(
        invalidRequest: "a rate per host is from 1 to \(rates.upperBound) transfer starts a minute")
    }
    guard attempts.map(RequestOptions.attemptRange.contains) ?? true else {
      throw ImageError(invalidRequest: "attempts are from 1 to 100")
    }
    return (ratePerHost ?? 0, attempts)
  }
}

extension ImageError {
  static var emptyList: ImageError { ImageError(invalidRequest: "the list has no URL") }
}

/// A list that is sent from a thread of its own, over a connection of its own, so that neither a long list
/// nor one that is read slowly delays other requests.
final class JobSubmission: Sendable {
  private typealias Job = Result<JobID, ImageError>

  private enum Stage {
    case created
    case waiting(CheckedContinuation<Job, Never>)
    /// The task has its answer, or was cancelled.
    case ended
  }

  private struct State {
    var stage = Stage.created
    /// Whether the coordinator may have the whole list.
    var isListSent = false
    /// The connection while it may be shut down.
    var socket: CInt?

    mutating func end() -> CheckedContinuation<Job, Never>? {
      defer { stage = .ended }
      if case .waiting(let continuation) = stage { return continuation }
      return nil
    }

    var hasEnded: Bool { if case .ended = stage { true } else { false } }
  }

  private let name: String?
  private let options: RequestOptions
  private let order: LineOrder
  private let state = Mutex(State())

  init(name: String?, options: RequestOptions, order: LineOrder) {
    self.name = name
    self.options = options
    self.order = order
  }

  /// Submits the list, once.
  ///
  /// - Parameter connect: makes a connection; may block.
  /// - Returns: when the job is durable.
  func job(
    of urls: some Sequence<String> & Sendable,
    connect: @escaping @Sendable () throws(ClientError) -> Client
  ) async throws(ImageError) -> JobID {
    let job = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard wait(continuation) else {
          return continuation.resume(returning: .failure(.cancelled(nil)))
        }
        start(urls, connect)
      }
    } onCancel: {
      cancel()
    }
    return try job.get()
  }

  private func wait(_ continuation: CheckedContinuation<Job, Never>) -> Bool {
    state.withLock { state in
      guard !state.hasEnded else { return false }
      state.stage = .waiting(continuation)
      return true
    }
  }

  /// Ends the thread, too, which may wait for the coordinator.
  private func cancel() {
    let (continuation, isListSent) = state.withLock { state in
      if let socket = state.socket { StreamSocket.shutDown(socket) }
      return (state.end(), state.isListSent)
    }
    continuation?.resume(returning: .failure(isListSent ? .cancelledAfterList : .cancelled(nil)))
  }

  private func end(_ job: Job) {
    state.withLock { $0.end() }?.resume(returning: job)
  }

  // MARK: - The thread

  private func start(
    _ urls: some Sequence<String> & Sendable,
    _ connect: @escaping @Sendable () throws(ClientError) -> Client
  ) {
    do throws(SystemError) {
      _ = try ServiceThread<Never>(name: "imgclient-list", capacity: 1) { [self] _ in
        send(urls, connect)
      }
    } catch {
      end(.failure(ImageError(code: .internal, isRetryable: true, message: "\(error)")))
    }
  }

  private func send(
    _ urls: some Sequence<String>, _ connect: () throws(ClientError) -> Client
  ) {
    do {
      var batches = SubmissionBatches(urls.makeIterator())
      var first = batches.next()
      guard first != nil else { throw ImageError.emptyList }
      let client = try connect()
      try adopt(client)
      defer { state.withLock { $0.socket = nil } }
      let submitted = try client.submit(name: name, options: options, order: order) {
        if let batch = first.take() ?? batches.next() { return batch }
        try listEnds()
        return nil
      }
      end(.success(submitted.job))
    } catch let error as ImageError {
      end(.failure(error))
    } catch let error as ClientError {
      end(.failure(ImageError(error, url: nil)))
    } catch {
      end(.failure(ImageError(code: .internal, message: "\(error)")))
    }
  }

  private func adopt(_ client: Client) throws(ImageError) {
    try state.withLock { state throws(ImageError) in
      guard !state.hasEnded else { throw .cancelled(nil) }
      state.socket = client.channel.descriptor
    }
  }

  /// Only a list whose end is sent becomes a job.
  private func listEnds() throws(ImageError) {
    try state.withLock { state throws(ImageError) in
      guard !state.hasEnded else { throw .cancelled(nil) }
      state.isListSent = true
    }
  }
}

extension ImageError {
  /// The task was cancelled when the coordinator may have had the whole list.
  fileprivate static var cancelledAfterList: ImageError {
    ImageError(
      code: .cancelled,
      message:
        "the submission was cancelled after the list was sent; whether it was accepted is not "
        + "known: imgctl list tells")
  }
}

/// A list in batches that fit a frame.
struct SubmissionBatches<URLs: IteratorProtocol<String>> {
  private var urls: URLs
  private var batcher = SubmissionBatcher()

  init(_ urls: URLs) {
    self.urls = urls
  }

  /// The next batch; `nil` at the end of the list.
  mutating func next() -> ListLines? {
    while let url = urls.next() {
      if let batch = batcher.add(ListLine(ImageURL.shortened(url))) { return batch }
    }
    return batcher.finish()
  }
}
