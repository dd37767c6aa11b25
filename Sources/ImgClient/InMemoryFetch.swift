import Synchronization

/// One fetch of an ``InMemoryCluster``, and the loads that wait for it.
final class InMemoryFetch: Sendable {
  private struct Reader {
    let onUpdate: @Sendable (ImageUpdate) -> Void
    let continuation: CheckedContinuation<Result<LoadedImage, ImageError>, Never>
  }

  private enum Stage {
    case created, running, holding
    /// It has its result.
    case completed
    /// All readers have left before.
    case abandoned

    var isEnd: Bool { self == .completed || self == .abandoned }
  }

  private struct State {
    var stage = Stage.created
    var nextStep = 0
    var readers: [Int: Reader] = [:]
    var lastReader = 0
    /// A permit may have come since one was asked for.
    var mayHavePermit = false
    /// Readers that have not left, whether or not they wait already.
    var present: Set<Int> = []
  }

  private let result: Result<LoadedImage, ImageError>
  private let steps: [InMemoryCluster.Step]
  private let takesPermit: @Sendable () -> Bool
  private let onEnd: @Sendable (_ fetch: InMemoryFetch, _ isComplete: Bool) -> Void
  private let state = Mutex(State())

  /// - Parameters:
  ///   - takesPermit: whether the fetch may pass a hold; asked again by ``resume()``.
  ///   - onEnd: is told whether the fetch has its result, or no reader is left.
  init(
    _ steps: [InMemoryCluster.Step], _ result: Result<LoadedImage, ImageError>,
    takesPermit: @escaping @Sendable () -> Bool,
    onEnd: @escaping @Sendable (_ fetch: InMemoryFetch, _ isComplete: Bool) -> Void
  ) {
    self.steps = steps
    self.result = result
    self.takesPermit = takesPermit
    self.onEnd = onEnd
  }

  /// Promises a reader. The last one that leaves ends the fetch.
  ///
  /// - Returns: its number for ``image(for:about:_:)``; `nil` if the fetch was abandoned.
  func reserveReader() -> Int? {
    state.withLock { state in
      guard state.stage != .abandoned else { return nil }
      state.lastReader += 1
      state.present.insert(state.lastReader)
      return state.lastReader
    }
  }

  /// Waits for the result. The first reader that waits starts the fetch.
  func image(
    for number: Int, about url: String, _ onUpdate: @escaping @Sendable (ImageUpdate) -> Void
  ) async throws(ImageError) -> LoadedImage {
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        join(Reader(onUpdate: onUpdate, continuation: continuation), as: number, about: url)
      }
    } onCancel: {
      leave(number, about: url)
    }
    return try result.get()
  }

  private enum Joined {
    case first, later
    /// It has left, or the fetch has its result.
    case not(Result<LoadedImage, ImageError>)
  }

  private func join(_ reader: Reader, as number: Int, about url: String) {
    let joined: Joined = state.withLock { state in
      guard state.present.contains(number) else { return .not(.failure(.cancelled(url))) }
      guard state.stage != .completed else { return .not(result) }
      state.readers[number] = reader
      guard state.stage == .created else { return .later }
      state.stage = .running
      return .first
    }
    switch joined {
    case .first: run()
    case .later: break
    case .not(let result): reader.continuation.resume(returning: result)
    }
  }

  private func leave(_ number: Int, about url: String) {
    let (reader, isAbandoned) = state.withLock { state in
      state.present.remove(number)
      let isAbandoned = state.present.isEmpty && !state.stage.isEnd
      if isAbandoned { state.stage = .abandoned }
      return (state.readers.removeValue(forKey: number), isAbandoned)
    }
    if isAbandoned { onEnd(self, false) }
    reader?.continuation.resume(returning: .failure(.cancelled(url)))
  }

  /// Continues if it holds and a permit is there.
  func resume() {
    if passesHold() { run() }
  }

  /// One caller at a time claims the hold and asks for a permit, so that no permit is taken twice.
  private func passesHold() -> Bool {
    while claimHold() {
      if takesPermit() { return true }
      let mayHavePermit = state.withLock { state in
        guard state.stage == .running else { return false }
        state.stage = .holding
        return state.mayHavePermit
      }
      guard mayHavePermit else { return false }
    }
    return false
  }

  private func claimHold() -> Bool {
    state.withLock { state in
      guard state.stage == .holding else {
        state.mayHavePermit = true
        return false
      }
      state.stage = .running
      state.mayHavePermit = false
      return true
    }
  }

  /// Runs the steps up to the next one that holds.
  private func run() {
    while let step = takeStep() {
      switch step {
      case .update(let update):
        let readers = state.withLock { Array($0.readers.values) }
        for reader in readers { reader.onUpdate(update) }
      case .hold:
        guard passesHold() else { return }
      }
    }
  }

  /// - Returns: `nil` at the end.
  private func takeStep() -> InMemoryCluster.Step? {
    let (step, readers) = state.withLock { state -> (InMemoryCluster.Step?, [Reader]?) in
      guard state.stage == .running else { return (nil, nil) }
      guard state.nextStep < steps.count else {
        state.stage = .completed
        defer { state.readers = [:] }
        return (nil, Array(state.readers.values))
      }
      let step = steps[state.nextStep]
      state.nextStep += 1
      if step == .hold { state.stage = .holding }
      return (step, nil)
    }
    if let readers {
      onEnd(self, true)
      for reader in readers { reader.continuation.resume(returning: result) }
    }
    return step
  }
}
