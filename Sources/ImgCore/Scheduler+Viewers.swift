import ImgWire

/// Viewers: somebody who waits for one picture now.
extension Scheduler {
  mutating func viewerArrived(
    _ viewer: ViewerID, url text: String, options: RequestOptions, at now: Moment
  ) {
    guard !isDraining else { return answerStopping(viewer) }
    do throws(Failure) {
      let url = try ImageURL(parsing: text)
      let (id, isNew) = join(.viewer(viewer), url: url, options: options, at: now)
      viewers[viewer] = id
      if isNew, let item = items[id] { queue(item) }
    } catch {
      effects.append(.answer(viewer, .failed(error)))
    }
  }

  mutating func viewerLeft(_ viewer: ViewerID) {
    guard let item = viewers.removeValue(forKey: viewer) else { return }
    leave(item) { $0 == .viewer(viewer) }
  }

  /// The coordinator leaves: what has not begun for a viewer never will.
  mutating func answerStopping(_ viewer: ViewerID) {
    let failure = Failure(
      stage: .queue, code: .cancelled, isRetryable: true, detail: "the coordinator is stopping")
    effects.append(.answer(viewer, .failed(failure)))
  }
}
