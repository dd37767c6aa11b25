public import ImgFacts
public import ImgModel
import Synchronization

/// Where an ``ImageClient`` has its thumbnails from. ``ClusterTransport`` asks the cluster of this
/// machine; ``InMemoryCluster`` serves tests, previews and examples.
///
/// A type implements ``loadImage(for:onUpdate:)`` at least. Every other requirement has a default
/// implementation, also those that later versions add.
public protocol ImageTransport: Sendable {
  /// A thumbnail that is at hand without waiting, such as a hit in the store. A transport that does not
  /// implement this has none.
  ///
  /// - Returns: `nil` if the request has to wait for ``loadImage(for:onUpdate:)``.
  func storedImage(for request: ImageRequest) throws(ImageError) -> LoadedImage?

  /// Loads a thumbnail. The cancellation of the task ends the load.
  ///
  /// - Parameters:
  ///   - request: its ``ImageRequest/delay`` and ``ImageRequest/timeout`` are the transport's to keep.
  ///   - onUpdate: is called in order, from any thread, and must not block. A last call may come while the
  ///     function returns. `nil` if nothing listens, so that no update has to be made.
  func loadImage(
    for request: ImageRequest, onUpdate: (@Sendable (ImageUpdate) -> Void)?
  ) async throws(ImageError) -> LoadedImage

  /// Decodes a thumbnail. A transport that does not implement this fails.
  ///
  /// - Parameter frame: of an animation, counted from 0.
  func pixels(of image: LoadedImage, frame: Int) async throws(ImageError) -> ImagePixels

  /// Reads the facts of a picture. A transport that does not implement this fails.
  ///
  /// - Parameter request: its variant does not matter.
  func facts(of request: ImageRequest) async throws(ImageError) -> PictureFacts
}

extension ImageTransport {
  /// Finds nothing.
  public func storedImage(for request: ImageRequest) throws(ImageError) -> LoadedImage? { nil }

  /// Fails with ``ImageError/Code/unsupportedOperation``.
  public func pixels(
    of image: LoadedImage, frame: Int
  ) async throws(ImageError) -> ImagePixels {
    throw ImageError(
      code: .unsupportedOperation,
      message: "\(Self.self) decodes no images; use a transport that does")
  }

  /// Fails with ``ImageError/Code/unsupportedOperation``.
  public func facts(of request: ImageRequest) async throws(ImageError) -> PictureFacts {
    throw ImageError(
      code: .unsupportedOperation,
      message: "\(Self.self) reads no facts of pictures; use a transport that does")
  }
}

/// What is known of a picture before its thumbnail is there.
///
/// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
@nonexhaustive
public enum ImageUpdate: Hashable, Sendable {
  /// More of the picture has arrived.
  case progress(ImageProgress)
  /// What the picture looks like until now.
  case preview(ImagePreview)
}

/// A transport that tells what it has stored without a copy of the bytes.
package protocol BoundedTransport: ImageTransport {
  /// As ``ImageTransport/storedImage(for:)``. A thumbnail of more bytes than the maximum has none.
  func storedImage(
    for request: ImageRequest, bytesUpTo maximumByteCount: Int
  ) throws(ImageError) -> LoadedImage?

  /// As ``ImageTransport/loadImage(for:onUpdate:)``, without updates. A thumbnail of more bytes than the maximum
  /// has none if it is stored.
  func loadImage(
    for request: ImageRequest, bytesUpTo maximumByteCount: Int
  ) async throws(ImageError) -> LoadedImage

  /// An image that was stored or loaded without its bytes, with them. Is not counted as an access, and is there
  /// although it has expired since.
  ///
  /// - Returns: `nil` if it was removed from the store.
  func wholeImage(
    _ image: LoadedImage, for request: ImageRequest
  ) throws(ImageError) -> LoadedImage?
}

extension InMemoryCluster: BoundedTransport {
  package func storedImage(
    for request: ImageRequest, bytesUpTo maximumByteCount: Int
  ) throws(ImageError) -> LoadedImage? {
    try storedImage(for: request).map { $0.bytesUpTo(maximumByteCount) }
  }

  package func loadImage(
    for request: ImageRequest, bytesUpTo maximumByteCount: Int
  ) async throws(ImageError) -> LoadedImage {
    let image = try await loadImage(for: request, onUpdate: nil)
    return image.storedAt == nil ? image : image.bytesUpTo(maximumByteCount)
  }

  package func wholeImage(
    _ image: LoadedImage, for request: ImageRequest
  ) throws(ImageError) -> LoadedImage? {
    withStore { $0.image(storedAs: MemoryKey(request)) }?.from(image.origin)
  }
}

/// A limit of the time that work may take.
package enum Deadline {
  /// Runs a load after the delay of its request, and cancels it at the end of its time.
  ///
  /// - Throws: ``ImageError/Code/timeout``, and what the load throws.
  static func load(
    _ request: ImageRequest,
    _ body: @escaping @Sendable () async throws(ImageError) -> LoadedImage
  ) async throws(ImageError) -> LoadedImage {
    try await waitForDelay(of: request)
    guard let limit = request.timeout else { return try await body() }
    return try await value(within: limit, body)
  }

  /// Waits as long as a request wants its load to wait before it begins.
  static func waitForDelay(of request: ImageRequest) async throws(ImageError) {
    guard request.delay > .zero else { return }
    do {
      try await Task.sleep(for: request.delay)
    } catch {
      throw .cancelled(request.url)
    }
  }

  /// Runs a body, and cancels it at the end of its time.
  ///
  /// - Throws: ``ImageError/Code/timeout`` if it throws then that it was cancelled, and what else it throws.
  package static func value<Value: Sendable>(
    within limit: Duration, _ body: @escaping @Sendable () async throws(ImageError) -> Value
  ) async throws(ImageError) -> Value {
    // Immediate, so that a load costs no change of threads before it waits.
    let task = Task.immediate { () async -> Result<Value, ImageError> in
      do throws(ImageError) {
        return .success(try await body())
      } catch {
        return .failure(error)
      }
    }
    let timeout = Timeouts.shared.add(at: .now + limit) { task.cancel() }
    let result = await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      task.cancel()
    }
    if timeout.end(), case .failure(let error) = result, error.code == .cancelled {
      throw .timedOut(error.url, after: limit)
    }
    return try result.get()
  }
}

/// Ends what takes too long. All loads of a process share one timer: a timer each would cost more than the
/// request to the coordinator.
final class Timeouts: Sendable {
  /// The end of one load's time.
  final class Timeout: Sendable {
    private enum State {
      case waiting
      /// The time was over first.
      case fired
      /// The load ended first.
      case ended
    }

    fileprivate let moment: ContinuousClock.Instant
    private let action: @Sendable () -> Void
    private let state = Mutex(State.waiting)

    fileprivate init(at moment: ContinuousClock.Instant, action: @escaping @Sendable () -> Void) {
      self.moment = moment
      self.action = action
    }

    fileprivate var isWaiting: Bool { state.withLock { $0 == .waiting } }

    fileprivate func fire() {
      if leaveWaiting(for: .fired) == .waiting { action() }
    }

    /// The load has ended.
    ///
    /// - Returns: whether its time was over before.
    @discardableResult
    func end() -> Bool { leaveWaiting(for: .ended) == .fired }

    /// - Returns: the state before.
    private func leaveWaiting(for next: State) -> State {
      state.withLock { state in
        defer { if state == .waiting { state = next } }
        return state
      }
    }
  }

  private struct State {
    /// Those that ended are removed by the next look.
    var timeouts: [Timeout] = []
    var isLooking = false
  }

  static let shared = Timeouts()

  /// An action is late by this time at most. As long, what has ended takes memory.
  private static let interval = Duration.milliseconds(50)

  private let state = Mutex(State())

  /// Runs an action at a moment or soon after, unless ``Timeout/end()`` is called before.
  ///
  /// - Parameter action: must not block.
  func add(at moment: ContinuousClock.Instant, action: @escaping @Sendable () -> Void) -> Timeout {
    let timeout = Timeout(at: moment, action: action)
    let isFirst = state.withLock { state in
      state.timeouts.append(timeout)
      defer { state.isLooking = true }
      return !state.isLooking
    }
    if isFirst { Task.detached { await self.look() } }
    return timeout
  }

  /// Looks at intervals for those whose time is over, as long as there are any.
  private func look() async {
    var isAnyWaiting = true
    while isAnyWaiting {
      // Only its own cancellation would end the sleep early, and nothing cancels it.
      try? await Task.sleep(for: Self.interval)
      let now = ContinuousClock.now
      let due = state.withLock { state in
        let waiting = state.timeouts.filter(\.isWaiting)
        state.timeouts = waiting.filter { $0.moment > now }
        isAnyWaiting = !state.timeouts.isEmpty
        state.isLooking = isAnyWaiting
        return waiting.filter { $0.moment <= now }
      }
      for timeout in due { timeout.fire() }
    }
  }
}
