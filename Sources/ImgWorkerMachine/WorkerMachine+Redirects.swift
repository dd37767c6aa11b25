import ImgModel
import ImgWire

/// Redirects: which leases permit them, and when they are followed.
extension WorkerMachine {
  /// The leases that do not permit the URL fail. For the others the transfer continues there; without any
  /// it is over.
  ///
  /// A redirect to another host waits for a slot there. Nothing is sent to that host before, not
  /// even for its robots.txt.
  mutating func redirected(_ transfer: TransferID, _ redirect: Redirect) {
    guard transfers.contains(transfer) else { return }
    for lease in transfers[transfer].leases where !permits(redirect.url, lease) {
      leaveTransfer(lease)
      refuse(lease, redirectedTo: redirect.url)
    }
    guard transfers.contains(transfer) else { return }
    transfers.redirect(transfer, to: redirect.url)
    guard redirect.leavesHost else {
      return checkRobots(for: redirect, of: transfer, slotWait: .zero)
    }
    transfers.waitForSlot(transfer, redirect, since: now.instant)
    report.redirections.append(
      .init(transfer: transfer, host: redirect.url.host, origin: redirect.url.origin))
  }

  /// The transfer has a slot at the host to which its redirect leads. Its leases may have left
  /// meanwhile.
  mutating func slotGranted(_ transfer: TransferID) {
    guard let wait = transfers.takeSlotWait(transfer, at: now.instant) else { return }
    checkRobots(for: wait.redirect, of: transfer, slotWait: now.instant - wait.since)
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
