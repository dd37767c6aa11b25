import ImgModel
import ImgWire

/// Asking origins first what their robots.txt permits, for requests that respect it.
extension WorkerMachine {
  /// Takes the step as soon as the rules of the order's origin are known, if they permit it.
  mutating func checkRobots(for order: FetchOrder, then step: RobotsCache.Step) {
    let check = RobotsCache.Check(url: order.url, step: step)
    if order.options.respectsRobots, !order.url.isLocal {
      decide(check)
    } else {
      proceed(with: check)
    }
  }

  /// Follows a redirect if the robots.txt of its target permits that, for a transfer that respects
  /// it. By then the transfer has a slot at the target, which also serves for that file.
  ///
  /// - Parameter slotWait: for how long it waited for the slot.
  mutating func checkRobots(
    for redirect: Redirect, of transfer: TransferID, slotWait: Duration
  ) {
    let check = RobotsCache.Check(
      url: redirect.url,
      step: .follow(transfer, leavesHost: redirect.leavesHost, slotWait: slotWait))
    if transfers[transfer].checksRobots {
      decide(check)
    } else {
      proceed(with: check)
    }
  }

  private mutating func decide(_ check: RobotsCache.Check) {
    switch robots.verdict(of: check.url, at: now.wall) {
    case .permitted:
      if case .start(let transfer) = check.step {
        report.robotsKnown.append(transfers[transfer].order.lease)
      }
      proceed(with: check)
    case .refused(let failure): refuse(check, because: failure)
    case .unknown(let isAsked):
      robots.wait(check)
      if !isAsked { effects.append(.readRobots(of: check.url)) }
    }
  }

  // MARK: - The rules arrive

  /// Takes the rules of the store, else asks the origin.
  mutating func robotsRead(of url: ImageURL, _ known: KnownRobots?) {
    if let known {
      robots.learn(known, of: url.origin, at: now.wall).forEach { decideAfterWait($0) }
    } else {
      report.extraRequests.append(url.host)
      effects.append(.fetchRobots(of: url))
    }
  }

  mutating func robotsFetched(_ origin: String, _ answer: RobotsAnswer) {
    switch answer {
    case .rules(let rules):
      effects.append(
        .storeRobots(robots.receive(rules, of: origin, at: now.wall), origin: origin))
    case .unavailable(let failure, let isDeferred):
      for check in robots.takeWaiting(for: origin) where isStillWanted(check) {
        if isDeferred {
          requeue(check, because: failure.ofRobots(of: origin))
        } else {
          refuse(check, because: failure.ofRobots(of: origin))
        }
      }
    }
  }

  /// The other workers find the rules in the store: what waited continues.
  mutating func robotsStored(_ origin: String) {
    robots.rulesStored(of: origin, at: now.wall).forEach { decideAfterWait($0) }
  }

  private mutating func decideAfterWait(_ check: RobotsCache.Check) {
    if isStillWanted(check) { decide(check) }
  }

  /// Whether the leases of the check have not left while it waited.
  private func isStillWanted(_ check: RobotsCache.Check) -> Bool {
    switch check.step {
    case .start(let transfer), .follow(let transfer, _, _): transfers.contains(transfer)
    case .attach(let lease): tasks.contains(lease)
    }
  }

  // MARK: - The three ends of a check

  private mutating func proceed(with check: RobotsCache.Check) {
    switch check.step {
    case .start(let transfer):
      effects.append(.startTransfer(transfers[transfer].order))
    case .follow(let transfer, let leavesHost, let slotWait):
      if !leavesHost { report.extraRequests.append(check.url.host) }
      effects.append(.followRedirect(transfer, excluding: slotWait))
    case .attach(let lease): attach(lease)
    }
  }

  private mutating func refuse(_ check: RobotsCache.Check, because failure: Failure) {
    switch check.step {
    case .start(let transfer): fail(transfer, with: failure) { $0.respectsRobots }
    case .follow(let transfer, _, _):
      effects.append(.cancelTransfer(transfer))
      fail(transfer, with: failure, wasRedirected: true) { $0.respectsRobots }
    case .attach(let lease): finish(lease, with: .failed(failure))
    }
  }

  /// The host is in a cooldown, so that its robots.txt was not asked for: the coordinator requeues
  /// the leases. It does not know where a redirect leads, so that those are retried as after any
  /// failure.
  private mutating func requeue(_ check: RobotsCache.Check, because failure: Failure) {
    switch check.step {
    case .start(let transfer): transfers.end(transfer).forEach { release($0) }
    case .follow: refuse(check, because: failure)
    case .attach(let lease): release(lease)
    }
  }
}

extension Failure {
  /// The same failure, as what keeps a picture from being fetched.
  fileprivate func ofRobots(of origin: String) -> Failure {
    Failure(
      stage: stage, code: code, httpStatus: httpStatus, isRetryable: isRetryable,
      detail: "the robots.txt of \(origin) cannot be had, which closes all of it: \(detail)")
  }
}
