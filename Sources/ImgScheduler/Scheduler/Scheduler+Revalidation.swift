import ImgModel

/// Pictures that are served stale, as their origins allow (RFC 5861).
///
/// While the origin is asked about one (stale-while-revalidate, section 3), that is an item of no
/// request, after all others; only the store shows its result. Where the origin is known to fail
/// (stale-if-error, section 4), the store is asked once more for the items that wait.
extension Scheduler {
  /// How many may be under way. Beyond it none begins: the next request for the picture begins it.
  package static let revalidationMaximum = 256

  /// Has the origin asked about a hit that was stale, unless that is under way. If it still holds
  /// it is kept for as long as the first request that got it asks.
  mutating func revalidate(_ served: WorkItem) {
    var key = served.key
    key.isRevalidation = true
    guard !isDraining, work.revalidationCount < Self.revalidationMaximum,
      work.openItem(for: key) == nil
    else { return }
    let expiry = served.waiters.first?.expiry ?? .standard
    routeMiss(add(key, served.url, Waiter(who: .revalidation, expiry: expiry, priority: .min)).id)
    reviewSources()
  }

  // MARK: - Origins that fail

  /// Whether a look-up now may be answered with what is stale.
  func mayBeServedStale(_ item: WorkItem) -> Bool {
    item.key.mayBeServedStale
      && transferQueue.isFailing(item.host, origin: item.url.origin, at: now.instant)
  }

  func isStaleWorthAsking(of item: WorkItem) -> Bool {
    !item.hasAskedForStale && mayBeServedStale(item)
  }

  /// A host has failed once more: items that wait for it may be served stale.
  mutating func offerStale(of host: String) {
    offerStale(of: host, to: transferQueue.waiting(for: host).sorted())
  }

  /// The same for the items of these sources.
  mutating func offerStale(of host: String, to waiting: [SourceID]) {
    for id in waiting {
      guard let source = sources[id],
        transferQueue.isFailing(host, origin: source.key.origin, at: now.instant)
      else { continue }
      let askable = waitingItems(of: source).filter(isStaleWorthAsking)
      guard !askable.isEmpty else { continue }
      askable.forEach { awaitLookup($0.id) }
      reviewNow(id)
    }
  }
}
