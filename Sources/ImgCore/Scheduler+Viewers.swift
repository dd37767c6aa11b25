import ImgModel

/// Somebody who waits for one picture now.
enum Viewer {
  /// Nothing begins for it before its delay is over.
  case delayed(name: String?, url: ImageURL, RequestOptions, bypassesStore: Bool)
  case waiting(name: String?, WorkID)

  var name: String? {
    switch self {
    case .delayed(let name, _, _, _), .waiting(let name, _): name
    }
  }
}

/// Who lets a delay pass before anything begins.
enum Delayed: Hashable {
  case viewer(ViewerID)
  case job(JobID)
}

/// Viewers.
extension Scheduler {
  /// A viewer of the same name that still waits is detached: one place shows one picture.
  mutating func viewerArrived(
    _ viewer: ViewerID, name: String?, url text: String, options: RequestOptions,
    bypassesStore: Bool
  ) {
    guard !isDraining else { return answerStopping(viewer) }
    let earlier = name.flatMap { viewersByName[$0] }
    defer {
      // Only now, so that what both want goes on without a break.
      if let earlier {
        viewerLeft(earlier)
        effects.append(.answer(earlier, .cancelled, nil))
      }
    }
    do throws(Failure) {
      let url = try ImageURL(line: text)
      if let name { viewersByName[name] = viewer }
      if options.delayMilliseconds > 0 {
        viewers[viewer] = .delayed(
          name: name, url: url, options, bypassesStore: bypassesStore)
        delays.set(.viewer(viewer), to: now.instant + .milliseconds(options.delayMilliseconds))
      } else {
        attach(viewer, name: name, to: url, options: options, bypassesStore: bypassesStore)
      }
    } catch {
      effects.append(.answer(viewer, .failed(error), nil))
    }
  }

  private mutating func attach(
    _ viewer: ViewerID, name: String?, to url: ImageURL, options: RequestOptions,
    bypassesStore: Bool
  ) {
    let waiter = Waiter(who: .viewer(viewer), expiry: options.expiry, command: newCommand())
    let (id, isNew) = join(waiter, url: url, options: options, bypassesStore: bypassesStore)
    viewers[viewer] = .waiting(name: name, id)
    awaitReport(viewer)
    guard isNew, let item = items[id] else { return }
    guard bypassesStore else { return queue(item) }
    awaitTransfer(item)
    reviewSources()
  }

  mutating func viewerLeft(_ viewer: ViewerID) {
    guard let left = forget(viewer) else { return }
    switch left {
    case .delayed: delays.remove(.viewer(viewer))
    case .waiting(_, let item): leave(item) { $0.viewer == viewer }
    }
  }

  @discardableResult
  mutating func forget(_ viewer: ViewerID) -> Viewer? {
    let forgotten = viewers.removeValue(forKey: viewer)
    waitReports.remove(viewer)
    toldWaits[viewer] = nil
    if let name = forgotten?.name, viewersByName[name] == viewer { viewersByName[name] = nil }
    return forgotten
  }

  /// Begins what has waited long enough.
  mutating func endDelays() {
    while let (delayed, until) = delays.first, until <= now.instant {
      delays.remove(delayed)
      switch delayed {
      case .job(let job):
        jobs[job]?.isDelayed = false
        jobs[job]?.movedAt = now.instant
        divideLines()
      case .viewer(let viewer):
        guard
          case .delayed(let name, let url, let options, let bypassesStore) = viewers[viewer]
        else { continue }
        attach(viewer, name: name, to: url, options: options, bypassesStore: bypassesStore)
      }
    }
  }

  /// The coordinator leaves: what has not begun for a viewer never will.
  mutating func answerStopping(_ viewer: ViewerID) {
    effects.append(.answer(viewer, .failed(Self.stopping), nil))
  }

  static var stopping: Failure {
    Failure(
      stage: .queue, code: .cancelled, isRetryable: true, detail: "the coordinator is stopping")
  }
}
