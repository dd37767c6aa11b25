import ImgModel

/// A part of an index, in its order.
struct IndexSlice<Entry> {
  var entries: [Entry] = []
  /// Of what is no entry of this release: nobody can say what it belongs to.
  var foreignKeys: [[UInt8]] = []

  var count: Int { entries.count + foreignKeys.count }
  var isEmpty: Bool { count == 0 }
}

/// The two orders of the records: by the moment they expire, and by arrival.
extension ThumbnailTables {
  /// Removes the records that expired longest ago, and what it meets that is no entry.
  ///
  /// - Parameters:
  ///   - limit: how many at most.
  ///   - spared: records that stay.
  /// - Returns: how many of both were removed.
  func removeExpired(
    at now: WallTime, limit: Int, sparing spared: Set<ContentKey> = [],
    _ transaction: borrowing Transaction, counting counters: inout StoreCounters
  ) throws(StoreError) -> Int {
    var chosen = IndexSlice<ExpiryEntry>()
    try transaction.scan(expiry) { key, value throws(StoreError) in
      guard let entry = ExpiryEntry(key: key, value: value) else {
        chosen.foreignKeys.append(key.copy())
        return chosen.count < limit
      }
      if entry.expiresAt > now { return false }
      if !spared.contains(entry.key) { chosen.entries.append(entry) }
      return chosen.count < limit
    }
    for entry in chosen.entries {
      try transaction.delete(entry.encodedKey, from: expiry)
      try transaction.delete(ArrivalEntry.encodedKey(entry.sequence), from: arrivals)
      try transaction.delete(entry.key.bytes, from: thumbnails)
    }
    for key in chosen.foreignKeys { try transaction.delete(key, from: expiry) }
    counters.expiredRemovals += UInt64(chosen.entries.count)
    counters.damagedRemovals += UInt64(chosen.foreignKeys.count)
    return chosen.count
  }

  /// The entries of the order of arrival from a sequence number on, the oldest first.
  func arrivals(
    from sequence: UInt64, limit: Int, _ transaction: borrowing Transaction
  ) throws(StoreError) -> IndexSlice<ArrivalEntry> {
    var found = IndexSlice<ArrivalEntry>()
    // From the very first key, which may be none of ours and lie before all numbers.
    let start = sequence == 0 ? [] : ArrivalEntry.encodedKey(sequence)
    try transaction.scan(arrivals, from: start) { key, value in
      if let entry = ArrivalEntry(key: key, value: value) {
        found.entries.append(entry)
      } else {
        found.foreignKeys.append(key.copy())
      }
      return found.count < limit
    }
    return found
  }

  /// Removes a record with its entries.
  ///
  /// - Returns: whether there was such a record.
  func remove(
    _ entry: ArrivalEntry, _ transaction: borrowing Transaction
  ) throws(StoreError) -> Bool {
    try transaction.delete(entry.encodedKey, from: arrivals)
    try transaction.delete(
      ExpiryEntry.encodedKey(expiresAt: entry.expiresAt, key: entry.key), from: expiry)
    return try transaction.delete(entry.key.bytes, from: thumbnails)
  }

  /// Makes a record the last that arrived; the record itself is not touched.
  ///
  /// - Returns: whether it did; `false` when the entry belongs to no record.
  func moveToEnd(
    _ entry: ArrivalEntry, _ transaction: borrowing Transaction
  ) throws(StoreError) -> Bool {
    guard
      let expiryEntry = try expiryEntry(of: entry.key, expiresAt: entry.expiresAt, transaction)
    else { return false }
    let sequence = try nextSequence(transaction)
    try transaction.delete(entry.encodedKey, from: arrivals)
    try addLast(
      ArrivalEntry(sequence: sequence, key: entry.key, expiresAt: entry.expiresAt), transaction)
    try transaction.put(
      expiryEntry.moved(to: sequence).encodedValue, for: expiryEntry.encodedKey, in: expiry)
    return true
  }

  /// Adds an entry with the ``nextSequence(_:)``.
  func addLast(
    _ entry: ArrivalEntry, _ transaction: borrowing Transaction
  ) throws(StoreError) {
    let (key, value) = (entry.encodedKey, entry.encodedValue)
    // Only what is no number of an arrival lies behind it.
    guard try !transaction.append(value.span, for: key.span, in: arrivals) else { return }
    try transaction.put(value, for: key, in: arrivals)
  }

  /// `nil` also for an entry that is none of this release.
  func expiryEntry(
    of key: ContentKey, expiresAt: WallTime, _ transaction: borrowing Transaction
  ) throws(StoreError) -> ExpiryEntry? {
    let encodedKey = ExpiryEntry.encodedKey(expiresAt: expiresAt, key: key)
    let found = try transaction.withValue(of: encodedKey, in: expiry) { value in
      ExpiryEntry(key: encodedKey.span, value: value)
    }
    return found ?? nil
  }

  /// Higher than every sequence number in use.
  func nextSequence(_ transaction: borrowing Transaction) throws(StoreError) -> UInt64 {
    var last: UInt64 = 0
    try transaction.scanBackwards(arrivals, before: nil) { key, _ in
      // What is no number is in nobody's way; eviction removes it.
      guard let found = ArrivalEntry.sequence(of: key) else { return true }
      last = found
      return false
    }
    guard last < .max - 1 else {
      throw StoreError(.corrupted, operation: "numbering an arrival")
    }
    return last + 1
  }
}
