import ImgModel

/// Viewers: they arrive, wait and leave.
extension Scheduler {
  /// A viewer of the same name that still waits is superseded: one place shows one picture.
  mutating func viewerArrived(
    _ viewer: ViewerID, name: String?, url text: String, options: RequestOptions,
    bypassesStore: Bool, updates: ArrivalUpdates
  ) {
    guard !isDraining else { return answerStopping(viewer) }
    let earlier = name.flatMap { viewers.viewer(named: $0) }
    do throws(Failure) {
      let url = try ImageURL(line: text)
      if options.delay > .zero {
        viewers.delay(
          viewer, name: name, url: url, options: options, bypassesStore: bypassesStore,
          updates: updates)
        delays.set(.viewer(viewer), to: now.instant + options.delay)
      } else {
        begin(
          viewer, name: name, to: url, options: options, bypassesStore: bypassesStore,
          updates: updates)
      }
    } catch {
      effects.append(.answer(viewer, .failed(error), nil))
    }
    // The last step, so that an item that both want goes on without a break.
    if let earlier {
      viewerLeft(earlier)
      effects.append(.answer(earlier, .cancelled, nil))
    }
  }

  private mutating func begin(
    _ viewer: ViewerID, name: String?, to url: ImageURL, options: RequestOptions,
    bypassesStore: Bool, updates: ArrivalUpdates
  ) {
    let waiter = Waiter(
      who: .viewer(viewer), expiry: options.expiry, priority: options.priority,
      command: newCommand(), updates: updates)
    let (id, isNew) = addWaiter(
      waiter, url: url, options: options, bypassesStore: bypassesStore)
    viewers.wait(viewer, name: name, for: id, reportAt: now.instant + Self.stallTime)
    guard isNew else { return }
    guard bypassesStore else { return enqueue(id) }
    routeMiss(id)
    reviewSources()
  }

  mutating func viewerLeft(_ viewer: ViewerID) {
    switch viewers.remove(viewer) {
    case .delayed: delays.remove(.viewer(viewer))
    case .waiting(_, let item): leave(item) { $0.viewer == viewer }
    case nil: break
    }
  }

  /// Begins what has waited long enough.
  mutating func endDelays() {
    while let (delayed, until) = delays.first, until <= now.instant {
      delays.remove(delayed)
      switch delayed {
      case .job(let job):
        jobs.endDelay(of: job, at: now.instant)
        divideLines()
      case .viewer(let viewer):
        guard
          case .delayed(
            let name, let url, let options, let bypassesStore, let updates) = viewers[viewer]
        else { preconditionFailure("\(viewer) waits for no delay") }
        begin(
          viewer, name: name, to: url, options: options, bypassesStore: bypassesStore,
          updates: updates)
      }
    }
  }

  /// The coordinator stops: what has not begun for a viewer never will.
  mutating func answerStopping(_ viewer: ViewerID) {
    effects.append(.answer(viewer, .failed(Self.stopping), nil))
  }

  static var stopping: Failure {
    Failure(
      stage: .queue, code: .cancelled, isRetryable: true, detail: "the coordinator is stopping")
  }
}
