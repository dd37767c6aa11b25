import ImgWire

/// Pictures that were given out stale while their origins are asked about them
/// (stale-while-revalidate, RFC 5861 section 3). Each is an item for which nobody waits, after all
/// others; what comes of it only the store shows.
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
  }
}
