import Synchronization

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
