import ImgModel
public import Observation
import Synchronization

/// The image of one request at a time, for a view that observes it: the image, whether it loads, and why there is
/// none.
///
/// ```swift
/// let picture = ObservableImage(client: client)
/// picture.load("https://example.org/a.jpg")
/// for await image in Observations({ picture.image }) {
///   if let image { show(image.bytes) }
/// }
/// ```
///
/// An image stays until the next one is there. Observers that are slow see the newest values, not all of them.
/// Each property notifies those who read it, so a view of ``image`` is not drawn again for ``progress``.
///
/// All of it belongs to the main actor, so that no observer misses a change. A program whose main thread does not
/// run the main actor reads ``ImageClient/phases(for:)`` instead. The load ends when the object is released.
@MainActor @Observable
public final class ObservableImage {
  /// What was asked for last; `nil` before the first load and after ``clear()``.
  public private(set) var request: ImageRequest?
  /// The image of ``request``. While it loads, and after a load again that has failed or was cancelled, the image
  /// that was there before.
  public private(set) var image: LoadedImage?
  /// Whether a load is under way.
  public private(set) var isLoading = false
  /// Why the last load has no image, also because it was cancelled; `nil` while it is under way and if it succeeded.
  public private(set) var error: ImageError?
  /// How far the last load is. ``ImagePhase/empty`` if nothing was asked for.
  public private(set) var phase = ImagePhase.empty

  @ObservationIgnored private let client: ImageClient
  @ObservationIgnored private var reader: Task<Void, Never>?
  /// What ``image`` was loaded for.
  @ObservationIgnored private var imageRequest: ImageRequest?

  /// Shows nothing.
  public init(client: ImageClient) {
    self.client = client
  }

  deinit {
    reader?.cancel()
  }

  /// How much has arrived, while a load without previews is under way and something has.
  public var progress: ImageProgress? {
    if case .loading(let progress) = phase { progress } else { nil }
  }

  /// What the picture looks like until now, while a load with previews is under way and there is one.
  public var preview: ImagePreview? {
    if case .preview(let preview) = phase { preview } else { nil }
  }

  /// Shows the image of a request from now on. A load of another request ends. An image that is at hand is there when
  /// this returns.
  ///
  /// Nothing changes if the same request is loading, or has its image. A load that has failed or was cancelled begins
  /// again.
  public func load(_ request: ImageRequest) {
    let isCurrent = request == self.request && error == nil
    if !isCurrent { begin(request, as: request) }
  }

  /// Loads the image again from the origin, with ``ImageRequest/CachePolicy/reload``. The image of now stays until
  /// the new one is there, also if none comes. Does nothing before the first load.
  public func reload() {
    guard let request else { return }
    var reload = request
    // A request that must not ask the origin, or not write the store, keeps that.
    switch request.cachePolicy {
    case .cacheElseLoad, .byProtocol: reload.cachePolicy = .reload
    case .reload, .cacheOnly, .bypass: break
    }
    begin(reload, as: request)
  }

  /// Ends the load that is under way, with the error ``ImageError/Code/cancelled``. The image stays.
  public func cancel() {
    guard isLoading else { return }
    end()
    publish(.failure(.cancelled(request?.url)))
  }

  /// Shows nothing from now on. A load that is under way ends.
  public func clear() {
    end()
    (request, image, imageRequest) = (nil, nil, nil)
    (phase, error, isLoading) = (.empty, nil, false)
  }

  /// - Parameter asked: the request without what the load changes in it.
  private func begin(_ request: ImageRequest, as asked: ImageRequest) {
    end()
    self.request = asked
    let load = client.startLoad(request)
    publish(load.first ?? .empty)
    guard load.first == nil else { return }
    // Without the object, so that its release ends the load.
    reader = Task { [weak self] in
      while let phase = await load.next() {
        // Who cancels is on the main actor, too, so a load that was replaced publishes nothing.
        guard !Task.isCancelled else { return }
        self?.publish(phase)
      }
    }
  }

  private func end() {
    reader?.cancel()
    reader = nil
  }

  private func publish(_ phase: ImagePhase) {
    switch phase {
    case .empty, .loading, .preview: break
    case .success(let image): (self.image, imageRequest) = (image, request)
    // A picture must not stand in the place of another one for good.
    case .failure where imageRequest != request: (image, imageRequest) = (nil, nil)
    case .failure: break
    }
    self.phase = phase
    error = phase.error
    isLoading = !phase.isTerminal
  }
}

/// A place that shows one picture at a time, such as a cell of a list that is scrolled.
///
/// Showing another picture ends the load of the former one. The place drops the former result even if it has
/// arrived, so a picture never appears in the place of another one.
public final class ImageViewer: Sendable {
  private struct State {
    var generation = 0
    /// Belongs to its reader; `nil` before its first phase is asked for.
    weak var load: PhaseLoad?
    var discardedCount = 0
  }

  private let client: ImageClient
  private let state = Mutex(State())

  /// A place that shows nothing.
  public init(client: ImageClient) {
    self.client = client
  }

  /// Shows another picture from now on.
  ///
  /// - Returns: the phases of its load, to be read once. Those of the former picture end with the error
  ///   ``ImageError/Code/cancelled``.
  public func show(_ request: ImageRequest) -> ImagePhases {
    let generation = replaceLoad()
    return ImagePhases { [self] in start(request, generation) }
  }

  /// Shows nothing from now on.
  public func clear() {
    _ = replaceLoad()
  }

  /// The loads that ended because the place showed something else before they were read to their end.
  public var discardedCount: Int { state.withLock { $0.discardedCount } }

  private func replaceLoad() -> Int {
    let (load, generation) = state.withLock { state in
      state.generation += 1
      defer { state.load = nil }
      return (state.load, state.generation)
    }
    if let load, load.discard(Self.replaced) { countDiscarded() }
    return generation
  }

  private func start(_ request: ImageRequest, _ generation: Int) -> PhaseLoad {
    let isCurrent = state.withLock { $0.generation == generation }
    guard isCurrent else { return discarded() }
    let load = client.startLoad(request)
    let isStillCurrent = state.withLock { state in
      guard state.generation == generation else { return false }
      state.load = load
      return true
    }
    return isStillCurrent ? load : discarded()
  }

  /// A load whose place was taken before it began.
  private func discarded() -> PhaseLoad {
    countDiscarded()
    return PhaseLoad(ended: .failure(Self.replaced))
  }

  private func countDiscarded() {
    state.withLock { $0.discardedCount += 1 }
  }

  private static let replaced = ImageError(
    code: .cancelled, message: "the place shows another picture now")
}
