package import ImgModel
import ImgWire

/// From an assignment to a transfer, or to the decoder.
extension WorkerMachine {
  /// Starts a transfer for each assignment.
  mutating func startTransfers(for batch: Batch) {
    for order in orders(of: batch) {
      tasks.add(FetchTask(order, stage: .transferring))
      checkRobots(for: order, then: .start(transfers.start(order)))
    }
  }

  /// Attaches each assignment to a transfer of its URL. If the transfer is over, the thumbnail is
  /// made from the original in the store.
  mutating func attachAll(of batch: Batch) {
    for order in orders(of: batch) {
      tasks.add(FetchTask(order, stage: .waitingForRobots))
      if transfers.hasTransfer(for: order.transferKey) {
        checkRobots(for: order, then: .attach(order.lease))
      } else {
        // What is already on this machine needs no permission.
        attach(order.lease)
      }
    }
  }

  /// Makes each thumbnail from the original in the store, or from the URL itself.
  mutating func decodeAll(of batch: Batch) {
    for order in orders(of: batch) {
      tasks.add(FetchTask(order, stage: .findingOriginal))
      if order.url.isLocal {
        decode(order.lease, SourceBody(), from: .url)
      } else {
        effects.append(.findOriginal(order))
      }
    }
  }

  /// Attaches a lease that robots.txt permits, unless the transfer was redirected to where the lease does
  /// not permit.
  mutating func attach(_ lease: LeaseID) {
    let order = tasks[lease].order
    if let url = refusedRedirect(of: order) { return refuse(lease, redirectedTo: url) }
    switch transfers.attach(lease, key: order.transferKey) {
    case .receiving:
      tasks.update(lease) { $0.stage = .transferring }
      updateUrgency(of: transfers.transfer(of: lease))
      planUpdates(of: lease)
    case .received(let share): decode(share)
    case .none:
      tasks.update(lease) { $0.stage = .findingOriginal }
      effects.append(.findOriginal(order))
    }
  }

  mutating func originalFound(_ lease: LeaseID, _ isThere: Bool) {
    guard isThere else { return release(lease) }
    decode(lease, SourceBody(), from: .storedOriginal)
  }

  /// - Parameter reuse: what the origin says of its reuse; `nil` of a picture that was not fetched.
  mutating func decodeUpload(_ upload: Upload, _ reuse: AnswerReuse? = nil) {
    do throws(Failure) {
      let order = try FetchOrder(upload, at: now.instant)
      var body = SourceBody.local(byteCount: upload.byteCount)
      body.reuse = reuse
      tasks.add(FetchTask(order, stage: .decoding(body)))
      decode(order.lease, body, from: .upload(byteCount: upload.byteCount))
    } catch {
      refuse(upload.lease, because: error)
    }
  }

  /// Cancels a lease. A transfer without other leases is aborted; a decode that has begun runs to
  /// its end and is dropped.
  mutating func cancel(_ lease: LeaseID) {
    guard tasks.contains(lease) else { return }
    switch tasks[lease].stage {
    case .waitingForRobots, .findingOriginal: finish(lease, with: .cancelled)
    case .transferring:
      leaveTransfer(lease)
      finish(lease, with: .cancelled)
    case .decoding:
      tasks.update(lease) { $0.isCancelled = true }
      effects.append(.cancelDecode(lease))
    case .revalidating, .renewing, .storing, .delivering, .failing:
      tasks.update(lease) { $0.isCancelled = true }
    }
  }

  /// Takes a lease off a transfer whose body is on its way. The last one aborts the transfer.
  mutating func leaveTransfer(_ lease: LeaseID) {
    let transfer = transfers.transfer(of: lease)
    if transfers.leave(lease) != nil {
      effects.append(.cancelTransfer(transfer))
    } else {
      updateUrgency(of: transfer)
    }
  }

  /// Limits of bandwidth let a transfer pass first while a client waits for one of its leases.
  private mutating func updateUrgency(of id: TransferID) {
    let isUrgent = transfers[id].leases.contains { tasks[$0].order.isUrgent }
    if transfers.update(id, { $0.setUrgent(isUrgent) }) {
      effects.append(.setUrgent(isUrgent, id))
    }
  }

  /// The assignments that name a URL; the others have failed.
  private mutating func orders(of batch: Batch) -> [FetchOrder] {
    batch.items.compactMap { item in
      do throws(Failure) {
        return try FetchOrder(item, of: batch, at: now.instant)
      } catch {
        refuse(item.lease, because: error)
        return nil
      }
    }
  }

  /// The lease fails before it becomes a task.
  private mutating func refuse(_ lease: LeaseID, because failure: Failure) {
    report.finished.append(FetchResults.Result(lease: lease, outcome: .failed(failure)))
  }
}

/// From the end of a transfer to the decoder, or to a failure.
extension WorkerMachine {
  mutating func transferEnded(_ id: TransferID, _ end: TransferEnd) {
    guard transfers.contains(id) else { return effects.append(.releaseBody(id)) }
    let end = noteArrival(in: end, of: id)
    switch end.result {
    // The coordinator has heard why, and requeues the leases.
    case .deferred: transfers.end(id).forEach { release($0) }
    case .notModified: notModified(id)
    case .body(let facts):
      if case .obsolete = end.leftover {
        effects.append(.removePartial(of: transfers[id].order.name))
      }
      reportWhole(facts, of: id)
      let body = SharedTransfer.Body(
        facts: facts, freshByteCount: end.freshByteCount, timings: end.timings,
        wasRedirected: end.wasRedirected, sign: end.sign)
      let shares = transfers.receive(body, by: id)
      report.transferred += shares.map(\.lease)
      shares.forEach { decode($0) }
    case .failed(let failure): failed(id, failure, end)
    }
  }

  // MARK: - A body

  mutating func decode(_ share: SharedTransfer.Share) {
    let lease = share.lease
    tasks.update(lease) { $0.bytesFetched = share.bytesFetched }
    let options = tasks[lease].order.options
    let facts = share.body.facts
    if let refusal = facts.optOut, options.respectsOptOut {
      return finish(lease, with: .failed(refusal))
    }
    // The transfer was started for a request that does not respect robots.txt.
    guard !share.isUnchecked || !options.respectsRobots else { return release(lease) }
    tasks.update(lease) { $0.timings = share.body.timings }
    decode(
      lease,
      SourceBody(
        receivedByteCount: facts.receivedByteCount, byteCount: facts.byteCount,
        reuse: facts.reuse, sign: share.body.sign),
      from: .body(transfers.transfer(of: lease)))
  }

  mutating func decode(_ lease: LeaseID, _ body: SourceBody, from source: DecodeSource) {
    tasks.update(lease) { $0.stage = .decoding(body) }
    effects.append(.decode(tasks[lease].order, from: source))
  }

  // MARK: - 304 Not Modified

  /// Renews the records of every lease whose validators match (RFC 9111 section 4.3.4). The other
  /// leases are released, because there is no body.
  private mutating func notModified(_ id: TransferID) {
    let leases = transfers.end(id)
    report.transferred += leases
    for lease in leases {
      tasks.update(lease) { $0.stage = .revalidating }
      effects.append(.renew(tasks[lease].order))
    }
  }

  /// A thumbnail is reported once its record is renewed; one that is missing is made from the
  /// original.
  mutating func renewalFound(_ lease: LeaseID, _ finding: RenewalFinding) {
    switch finding {
    case .unmatched: release(lease)
    case .thumbnail(let thumbnail): tasks.update(lease) { $0.stage = .renewing(thumbnail) }
    case .original(let terms):
      let reuse = AnswerReuse(terms: terms, isStorable: true)
      decode(lease, SourceBody(reuse: reuse), from: .storedOriginal)
    }
  }

  // MARK: - A failure

  private mutating func failed(_ id: TransferID, _ failure: Failure, _ end: TransferEnd) {
    // As with a body, one lease counts the bytes.
    if let lease = transfers[id].leases.first {
      tasks.update(lease) { $0.bytesFetched = end.freshByteCount }
    }
    if failure.code == .optedOut {
      return fail(id, with: failure) { $0.respectsOptOut }
    }
    let name = transfers[id].order.name
    let leases = transfers.end(id)
    let stage = FetchTask.Stage.failing(
      FetchTask.TransferFailure(
        failure: failure, wasRedirected: end.wasRedirected, sign: end.sign))
    for lease in leases {
      tasks.update(lease) { task in
        task.timings = end.timings
        task.stage = stage
      }
    }
    switch end.leftover {
    case .unchanged: reportFailure(of: leases)
    case .obsolete:
      effects.append(.removePartial(of: name))
      reportFailure(of: leases)
    case .partial:
      guard leases.contains(where: { tasks[$0].order.mayLeavePartial }) else {
        effects.append(.releaseBody(id))
        return reportFailure(of: leases)
      }
      leasesOfBrokenTransfers[id] = leases
      effects.append(.storePartial(id, of: name))
    }
  }

  /// Ends a transfer for the leases that respect what its origin says. The others are released, and
  /// get a transfer of their own.
  mutating func fail(
    _ id: TransferID, with failure: Failure, wasRedirected: Bool = false, sign: NetworkSign? = nil,
    concerning isConcerned: (FetchOptions) -> Bool
  ) {
    for lease in transfers.end(id) {
      if isConcerned(tasks[lease].order.options) {
        finish(lease, with: .failed(failure), wasRedirected: wasRedirected, sign: sign)
      } else {
        release(lease)
      }
    }
  }

  /// The store has the partial body, or cannot have it.
  mutating func partialStored(_ id: TransferID) {
    effects.append(.releaseBody(id))
    guard let leases = leasesOfBrokenTransfers.removeValue(forKey: id) else {
      preconditionFailure("no lease waits for the partial body of \(id.rawValue)")
    }
    reportFailure(of: leases)
  }

  private mutating func reportFailure(of leases: [LeaseID]) {
    for lease in leases {
      let task = tasks[lease]
      let failing = task.failing
      if task.isCancelled {
        finish(lease, with: .cancelled, wasRedirected: failing.wasRedirected)
      } else if failing.failure.permitsStale, task.order.mayUseStale {
        effects.append(.findStale(task.order))
      } else {
        finish(
          lease, with: .failed(failing.failure), wasRedirected: failing.wasRedirected,
          sign: failing.sign)
      }
    }
  }

  /// The failure is reported, unless the origin permits a stale thumbnail in its place (RFC 5861
  /// section 4).
  mutating func staleFound(_ lease: LeaseID, _ thumbnail: Thumbnail?) {
    let failing = tasks[lease].failing
    guard let thumbnail else {
      return finish(
        lease, with: .failed(failing.failure), wasRedirected: failing.wasRedirected,
        sign: failing.sign)
    }
    finish(
      lease, with: .done(thumbnail, fromCache: true, bytesFetched: 0),
      wasRedirected: failing.wasRedirected, failureBehind: failing.failure, sign: failing.sign)
  }
}

/// Redirects: which leases permit them, and when they are followed.
extension WorkerMachine {
  /// The leases that do not permit the URL fail. For the others the transfer continues there; without any
  /// it is over.
  ///
  /// It waits for a slot at the host of the URL, also at the one that has redirected it: that has a pace. Nothing
  /// is sent before, not even for a robots.txt.
  mutating func redirected(_ transfer: TransferID, to url: ImageURL) {
    guard transfers.contains(transfer) else { return }
    arrivals.note(at: now.instant)
    for lease in transfers[transfer].leases where !permits(url, lease) {
      leaveTransfer(lease)
      refuse(lease, redirectedTo: url)
    }
    guard transfers.contains(transfer) else { return }
    let wait = SharedTransfer.SlotWait(url: url, since: now.instant)
    transfers.update(transfer) {
      $0.redirect(to: url)
      $0.waitForSlot(wait)
    }
    report.redirections.append(.init(transfer: transfer, host: url.host, origin: url.origin))
  }

  /// The transfer has a slot at the host to which its redirect leads. Its leases may have left
  /// meanwhile.
  mutating func slotGranted(_ transfer: TransferID) {
    guard let wait = transfers.takeSlotWait(transfer, at: now.instant) else { return }
    checkRobots(for: wait.url, of: transfer, slotWait: now.instant - wait.since)
  }

  /// A redirect that the transfer for the order has followed, or will, and that the order does not permit;
  /// `nil` if there is none.
  func refusedRedirect(of order: FetchOrder) -> ImageURL? {
    transfers.redirects(for: order.transferKey)
      .first { !order.options.redirectOrigins.permits($0) }
  }

  private func permits(_ url: ImageURL, _ lease: LeaseID) -> Bool {
    tasks[lease].order.options.redirectOrigins.permits(url)
  }

  /// - Precondition: the lease is attached to no transfer.
  mutating func refuse(_ lease: LeaseID, redirectedTo url: ImageURL) {
    finish(lease, with: .failed(.blockedOrigin(url)), wasRedirected: true)
  }
}

extension Failure {
  /// Its text has neither the user, the path nor the query of the URL, which may be secrets.
  fileprivate static func blockedOrigin(_ url: ImageURL) -> Failure {
    Failure(
      stage: .fetch, code: .blockedOrigin,
      detail: "a redirect leads to \(url.host), to a URL that is not permitted")
  }
}

/// What clients are told of pictures while their bodies arrive: previews and progress.
///
/// The coordinator says which leases want what. It changes nothing of the leases.
extension WorkerMachine {
  /// The transfers of whose bodies clients want previews or progress. The driver reports how far these
  /// bodies are.
  package var watchedTransfers: Set<TransferID> { transfers.watched }

  /// Clients wait for a lease, and may want to be told of its picture while it arrives.
  ///
  /// - Parameter updates: `nil` if no client waits any more.
  mutating func want(_ updates: ArrivalUpdates?, of lease: LeaseID) {
    guard tasks.contains(lease) else { return }
    tasks.update(lease) { $0.want(updates) }
    guard case .transferring = tasks[lease].stage else { return }
    let transfer = transfers.transfer(of: lease)
    updateUrgency(of: transfer)
    transfers.update(transfer) { $0.endUpdates(for: lease) }
    planUpdates(of: lease)
  }

  /// Plans what clients want of the lease, if it is attached to a transfer whose body is arriving.
  mutating func planUpdates(of lease: LeaseID) {
    let task = tasks[lease]
    guard case .transferring = task.stage else { return }
    if task.updates.contains(.previews) {
      planPreviews(of: task.order, includingRows: task.updates.contains(.rows))
    }
    if task.updates.contains(.progress) { planProgress(of: task.order) }
  }

  mutating func bodyGrew(_ id: TransferID, to progress: ImageProgress) {
    transfers.bodyGrew(id, to: progress)
    planProgressReport()
    startPreview()
  }
}

/// Which transfers are slow. The coordinator gives their slots to others.
extension WorkerMachine {
  /// The transfers that hold slots.
  package var transfersWithSlots: [TransferID] { transfers.withSlots }

  /// When the driver measures ``transfersWithSlots``; `nil` while there are none.
  package var measureDeadline: Instant? {
    transfers.hasSlots ? nextMeasure ?? now.instant : nil
  }

  mutating func updatePaces(_ measures: [TransferID: TransferMeasure]) {
    nextMeasure = now.instant + TransferPace.measureInterval
    let nothing = TransferMeasure(receivedByteCount: 0, isHeldUp: false)
    for id in transfers.withSlots {
      let measure = measures[id] ?? nothing
      let now = now.instant
      if let measured = measures[id], transfers.update(id, { $0.pace.takeArrival(measured) }) {
        arrivals.note(at: now)
      }
      if let time = transfers.update(id, { $0.pace.takeHeldTime(measure) }) {
        report.held.append(HeldTransfer(id, for: time))
      }
      let isChanged = transfers.update(id, { $0.pace.update(measure, at: now) })
      if let phase = transfers.update(id, { $0.pace.takePhase(measure) }) {
        report.phases.append(PhasedTransfer(id, phase))
      }
      guard isChanged else { continue }
      if transfers[id].pace.isSlow { report.slow.append(id) } else { report.fast.append(id) }
    }
  }
}
