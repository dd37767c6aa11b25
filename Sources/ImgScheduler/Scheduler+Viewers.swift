package import ImgModel
package import ImgWire

/// Viewers: they arrive, wait and leave.
extension Scheduler {
  /// A viewer of the same name that still waits is superseded: one place shows one picture.
  mutating func viewerArrived(_ viewer: ViewerID, _ request: GetRequest) {
    guard !isDraining else { return answerStopping(viewer) }
    let earlier = request.viewer.flatMap { viewers.viewer(named: $0) }
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

  private mutating func begin(_ viewer: ViewerID, _ request: GetRequest, for url: ImageURL) {
    var waiter = Waiter(
      who: .viewer(viewer), expiry: request.options.expiry, priority: request.options.priority,
      command: newCommand(), updates: request.updates,
      maximumRetryAfter: request.maximumRetryAfter, offersFetch: request.offersFetch,
      timeout: request.options.timeout, attempts: request.options.attempts)
    waiter.beginTime(at: now.instant)
    let (id, isNew, _) = addWaiter(waiter, url: url, SharedRequest(request.options.request))
    viewers.wait(
      viewer, name: request.viewer, for: id, reportAt: now.instant + Self.stallTime)
    guard isNew, request.options.request.bypassesStore else {
      enqueue(id)
      return refuseViewersIfRedirected(id)
    }
    routeMiss(id)
  }

  mutating func viewerLeft(_ viewer: ViewerID) {
    switch viewers.remove(viewer) {
    case .delayed: delays.remove(.viewer(viewer))
    case .waiting(_, let item): leave(item) { $0.viewer == viewer }
    case nil: fileReads.remove(viewer)
    }
  }

  /// Begins what has waited long enough.
  mutating func endDelays() {
    while let (delayed, until) = delays.first, until <= now.instant {
      delays.remove(delayed)
      switch delayed {
      case .job(let job):
        jobs.change(job) { [now] in $0.endDelay(at: now.instant) }
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

/// Pictures that clients upload: decoded like an original that the store has, without a look-up and
/// without a transfer. Each is an item of its own, which no other request joins.
extension Scheduler {
  mutating func viewerUploaded(
    _ viewer: ViewerID, _ picture: UploadedPicture, options: RequestOptions
  ) {
    if let refusal = refusal(of: picture) {
      effects += [.release(picture.file), .answer(viewer, .failed(refusal), nil)]
      return
    }
    var waiter = Waiter(
      who: .viewer(viewer), expiry: options.expiry, timeout: options.timeout)
    waiter.beginTime(at: now.instant)
    let url = ImageURL(uploaded: picture.file.rawValue)
    let key = WorkItem.Key(
      name: PictureName(url),
      request: ThumbnailRequest(
        variant: options.variant, isLenient: options.isLenient, keep: options.keep))
    let item = add(WorkItem.Subject(key, url, picture: picture), waiter)
    viewers.wait(viewer, name: nil, for: item.id, reportAt: nil)
    awaitDecode(item.id)
  }

  /// Why it is not taken; `nil` when it is.
  private func refusal(of picture: UploadedPicture) -> Failure? {
    if isDraining { return Self.stopping }
    guard picture.byteCount <= limits.maxBodyByteCount else {
      return Failure(
        stage: .fetch, code: .tooLarge,
        detail: "\(picture.byteCount) bytes; \(limits.maxBodyByteCount) are the most")
    }
    do throws(Failure) {
      _ = try picture.url.map { (url) throws(Failure) in try ImageURL(parsing: url) }
      return nil
    } catch {
      return error
    }
  }
}

/// Thumbnails that are not in the store: because nothing was to be kept, or refused by the store.
extension Scheduler {
  /// A viewer gets the picture; a line whose thumbnail the store has refused has failed. The file
  /// serves no later request.
  mutating func madeUncached(_ result: UncachedResult, in file: MemoryFileID, by worker: WorkerID) {
    defer { effects.append(.release(file)) }
    workers.answered(worker, at: now.instant)
    if let lease = fetches.leases[result.lease], lease.worker == worker, let id = lease.transfer {
      noteNetwork(.response, of: id)
    }
    guard let id = fetches.end(result.lease, of: worker, in: &workers, at: now.instant) else {
      return
    }
    if result.isStoreDegraded {
      noteRefusal(
        result.made.failure?.detail ?? "",
        isServed: work.item(id).waiters.contains { $0.viewer != nil })
    }
    let item = conclude(id)
    var byteCount = item.unreportedByteCount + result.bytesFetched
    for waiter in item.waiters {
      switch waiter.who {
      case .line(let job, let index):
        record(result.made.outcome(bytesFetched: byteCount), job: job, index: index)
      case .viewer(let viewer):
        viewers.remove(viewer)
        effects.append(.deliver(file, result.made, bytesFetched: byteCount, to: viewer))
      case .revalidation:
        break
      }
      byteCount = 0
    }
  }

  /// The store takes nothing at present.
  ///
  /// - Parameter isServed: whether a client has its picture nevertheless.
  mutating func noteRefusal(_ reason: String, isServed: Bool) {
    guard let error = store.noteRefusal(reason, isServed: isServed, at: now.wall) else { return }
    effects.append(.storeErrorBegan(error))
  }

  /// A fetch has ended with its thumbnail in the store.
  mutating func noteStored() {
    guard let error = store.noteStored() else { return }
    effects.append(.storeErrorEnded(error))
  }
}

extension UncachedThumbnail {
  /// What it is for a line, whose purpose is the store.
  fileprivate func outcome(bytesFetched: Int) -> Outcome {
    if let failure { return .failed(failure, bytesFetched: bytesFetched) }
    return .done(thumbnail, fromCache: false, bytesFetched: bytesFetched)
  }
}

/// What viewers are told of pictures while they arrive: previews and progress.
///
/// The worker of a lease knows what the viewers want that wait for the lease's item: after the lease was
/// granted, and when such a viewer joins, which then is told from that moment on, or leaves. It also knows by that
/// whether any waits.
extension Scheduler {
  /// Notes what viewers want to be told of an item, if it is being transferred.
  ///
  /// - Parameter former: what its worker was told before.
  mutating func noteUpdates(of id: WorkID, after former: ArrivalUpdates?) {
    let item = work.item(id)
    guard !item.waiters.isEmpty, item.updates != former, case .transferring(let lease) = item.stage
    else { return }
    viewers.want(item.updates, of: lease)
  }

  /// Shows a preview to the viewers that want some, and have not seen more of the picture: a fetch that is
  /// repeated begins with less. Its lease goes on.
  mutating func madePreview(_ preview: MadePreview, in file: MemoryFileID, by worker: WorkerID) {
    defer { effects.append(.release(file)) }
    let viewers = viewers(
      of: preview.lease, by: worker, wanting: .previews, upTo: preview.shownByteCount,
      after: \.shownByteCount)
    effects += viewers.map { .show(file, preview.thumbnail, to: $0) }
  }

  /// Tells the viewers that want progress, unless they were told of as much before: a fetch that is
  /// repeated begins with less. The leases go on.
  mutating func reportProgress(_ entries: [LeaseProgress], by worker: WorkerID) {
    for entry in entries {
      let viewers = viewers(
        of: entry.lease, by: worker, wanting: .progress, upTo: entry.progress.receivedByteCount,
        after: \.reportedByteCount)
      effects += viewers.map { .reportProgress(entry.progress, to: $0) }
    }
  }

  /// The viewers of a lease that are to be told of more bytes than before.
  ///
  /// - Parameters:
  ///   - byteCount: what they are told of.
  ///   - told: what a viewer was told of before. It becomes `byteCount`.
  private mutating func viewers(
    of id: LeaseID, by worker: WorkerID, wanting updates: ArrivalUpdates, upTo byteCount: Int,
    after told: WritableKeyPath<Waiter, Int>
  ) -> [ViewerID] {
    guard let lease = fetches.leases[id], lease.worker == worker else { return [] }
    var viewers: [ViewerID] = []
    work.change(lease.item) { item in
      item.changeWaiters { waiter in
        guard waiter.updates.isSuperset(of: updates), waiter[keyPath: told] < byteCount,
          let viewer = waiter.viewer
        else { return }
        waiter[keyPath: told] = byteCount
        viewers.append(viewer)
      }
    }
    return viewers
  }
}

/// A request of a client that waits for one picture now.
package enum Viewer {
  /// Nothing begins for it before its delay is over.
  case delayed(GetRequest, ImageURL)
  case waiting(name: String?, WorkID)

  package var name: String? {
    switch self {
    case .delayed(let request, _): request.viewer
    case .waiting(let name, _): name
    }
  }
}

/// The viewers, by number and by name, and what they are told while they wait.
package struct ViewerTable {
  private var viewers = NumberedTable<ViewerID, Viewer>()
  private var names: [String: ViewerID] = [:]
  /// When viewers that wait are told why.
  private var reports = PriorityQueue<ViewerID, Instant>()
  /// What they were told last.
  private var reported: [ViewerID: Wait] = [:]
  /// Leases whose viewers have changed, with what they want to be told; `nil` if none is left. Their workers do
  /// not know yet.
  private var wantedUpdates: [(lease: LeaseID, updates: ArrivalUpdates?)] = []

  /// Viewers that are told what they wait for. Further ones hear only their answer.
  static let reportMaximum = 1_024
  private static let reportInterval = Duration.seconds(1)

  package var isEmpty: Bool { viewers.isEmpty }
  package var count: Int { viewers.count }
  package var nameCount: Int { names.count }
  package var all: NumberedTable<ViewerID, Viewer> { viewers }
  package var isAnyReportPending: Bool { !reports.isEmpty || !reported.isEmpty }

  /// - Returns: `nil` when the viewer has its answer, or has left.
  package subscript(id: ViewerID) -> Viewer? { viewers[id] }

  /// The viewer of a name that still waits.
  func viewer(named name: String) -> ViewerID? { names[name] }

  /// The numbers of all viewers, the oldest first.
  var ids: [ViewerID] { viewers.keys.sorted() }

  /// A viewer arrives whose delay is to pass first.
  ///
  /// - Precondition: the viewer is a new one.
  mutating func delay(_ id: ViewerID, _ request: GetRequest, for url: ImageURL) {
    precondition(viewers[id] == nil, "\(id) arrives twice")
    viewers.set(id, to: .delayed(request, url))
    if let name = request.viewer { names[name] = id }
  }

  /// A viewer waits for an item from now on.
  ///
  /// - Parameter reportAt: when it is first told why, if it still waits then.
  /// - Precondition: it waits for no other item.
  mutating func wait(_ id: ViewerID, name: String?, for item: WorkID, reportAt: Instant?) {
    if case .waiting = viewers[id] { preconditionFailure("\(id) waits for two items") }
    viewers.set(id, to: .waiting(name: name, item))
    if let name { names[name] = id }
    if let reportAt, reports.count < Self.reportMaximum { reports.set(id, to: reportAt) }
  }

  /// A viewer has its answer, or has left.
  ///
  /// - Returns: what it was; `nil` when it was not there any more.
  @discardableResult
  mutating func remove(_ id: ViewerID) -> Viewer? {
    let removed = viewers.remove(id)
    reports.remove(id)
    reported[id] = nil
    if let name = removed?.name, names[name] == id { names[name] = nil }
    return removed
  }

  // MARK: - Reports

  /// When ``takeDueReport(at:)`` has something to return; `nil` while no viewer waits.
  var reportDeadline: Instant? { reports.first?.priority }

  /// Takes a viewer that has waited for a while; its next report is due later.
  mutating func takeDueReport(at now: Instant) -> (viewer: ViewerID, item: WorkID)? {
    while let (viewer, due) = reports.first, due <= now {
      guard case .waiting(_, let item) = viewers[viewer] else {
        reports.remove(viewer)
        continue
      }
      reports.set(viewer, to: now + Self.reportInterval)
      return (viewer, item)
    }
    return nil
  }

  /// - Returns: whether the wait is news to the viewer.
  mutating func report(_ wait: Wait, to viewer: ViewerID) -> Bool {
    guard wait.isNews(after: reported[viewer]) else { return false }
    reported[viewer] = wait
    return true
  }

  // MARK: - Updates

  /// Viewers wait for a lease, and may want to be told of its picture while it arrives.
  ///
  /// - Parameter updates: `nil` if no viewer waits any more.
  mutating func want(_ updates: ArrivalUpdates?, of lease: LeaseID) {
    wantedUpdates.append((lease, updates))
  }

  /// Tells workers what viewers want, after the messages that grant the leases.
  mutating func requestUpdates(in leases: LeaseTable) -> [Effect] {
    guard !wantedUpdates.isEmpty else { return [] }
    defer { wantedUpdates = [] }
    return wantedUpdates.compactMap { lease, updates in
      // It may have ended since.
      leases[lease].map { .send(.updates(lease, updates), to: $0.worker) }
    }
  }
}
