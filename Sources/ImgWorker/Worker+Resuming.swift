import ImgFetch
import ImgModel
import ImgStore

/// Going on with bodies whose transfers broke off, in whichever worker.
extension Worker {
  /// What an earlier transfer of the picture left.
  func partialBody(of fetch: Fetch) -> PartialBody? {
    guard fetch.mayLeavePartial else { return nil }
    // A store that cannot be read has none.
    let found = try? store.current().withPartial(of: fetch.name, at: wallTime) { partial, bytes in
      PartialBody(content: pool.content(copying: bytes), resumeState: ResumeState(partial))
    }
    return found ?? nil
  }

  /// The transfer has failed. What is left of the body is in the store before the leases are told,
  /// so that the next attempt finds it.
  func settle(_ broken: BrokenTransfer, _ transfer: LeaseID, leaving leftover: Leftover) {
    let fetches = broken.leases.compactMap { self.fetches[$0] }
    switch leftover {
    case .unchanged: report(broken)
    case .obsolete:
      if let name = fetches.first?.name { storeThread.removePartial(of: name) }
      report(broken)
    case .partial(let partial, let charge):
      guard let fetch = fetches.first(where: \.mayLeavePartial) else {
        pool.releaseBody(charge)
        return report(broken)
      }
      brokenTransfers[transfer] = broken
      storeThread.put(
        PartialPut(transfer: transfer, name: fetch.name, partial: partial, charge: charge))
    }
  }

  /// What was left of a body is in the store, or cannot be.
  func settle(_ put: PartialPut) {
    pool.releaseBody(put.charge)
    if let broken = brokenTransfers.removeValue(forKey: put.transfer) { report(broken) }
  }

  private func report(_ broken: BrokenTransfer) {
    for lease in broken.leases {
      let isCancelled = fetches[lease]?.cancellation.isSet ?? false
      let stale = isCancelled ? nil : staleThumbnail(for: lease, after: broken.failure)
      let served = stale.map { Outcome.done($0, fromCache: true, bytesFetched: 0) }
      end(
        lease, with: isCancelled ? .cancelled : served ?? .failed(broken.failure),
        wasRedirected: broken.wasRedirected, failureBehind: stale.map { _ in broken.failure })
    }
  }
}

extension Fetch {
  /// Whether what is left of its body may be stored.
  /// One that is known by a key in place of its URL may be another URL's.
  fileprivate var mayLeavePartial: Bool {
    keep != .none && !bypassesStore && options.cacheKey == nil
  }
}

extension ResumeState {
  fileprivate init(_ partial: StoredPartial) {
    self.init(
      validator: partial.validator, issuer: partial.issuer,
      completeByteCount: partial.completeByteCount.map { Int($0) },
      receivedByteCount: Int(partial.receivedByteCount))
  }
}

extension StoredPartial {
  init(_ mark: ResumeState, of name: PictureName) {
    self.init(
      url: name.recordText, validator: mark.validator, issuer: mark.issuer,
      completeByteCount: mark.completeByteCount.map { Int64($0) },
      receivedByteCount: Int64(mark.receivedByteCount))
  }
}
