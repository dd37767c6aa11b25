import ImgModel

/// Pictures that are given out stale, as their origins allow (RFC 5861).
///
/// While the origin is asked about one (stale-while-revalidate, section 3), that is an item for which
/// nobody waits, after all others; what comes of it only the store shows. Where the origin is known
/// to fail (stale-if-error, section 4), the store is asked once more for those that wait.
extension Scheduler {
  /// How many may be under way. Beyond it none begins: who asks for the picture again begins it.
  static let revalidationMaximum = 256

  /// Has the origin asked about a hit that was stale, unless that is under way. If it still holds
  /// it is kept for as long as the first who got it asks.
  mutating func revalidate(_ served: WorkItem) {
    var key = served.key
    key.isRevalidation = true
    guard !isDraining, revalidationCount < Self.revalidationMaximum, itemsByKey[key] == nil else {
      return
    }
    let expiry = served.waiters.first?.expiry ?? .standard
    awaitTransfer(add(key, served.url, Waiter(who: .nobody, expiry: expiry, priority: .min)))
    reviewSources()
  }

  // MARK: - Origins that fail

  /// Whether a look-up now may be answered with what is stale.
  func mayBeServedStale(_ item: WorkItem) -> Bool {
    item.key.mayBeServedStale && transferQueue.isFailing(item.host, at: now.instant)
  }

  func isStaleWorthAsking(of item: WorkItem) -> Bool {
    !item.hasAskedForStale && mayBeServedStale(item)
  }

  /// A host has failed once more: those who wait for it may be served all the same.
  mutating func offerStale(of host: String) {
    guard transferQueue.isFailing(host, at: now.instant) else { return }
    for id in transferQueue.waiting(for: host).sorted(by: { $0.rawValue < $1.rawValue }) {
      guard let source = sources[id] else { continue }
      let askable = waitingItems(of: source).filter(isStaleWorthAsking)
      guard !askable.isEmpty else { continue }
      for waiting in askable {
        // Looked up again: the one before may have taken it along.
        guard let item = items[waiting.id], item.stage == .awaitingTransfer else { continue }
        awaitLookup(item)
      }
      reviewNow(id)
    }
  }
}
