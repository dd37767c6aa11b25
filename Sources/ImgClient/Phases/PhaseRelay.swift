import Synchronization

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
