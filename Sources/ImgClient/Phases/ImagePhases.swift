/// The phases of a load, see ``ImagePhase``. Each iteration is a load of its own, which begins with the first
/// phase that is asked for.
///
/// A reader that is slow sees the newest phase, not all of them. The load ends when its reader's task is
/// cancelled, with the phase `failure` and the code `cancelled`, and when its iterator is released.
public struct ImagePhases: AsyncSequence, Sendable {
  private let start: @Sendable () -> PhaseLoad

  init(_ start: @escaping @Sendable () -> PhaseLoad) {
    self.start = start
  }

  /// Prepares a load.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(start: start)
  }

  /// One load.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private let start: @Sendable () -> PhaseLoad
    private var load: PhaseLoad?

    fileprivate init(start: @escaping @Sendable () -> PhaseLoad) {
      self.start = start
    }

    /// The next phase; `nil` after the last one. An error is a phase, too. One task at a time waits.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(Never) -> ImagePhase? {
      if let load { return await load.next() }
      let load = start()
      self.load = load
      return load.first ?? .empty
    }
  }
}

/// A load whose phases are read. It is cancelled with this object.
final class PhaseLoad: Sendable {
  /// The phase that it begins with; `nil` for `empty`.
  let first: ImagePhase?
  private let relay: PhaseRelay
  private let task: Task<Void, Never>?

  /// A load that has its image, or cannot have one.
  init(ended phase: ImagePhase) {
    first = phase
    task = nil
    relay = PhaseRelay(hasEnded: true)
  }

  /// A load that begins now.
  init(
    _ load:
      @escaping @Sendable (@escaping @Sendable (ImageUpdate) -> Void) async
      -> Result<LoadedImage, ImageError>
  ) {
    first = nil
    let relay = PhaseRelay()
    self.relay = relay
    task = Task {
      relay.end(await load { relay.publish($0) })
    }
  }

  deinit {
    task?.cancel()
  }

  /// Ends the load. Its reader gets no result of it.
  ///
  /// - Returns: whether the reader had not read the last phase.
  func discard(_ error: ImageError) -> Bool {
    task?.cancel()
    return relay.discard(error)
  }

  func next() async -> ImagePhase? {
    await withTaskCancellationHandler {
      await relay.next()
    } onCancel: {
      task?.cancel()
    }
  }
}
