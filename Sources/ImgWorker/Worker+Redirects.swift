import ImgFetch
import ImgModel
import ImgWire

/// Redirects to other hosts, which wait for slots there.
extension Worker {
  /// Goes on with a redirect. Where it leads to another host, the coordinator is told that the
  /// transfer needs a slot there; nothing is sent to that host before, not even for its robots.txt.
  func take(_ redirect: Redirect) {
    guard redirect.leavesHost else { return judge(redirect, after: .zero) }
    let transfer = LeaseID(rawValue: redirect.id)
    slotWaits[transfer] = SlotWait(redirect: redirect, since: .now)
    redirections.append(
      Redirections.Redirection(transfer: TransferID(startedBy: transfer), host: redirect.url.host))
  }

  /// Transfers have slots where their redirects lead. Their leases may have left meanwhile.
  func followRedirects(of list: [TransferID]) {
    for transfer in list.map({ LeaseID(rawValue: $0.rawValue) }) {
      guard let wait = slotWaits.removeValue(forKey: transfer), transfers.has(transfer) else {
        continue
      }
      judge(wait.redirect, after: .now - wait.since)
    }
  }
}

/// A transfer that waits for a slot where its redirect leads.
struct SlotWait {
  let redirect: Redirect
  let since: ContinuousClock.Instant
}
