import ImgFetch
import ImgWire

/// Redirects to other hosts, which wait for slots there.
extension Worker {
  /// Tells the coordinator that a transfer needs a slot at another host.
  func awaitSlot(for transfer: LeaseID, at host: String) {
    slotWaits[transfer] = .now
    redirections.append(Redirections.Redirection(transfer: transfer, host: host))
  }

  /// Transfers have slots where their redirects lead. Their leases may have left meanwhile.
  func follow(_ transfers: [LeaseID]) {
    for transfer in transfers {
      guard let since = slotWaits.removeValue(forKey: transfer), self.transfers.has(transfer) else {
        continue
      }
      pool.follow(transfer.rawValue, excluding: .now - since)
    }
  }
}
