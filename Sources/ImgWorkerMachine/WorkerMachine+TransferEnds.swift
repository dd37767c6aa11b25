import ImgModel

/// From the end of a transfer to the decoder, or to a failure.
extension WorkerMachine {
  mutating func transferEnded(_ id: TransferID, _ end: TransferEnd) {
    guard transfers.contains(id) else { return effects.append(.releaseBody(id)) }
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
        wasRedirected: end.wasRedirected)
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
        reuse: facts.reuse),
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
      FetchTask.TransferFailure(failure: failure, wasRedirected: end.wasRedirected))
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
      brokenTransfers.wait(leases, for: id)
      effects.append(.storePartial(id, of: name))
    }
  }

  /// Ends a transfer for the leases that respect what its origin says. The others are released, and
  /// get a transfer of their own.
  mutating func fail(
    _ id: TransferID, with failure: Failure, wasRedirected: Bool = false,
    concerning isConcerned: (FetchOptions) -> Bool
  ) {
    for lease in transfers.end(id) {
      if isConcerned(tasks[lease].order.options) {
        finish(lease, with: .failed(failure), wasRedirected: wasRedirected)
      } else {
        release(lease)
      }
    }
  }

  /// The store has the partial body, or cannot have it.
  mutating func partialStored(_ id: TransferID) {
    effects.append(.releaseBody(id))
    reportFailure(of: brokenTransfers.finish(id))
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
          lease, with: .failed(failing.failure), wasRedirected: failing.wasRedirected)
      }
    }
  }

  /// The failure is reported, unless the origin permits a stale thumbnail in its place (RFC 5861
  /// section 4).
  mutating func staleFound(_ lease: LeaseID, _ thumbnail: Thumbnail?) {
    let failing = tasks[lease].failing
    guard let thumbnail else {
      return finish(lease, with: .failed(failing.failure), wasRedirected: failing.wasRedirected)
    }
    finish(
      lease, with: .done(thumbnail, fromCache: true, bytesFetched: 0),
      wasRedirected: failing.wasRedirected, failureBehind: failing.failure)
  }
}
