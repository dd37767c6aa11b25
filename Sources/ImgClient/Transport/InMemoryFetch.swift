import Synchronization

/// One fetch of an ``InMemoryCluster``, and the loads that wait for it.
final class InMemoryFetch: Sendable {
  private struct Reader {
    let onUpdate: @Sendable (ImageUpdate) -> Void
    let continuation: CheckedContinuation<Result<LoadedImage, ImageError>, Never>
  }

  private enum Stage {
    case created, running, holding, ended
  }

  private struct State {
    var stage = Stage.created
    var nextStep = 0
    var readers: [Int: Reader] = [:]
    var lastReader = 0
    /// Readers that left before they waited.
    var departed: Set<Int> = []
  }

  let result: Result<LoadedImage, ImageError>
  private let steps: [InMemoryCluster.Step]
  private let onEnd: @Sendable (_ isComplete: Bool) -> Void
  private let state = Mutex(State())

  /// - Parameter onEnd: is told whether the fetch has its result, or nobody waits for it any more.
  init(
    _ steps: [InMemoryCluster.Step], _ result: Result<LoadedImage, ImageError>,
    onEnd: @escaping @Sendable (_ isComplete: Bool) -> Void
  ) {
    self.steps = steps
    self.result = result
    self.onEnd = onEnd
  }

  /// Waits for the result. The first reader starts the fetch, the last one that leaves ends it.
  func image(
    about url: String, _ onUpdate: @escaping @Sendable (ImageUpdate) -> Void
  ) async throws(ImageError) -> LoadedImage {
    let number = state.withLock { state in
      state.lastReader += 1
      return state.lastReader
    }
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        join(Reader(onUpdate: onUpdate, continuation: continuation), as: number, about: url)
      }
    } onCancel: {
      leave(number, about: url)
    }
    return try result.get()
  }

  private func join(_ reader: Reader, as number: Int, about url: String) {
    let isFirst: Bool? = state.withLock { state in
      guard state.stage != .ended, !state.departed.contains(number) else { return nil }
      state.readers[number] = reader
      defer { if state.stage == .created { state.stage = .running } }
      return state.stage == .created
    }
    switch isFirst {
    case nil:
      reader.continuation.resume(returning: Task.isCancelled ? .failure(.cancelled(url)) : result)
    case true?: run()
    case false?: break
    }
  }

  private func leave(_ number: Int, about url: String) {
    let (reader, isAbandoned) = state.withLock { state in
      state.departed.insert(number)
      let reader = state.readers.removeValue(forKey: number)
      let isAbandoned = reader != nil && state.readers.isEmpty && state.stage != .ended
      if isAbandoned { state.stage = .ended }
      return (reader, isAbandoned)
    }
    if isAbandoned { onEnd(false) }
    reader?.continuation.resume(returning: .failure(.cancelled(url)))
  }

  /// Goes on if it holds.
  ///
  /// - Returns: whether it held.
  func resume() -> Bool {
    let wasHolding = state.withLock { state in
      guard state.stage == .holding else { return false }
      state.stage = .running
      return true
    }
    if wasHolding { run() }
    return wasHolding
  }

  /// Runs the steps up to the next one that holds.
  private func run() {
    while let step = takeStep() {
      guard case .update(let update) = step else { return }
      let readers = state.withLock { Array($0.readers.values) }
      for reader in readers { reader.onUpdate(update) }
    }
  }

  /// - Returns: `nil` at the end.
  private func takeStep() -> InMemoryCluster.Step? {
    let (step, readers) = state.withLock { state -> (InMemoryCluster.Step?, [Reader]?) in
      guard state.stage == .running else { return (nil, nil) }
      guard state.nextStep < steps.count else {
        state.stage = .ended
        defer { state.readers = [:] }
        return (nil, Array(state.readers.values))
      }
      let step = steps[state.nextStep]
      state.nextStep += 1
      if step == .hold { state.stage = .holding }
      return (step, nil)
    }
    if let readers {
      onEnd(true)
      for reader in readers { reader.continuation.resume(returning: result) }
    }
    return step
  }
}
