import ImgFetch
import ImgModel
import ImgStore
import ImgWire

/// Asking origins first what they allow, for those who respect it.
extension Worker {
  /// Goes on with a lease if the origin's robots.txt allows it, as soon as that is known.
  func consultRobots(for fetch: Fetch, then step: RobotsBook.Step) {
    let waiting = RobotsBook.Waiting(fetch: fetch, url: fetch.url, step: step)
    guard fetch.options.respectsRobots, !fetch.url.isLocal else { return goOn(with: waiting) }
    decide(waiting)
  }

  /// Follows a redirect if the robots.txt of where it leads allows that, whose origin may be another,
  /// for a transfer that respects it. The transfer has a slot there by then, which serves for that
  /// file, too.
  ///
  /// - Parameter slotWait: for how long it waited for the slot.
  func judge(_ redirect: Redirect, after slotWait: Duration) {
    let id = LeaseID(rawValue: redirect.id)
    guard let fetch = transfers.lease(of: id).flatMap({ fetches[$0] }) else { return }
    let waiting = RobotsBook.Waiting(
      fetch: fetch, url: redirect.url,
      step: .follow(id, leavesHost: redirect.leavesHost, slotWait: slotWait))
    if transfers.judgesRedirects(id) {
      decide(waiting)
    } else {
      goOn(with: waiting)
    }
  }

  private func decide(_ waiting: RobotsBook.Waiting) {
    switch robots.verdict(of: waiting.url, at: wallTime) {
    case .permitted:
      if case .fetch = waiting.step { notices.robotsKnown.append(waiting.fetch.lease) }
      goOn(with: waiting)
    case .refused(let failure): refuse(waiting, because: failure)
    case .unknown(let isAsked):
      robots.wait(waiting)
      if !isAsked { askForRobots(of: waiting.url) }
    }
  }

  /// Takes what the store remembers, else what the origin says.
  private func askForRobots(of url: ImageURL) {
    // A store that cannot be read remembers nothing.
    if let record = try? store.current().robots(of: url.origin, at: wallTime) {
      robots.learn(record, of: url.origin, at: wallTime).forEach(decideLate)
    } else {
      notices.extraRequests.append(url.host)
      pool.startRobots(robots.ask(url.origin), of: url)
    }
  }

  /// Takes an origin's answer.
  ///
  /// - Returns: whether the transfer was one of a robots.txt.
  func settleRobots(_ transfer: FinishedTransfer) -> Bool {
    guard let answer = robots.receive(transfer, at: wallTime) else { return false }
    if case .success(let body) = transfer.result { pool.releaseBody(body.charge) }
    switch answer {
    case .rules(let record, let origin): storeThread.keep(record, of: origin)
    case .trouble(let failure, let waiting):
      for waiting in waiting where stillWaits(waiting) {
        if transfer.isDeferred {
          giveBack(waiting, because: failure)
        } else {
          refuse(waiting, because: failure)
        }
      }
    }
    return true
  }

  /// The other workers know what this one has learned: those who waited go on.
  func settleRobots(of origin: String) {
    robots.settle(origin, at: wallTime).forEach(decideLate)
  }

  /// Somebody may have stopped waiting meanwhile.
  private func decideLate(_ waiting: RobotsBook.Waiting) {
    if stillWaits(waiting) { decide(waiting) }
  }

  private func stillWaits(_ waiting: RobotsBook.Waiting) -> Bool {
    let lease = waiting.fetch.lease
    switch waiting.step {
    case .fetch:
      // Others may ride on the transfer whose first lease has left.
      return transfers.has(lease)
    case .follow(let id, _, _):
      return transfers.has(id)
    case .attach:
      guard fetches[lease] != nil else { return false }
      guard waiting.fetch.cancellation.isSet else { return true }
      end(lease, with: .cancelled)
      return false
    }
  }

  private func goOn(with waiting: RobotsBook.Waiting) {
    switch waiting.step {
    case .fetch: start(waiting.fetch)
    case .follow(let id, let leavesHost, let slotWait):
      if !leavesHost { notices.extraRequests.append(waiting.url.host) }
      pool.follow(id.rawValue, excluding: slotWait)
    case .attach: board(waiting.fetch)
    }
  }

  private func refuse(_ waiting: RobotsBook.Waiting, because failure: Failure) {
    switch waiting.step {
    case .fetch: fail(waiting.fetch.lease, with: failure) { $0.respectsRobots }
    case .follow(let id, _, _):
      pool.cancel(id.rawValue)
      fail(id, with: failure, wasRedirected: true) { $0.respectsRobots }
    case .attach: end(waiting.fetch.lease, with: .failed(failure))
    }
  }

  /// The host wants to be left alone, so that its robots.txt was not asked for: whoever gives out the
  /// leases gives them out again later. Where a redirect leads it does not know, so that those are
  /// tried again as after any failure.
  private func giveBack(_ waiting: RobotsBook.Waiting, because failure: Failure) {
    switch waiting.step {
    case .fetch: transfers.end(waiting.fetch.lease).forEach(lose)
    case .follow: refuse(waiting, because: failure)
    case .attach: lose(waiting.fetch.lease)
    }
  }
}
