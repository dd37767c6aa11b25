import ImgModel

/// Viewers: they arrive, wait and leave.
extension Scheduler {
  /// A viewer of the same name that still waits is superseded: one place shows one picture.
  mutating func viewerArrived(_ viewer: ViewerID, _ request: ViewerRequest) {
    guard !isDraining else { return answerStopping(viewer) }
    let earlier = request.name.flatMap { viewers.viewer(named: $0) }
    do throws(Failure) {
      let url = try ImageURL(line: request.url)
      if request.options.delay > .zero {
        viewers.delay(viewer, request, for: url)
        delays.set(.viewer(viewer), to: now.instant + request.options.delay)
      } else {
        begin(viewer, request, for: url)
      }
    } catch {
      effects.append(.answer(viewer, .failed(error), nil))
    }
    // The last step, so that an item that both want goes on without a break. It may have its answer by now.
    if let earlier, viewers[earlier] != nil {
      viewerLeft(earlier)
      effects.append(.answer(earlier, .cancelled, nil))
    }
  }

  private mutating func begin(_ viewer: ViewerID, _ request: ViewerRequest, for url: ImageURL) {
    let waiter = Waiter(
      who: .viewer(viewer), expiry: request.options.expiry, priority: request.options.priority,
      command: newCommand(), updates: request.updates,
      maximumRetryAfter: request.maximumRetryAfter)
    let (id, isNew, _) = addWaiter(
      waiter, url: url, options: request.options, bypassesStore: request.bypassesStore)
    viewers.wait(
      viewer, name: request.name, for: id, reportAt: now.instant + Self.stallTime)
    guard isNew, request.bypassesStore else {
      enqueue(id)
      return refuseViewersIfRedirected(id)
    }
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
        guard case .delayed(let request, let url) = viewers[viewer] else {
          preconditionFailure("\(viewer) waits for no delay")
        }
        begin(viewer, request, for: url)
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
