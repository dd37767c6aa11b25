import ImgClient
import ImgHTTP
@_spi(Containers) import ImgModel
import Synchronization

/// Loads that go on after the requests that began them were answered with a substitute.
///
/// Equal requests share a load, and each load counts for the ``LoadLimit`` until it ends. What a load leaves that no
/// store has is kept for a while, so that those who ask again get it: a failure, or a picture that was not stored.
final class ContinuedLoads: MemoryUser {
  /// How far a load is when a request has waited for it.
  enum Progress {
    case ended(Result<PictureLoader.Outcome, ImageError>)
    /// - Parameter age: since its begin.
    case underWay(age: Duration)
  }

  private struct Ended {
    let result: Result<PictureLoader.Outcome, ImageError>
    let end: ContinuousClock.Instant
  }

  private struct State {
    var loads: [ImageRequest: ContinuedLoad] = [:]
    var ended = LeastRecentlyUsed<ImageRequest, Ended>()
    /// What the newest result takes.
    var newestCost = 0

    mutating func result(
      for request: ImageRequest, at now: ContinuousClock.Instant
    ) -> Result<PictureLoader.Outcome, ImageError>? {
      guard let known = ended.value(of: request) else { return nil }
      guard now < known.end else {
        ended.remove(request)
        return nil
      }
      return known.result
    }
  }

  /// The time in which those who are told to ask again do so. After it, the next request begins another load.
  private static let memory = Duration.seconds(20)
  /// What an entry needs beside a URL and a body, about.
  private static let overhead = 1_024

  private let loader: PictureLoader
  /// Of a load, which may have a shorter one of its own.
  private let timeout: Duration
  private let now: @Sendable () -> ContinuousClock.Instant
  private let state = Mutex(State())

  init(
    _ loader: PictureLoader, timeout: Duration,
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    self.loader = loader
    self.timeout = timeout
    self.now = now
    loader.images.memory.add(self)
  }

  /// The size of what ended loads have left.
  var keptByteCount: Int { state.withLock(\.ended.cost) }

  /// The newest result stays. Without it, a client that was told to ask again would begin the load again, and again
  /// would find nothing.
  func trim(toByteCount byteCount: Int) {
    state.withLock { $0.ended.trim(toCost: max(byteCount, $0.newestCost)) }
  }

  /// Waits for the load of a picture that is not stored, which begins now if none is under way.
  ///
  /// - Parameter limit: zero returns at once.
  func progress(of request: ImageRequest, within limit: Duration) async -> Progress {
    let load: ContinuedLoad
    switch entry(for: request) {
    case .result(let result): return .ended(result)
    case .known(let known): load = known
    case .new(let new):
      load = new
      start(new, request)
    }
    if let result = await load.result(within: limit) { return .ended(result) }
    return .underWay(age: now() - load.begin)
  }

  private enum Entry {
    case result(Result<PictureLoader.Outcome, ImageError>)
    case known(ContinuedLoad)
    case new(ContinuedLoad)
  }

  private func entry(for request: ImageRequest) -> Entry {
    let now = now()
    return state.withLock { state in
      if let load = state.loads[request] { return .known(load) }
      if let result = state.result(for: request, at: now) { return .result(result) }
      let load = ContinuedLoad(begin: now)
      state.loads[request] = load
      return .new(load)
    }
  }

  private func start(_ load: ContinuedLoad, _ request: ImageRequest) {
    // Immediate, so that a load that is refused is refused before its request is answered.
    Task.immediate { [self] in
      let result: Result<PictureLoader.Outcome, ImageError>
      do throws(ImageError) {
        result = .success(
          try await loader.image(
            for: request, found: .nothing, within: request.timeLimit(upTo: timeout)))
      } catch {
        result = .failure(error)
      }
      end(request, result)
      load.end(result)
    }
  }

  private func end(
    _ request: ImageRequest, _ result: Result<PictureLoader.Outcome, ImageError>
  ) {
    let end = now().advanced(by: Self.memory)
    state.withLock { state in
      state.loads[request] = nil
      guard let byteCount = Self.keptByteCount(of: result) else { return }
      state.newestCost = byteCount + request.url.utf8.count + Self.overhead
      state.ended.insert(
        Ended(result: result, end: end), as: request, cost: state.newestCost)
    }
    loader.images.memory.settle()
  }

  /// The bytes of a body that is kept; `nil` for a result that is stored, or that says nothing of the picture.
  private static func keptByteCount(
    of result: Result<PictureLoader.Outcome, ImageError>
  ) -> Int? {
    switch result {
    case .failure: 0
    case .success(.image(let image)): image.storedAt == nil ? image.body.count : nil
    case .success(.noRoom), .success(.noLoad): nil
    }
  }
}

/// A load, and the requests that wait for its end.
private final class ContinuedLoad: Sendable {
  private struct State {
    var result: Result<PictureLoader.Outcome, ImageError>?
    var readers: [Int: AsyncStream<Void>.Continuation] = [:]
    var lastReader = 0
  }

  let begin: ContinuousClock.Instant
  private let state = Mutex(State())

  init(begin: ContinuousClock.Instant) {
    self.begin = begin
  }

  func end(_ result: Result<PictureLoader.Outcome, ImageError>) {
    let readers = state.withLock { state in
      state.result = result
      defer { state.readers = [:] }
      return Array(state.readers.values)
    }
    for reader in readers { reader.finish() }
  }

  /// - Returns: `nil` if the load has not ended by then.
  func result(within limit: Duration) async -> Result<PictureLoader.Outcome, ImageError>? {
    if limit > .zero {
      // The end of the time ends the wait alone. What is known then counts.
      _ = try? await Deadline.value(within: limit) { () async throws(ImageError) in
        await self.wait()
      }
    }
    return state.withLock(\.result)
  }

  /// Returns at the end of the load, or when the task is cancelled.
  private func wait() async {
    let (end, reader) = AsyncStream<Void>.makeStream()
    let number = state.withLock { state -> Int? in
      guard state.result == nil else { return nil }
      state.lastReader += 1
      state.readers[state.lastReader] = reader
      return state.lastReader
    }
    guard let number else { return }
    for await _ in end {}
    state.withLock { _ = $0.readers.removeValue(forKey: number) }
  }
}
