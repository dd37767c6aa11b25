import ImgFetch
import ImgStore
import ImgWire

/// Asking origins first what they allow, for those who respect it.
extension Worker {
  /// Goes on with a lease if the origin's robots.txt allows it, as soon as that is known.
  func consultRobots(for fetch: Fetch, then step: RobotsBook.Step) {
    guard fetch.options.respectsRobots, !fetch.url.isLocal else { return goOn(with: fetch, step) }
    decide(RobotsBook.Waiting(fetch: fetch, step: step))
  }

  private func decide(_ waiting: RobotsBook.Waiting) {
    let fetch = waiting.fetch
    switch robots.verdict(of: fetch.url, at: wallTime) {
    case .permitted: goOn(with: fetch, waiting.step)
    case .refused(let failure): refuse(fetch, waiting.step, because: failure)
    case .unknown(let isAsked):
      robots.wait(waiting)
      if !isAsked { askForRobots(of: fetch.url) }
    }
  }

  /// Takes what the store remembers, else what the origin says.
  private func askForRobots(of url: ImageURL) {
    // A store that cannot be read remembers nothing.
    if let record = try? store.current().robots(of: url.origin, at: wallTime) {
      robots.learn(record, of: url.origin, at: wallTime).forEach(decideLate)
    } else {
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
        refuse(
          waiting.fetch, waiting.step, because: failure,
          retryAfterMilliseconds: transfer.retryAfterMilliseconds)
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
    case .ride:
      guard fetches[lease] != nil else { return false }
      guard waiting.fetch.cancellation.isSet else { return true }
      end(lease, with: .cancelled)
      return false
    }
  }

  private func goOn(with fetch: Fetch, _ step: RobotsBook.Step) {
    switch step {
    case .fetch:
      pool.start(
        fetch.lease.rawValue, url: fetch.url, as: fetch.options, from: beginning(of: fetch),
        unlessMatching: validators(for: fetch))
    case .ride: board(fetch)
    }
  }

  private func refuse(
    _ fetch: Fetch, _ step: RobotsBook.Step, because failure: Failure,
    retryAfterMilliseconds: Int64? = nil
  ) {
    switch step {
    case .fetch:
      fail(fetch.lease, with: failure, retryAfterMilliseconds: retryAfterMilliseconds) {
        $0.respectsRobots
      }
    case .ride: end(fetch.lease, with: .failed(failure))
    }
  }
}
