import Synchronization

/// Loads thumbnails before they are needed, a few at a time, in the order in which they were asked for. They
/// are stored, and do not fill the memory of this process. They are less urgent than what is looked at.
///
/// For a list of many thousands, a job is better, because it survives this process: see ``ImageJobs``.
public final class ImagePrefetcher: Sendable {
  /// How many requests there are of each kind. A request is counted once.
  public struct Counts: Hashable, Sendable {
    /// Requests that wait for their turn.
    public internal(set) var waiting = 0
    /// Requests whose loads are under way.
    public internal(set) var loading = 0
    /// Requests whose thumbnails are in the store.
    public internal(set) var loaded = 0
    /// Requests that failed.
    public internal(set) var failed = 0
    /// Requests that were stopped before their end.
    public internal(set) var stopped = 0

    /// All requests.
    public var total: Int { waiting + loading + loaded + failed + stopped }
  }

  private struct State {
    /// In the order of their turns, from ``nextIndex`` on. Stopped ones stay until their turn.
    var queue: [ImageRequest] = []
    var nextIndex = 0
    var waiting: Set<ImageRequest> = []
    var tasks: [ImageRequest: Task<Void, Never>] = [:]
    var loading: Set<ImageRequest> = []
    var isPaused = false
    var loadedCount = 0
    var failedCount = 0
    var stoppedCount = 0
    var idleWaiters: [CheckedContinuation<Void, Never>] = []

    var isIdle: Bool { waiting.isEmpty && loading.isEmpty }

    mutating func takeNext() -> ImageRequest? {
      while nextIndex < queue.count {
        let next = queue[nextIndex]
        nextIndex += 1
        if nextIndex == queue.count {
          queue = []
          nextIndex = 0
        }
        if waiting.remove(next) != nil { return next }
      }
      return nil
    }
  }

  /// The loads that are under way at the same time, at most.
  public let limit: Int
  /// How urgent the requests are, whatever ``ImageRequest/priority`` they have.
  public let priority: ImageRequest.Priority
  private let client: ImageClient
  private let state = Mutex(State())

  /// A prefetcher without requests.
  ///
  /// - Parameter limit: the loads that may be under way at the same time; at least 1.
  public init(
    client: ImageClient, limit: Int = 4, priority: ImageRequest.Priority = .low
  ) {
    self.client = client
    self.limit = max(1, limit)
    self.priority = priority
  }

  deinit {
    for task in state.withLock({ Array($0.tasks.values) }) { task.cancel() }
  }

  /// Asks for thumbnails. A request that waits or loads already is not added again.
  public func start(_ requests: some Sequence<ImageRequest>) {
    state.withLock { state in
      for request in requests
      where !state.loading.contains(request) && state.waiting.insert(request).inserted {
        state.queue.append(request)
      }
    }
    startTasks()
  }

  /// Stops requests that wait or load. Others are not affected.
  public func stop(_ requests: some Sequence<ImageRequest>) {
    let tasks = state.withLock { state in
      requests.compactMap { request -> Task<Void, Never>? in
        if state.waiting.remove(request) != nil { state.stoppedCount += 1 }
        return state.tasks[request]
      }
    }
    for task in tasks { task.cancel() }
    resumeIdleWaiters()
  }

  /// Stops all requests that wait or load.
  public func stopAll() {
    stop(state.withLock { Array($0.waiting) + Array($0.loading) })
  }

  /// Whether no further loads begin. Those that are under way go on.
  public var isPaused: Bool {
    get { state.withLock { $0.isPaused } }
    set {
      state.withLock { $0.isPaused = newValue }
      startTasks()
    }
  }

  /// How many requests there are of each kind now.
  public var counts: Counts {
    state.withLock { state in
      Counts(
        waiting: state.waiting.count, loading: state.loading.count, loaded: state.loadedCount,
        failed: state.failedCount, stopped: state.stoppedCount)
    }
  }

  /// Waits until no request waits or loads. A prefetcher that is paused may never be.
  public func waitUntilIdle() async {
    await withCheckedContinuation { continuation in
      let isIdle = state.withLock { state in
        if !state.isIdle { state.idleWaiters.append(continuation) }
        return state.isIdle
      }
      if isIdle { continuation.resume() }
    }
  }

  private func startTasks() {
    state.withLock { state in
      while !state.isPaused, state.loading.count < limit, let next = state.takeNext() {
        state.loading.insert(next)
        let client = client
        var request = next
        request.priority = priority
        state.tasks[next] = Task { [weak self, request] in
          let result: Result<Void, ImageError>
          do throws(ImageError) {
            result = .success(try await client.prefetch(request))
          } catch {
            result = .failure(error)
          }
          self?.ended(next, result)
        }
      }
    }
  }

  private func ended(_ request: ImageRequest, _ result: Result<Void, ImageError>) {
    state.withLock { state in
      state.loading.remove(request)
      state.tasks[request] = nil
      switch result {
      case .success: state.loadedCount += 1
      case .failure(let error) where error.code == .cancelled: state.stoppedCount += 1
      case .failure: state.failedCount += 1
      }
    }
    startTasks()
    resumeIdleWaiters()
  }

  private func resumeIdleWaiters() {
    let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
      guard state.isIdle else { return [] }
      defer { state.idleWaiters = [] }
      return state.idleWaiters
    }
    for waiter in waiters { waiter.resume() }
  }
}
