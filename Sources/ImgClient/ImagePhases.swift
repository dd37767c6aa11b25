public import ImgModel
import Synchronization

/// How far a load is.
///
/// The order is always: ``empty``, unless the image is at hand; then ``loading(_:)`` or ``preview(_:)``, any
/// number of times; at last exactly one of ``success(_:)`` and ``failure(_:)``.
///
/// The enumeration is closed: no version adds a case.
public enum ImagePhase: Hashable, Sendable {
  /// Nothing of the picture has arrived.
  case empty
  /// The picture is arriving. What has arrived never becomes less.
  case loading(ImageProgress)
  /// What the picture looks like until now, for a request with ``ImageRequest/isIncremental``. Each
  /// preview is nearer to the image than the one before.
  case preview(ImagePreview)
  /// The image is there. Nothing follows.
  case success(LoadedImage)
  /// There is no image, also because the load was cancelled. Nothing follows.
  case failure(ImageError)

  /// The image, if the load has succeeded.
  public var image: LoadedImage? {
    if case .success(let image) = self { image } else { nil }
  }

  /// Why there is no image, if the load has failed.
  public var error: ImageError? {
    if case .failure(let error) = self { error } else { nil }
  }

  /// Whether nothing follows.
  public var isTerminal: Bool {
    switch self {
    case .success, .failure: true
    case .empty, .loading, .preview: false
    }
  }
}

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

/// Passes the phases of one load to its reader. While the reader is busy, only the newest waits.
final class PhaseRelay: Sendable {
  private struct State {
    /// The newest phase that the reader has not taken.
    var waiting: ImagePhase?
    var progress: ImageProgress?
    var previewNumber = 0
    /// The last phase was published.
    var hasEnded = false
    var reader: CheckedContinuation<ImagePhase?, Never>?
  }

  private let state: Mutex<State>

  /// - Parameter hasEnded: whether the reader has the last phase already.
  init(hasEnded: Bool = false) {
    state = Mutex(State(hasEnded: hasEnded))
  }

  /// An update that tells nothing new, or comes after the end, is dropped.
  func publish(_ update: ImageUpdate) {
    switch update {
    case .progress(let progress):
      publish(.loading(progress)) { state in
        guard progress.isNews(after: state.progress) else { return false }
        state.progress = progress
        return true
      }
    case .preview(let preview):
      publish(.preview(preview)) { state in
        guard preview.number > state.previewNumber else { return false }
        state.previewNumber = preview.number
        return true
      }
    }
  }

  /// The last phase.
  func end(_ result: Result<LoadedImage, ImageError>) {
    let phase: ImagePhase =
      switch result {
      case .success(let image): .success(image)
      case .failure(let error): .failure(error)
      }
    publish(phase) { state in
      state.hasEnded = true
      return true
    }
  }

  /// Ends the load for its reader, also if its result is there and was not read.
  ///
  /// - Returns: whether the reader had not read the last phase.
  func discard(_ error: ImageError) -> Bool {
    let (isUnread, reader) = state.withLock {
      state -> (Bool, CheckedContinuation<ImagePhase?, Never>?) in
      guard !state.hasEnded || state.waiting != nil else { return (false, nil) }
      state.hasEnded = true
      let reader = state.reader.take()
      state.waiting = reader == nil ? .failure(error) : nil
      return (true, reader)
    }
    reader?.resume(returning: .failure(error))
    return isUnread
  }

  private func publish(_ phase: ImagePhase, _ isNews: (inout State) -> Bool) {
    let reader = state.withLock { state -> CheckedContinuation<ImagePhase?, Never>? in
      guard !state.hasEnded, isNews(&state) else { return nil }
      guard let reader = state.reader.take() else {
        state.waiting = phase
        return nil
      }
      return reader
    }
    reader?.resume(returning: phase)
  }

  /// The next phase; `nil` after the last one. One task at a time waits.
  func next() async -> ImagePhase? {
    await withCheckedContinuation { continuation in
      let ready = state.withLock { state -> ImagePhase?? in
        if let waiting = state.waiting.take() { return .some(waiting) }
        if state.hasEnded { return .some(nil) }
        precondition(state.reader == nil, "one task at a time reads the phases of a load")
        state.reader = continuation
        return .none
      }
      if case .some(let phase) = ready { continuation.resume(returning: phase) }
    }
  }
}

extension ImageProgress {
  /// Whether more has arrived, or the length is known now.
  fileprivate func isNews(after earlier: ImageProgress?) -> Bool {
    let earlierCount = earlier?.receivedByteCount ?? 0
    guard receivedByteCount == earlierCount else { return receivedByteCount > earlierCount }
    return receivedByteCount > 0 && expectedByteCount != nil && earlier?.expectedByteCount == nil
  }
}
