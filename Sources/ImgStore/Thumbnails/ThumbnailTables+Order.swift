import ImgModel

/// A part of an index, in order.
struct IndexSlice<Entry> {
  var entries: [Entry] = []
  /// The keys of invalid entries, whose records are unknown.
  var invalidKeys: [[UInt8]] = []

  var count: Int { entries.count + invalidKeys.count }
  var isEmpty: Bool { count == 0 }
}

/// The two orders of the records: by expiry and by arrival.
extension ThumbnailTables {
  /// Removes the records with the oldest expiry, and invalid entries between them.
  ///
  /// - Parameters:
  ///   - limit: the maximum number of removals.
  ///   - spared: records that stay.
  /// - Returns: the number of removed records and invalid entries.
  func removeExpired(
    at now: WallTime, limit: Int, sparing spared: Set<ContentKey> = [],
    _ transaction: borrowing Transaction, counting counters: inout StoreCounters
  ) throws(StoreError) -> Int {
    var chosen = IndexSlice<ExpiryEntry>()
    try transaction.scan(expiry) { key, value throws(StoreError) in
      guard let entry = ExpiryEntry(key: key, value: value) else {
        chosen.invalidKeys.append(key.copy())
        return chosen.count < limit
      }
      if entry.expiresAt > now { return false }
      if !spared.contains(entry.key) { chosen.entries.append(entry) }
      return chosen.count < limit
    }
    for entry in chosen.entries {
      try transaction.delete(entry.encodedKey, from: expiry)
      try removeArrival(entry.sequence, transaction)
      try transaction.delete(entry.key.bytes, from: thumbnails)
    }
    for key in chosen.invalidKeys { try transaction.delete(key, from: expiry) }
    counters.expiredRemovals += UInt64(chosen.entries.count)
    counters.damagedRemovals += UInt64(chosen.invalidKeys.count)
    return chosen.count
  }

  /// The entries of the order of arrival from a sequence number on, oldest first.
  func arrivals(
    from sequence: UInt64, limit: Int, _ transaction: borrowing Transaction
  ) throws(StoreError) -> IndexSlice<ArrivalEntry> {
    var found = IndexSlice<ArrivalEntry>()
    // From the first key, because an invalid one may precede all numbers.
    let start = sequence == 0 ? [] : ArrivalEntry.encodedKey(sequence)
    try transaction.scan(arrivals, from: start) { key, value in
      if let entry = ArrivalEntry(key: key, value: value) {
        found.entries.append(entry)
      } else {
        found.invalidKeys.append(key.copy())
      }
      return found.count < limit
    }
    return found
  }

  /// Removes a record that is not pinned, with its entries.
  ///
  /// - Returns: whether the record existed.
  func remove(
    _ entry: ArrivalEntry, _ transaction: borrowing Transaction
  ) throws(StoreError) -> Bool {
    try transaction.delete(entry.encodedKey, from: arrivals)
    try transaction.delete(
      ExpiryEntry.encodedKey(expiresAt: entry.expiresAt, key: entry.key), from: expiry)
    return try transaction.delete(entry.key.bytes, from: thumbnails)
  }

  /// Moves a record that is not pinned to the end of the order of arrival, without writing the record
  /// itself.
  ///
  /// - Returns: `false` if the entry has no record.
  func moveToEnd(
    _ entry: ArrivalEntry, _ transaction: borrowing Transaction
  ) throws(StoreError) -> Bool {
    guard
      let expiryEntry = try expiryEntry(of: entry.key, expiresAt: entry.expiresAt, transaction)
    else { return false }
    let sequence = try nextSequence(isPinned: false, transaction)
    try transaction.delete(entry.encodedKey, from: arrivals)
    try addLast(
      ArrivalEntry(sequence: sequence, key: entry.key, expiresAt: entry.expiresAt), transaction)
    try transaction.put(
      expiryEntry.moved(to: sequence).encodedValue, for: expiryEntry.encodedKey, in: expiry)
    return true
  }

  /// Adds an entry with the ``nextSequence(isPinned:_:)``.
  func addLast(
    _ entry: ArrivalEntry, _ transaction: borrowing Transaction
  ) throws(StoreError) {
    let (key, value) = (entry.encodedKey, entry.encodedValue)
    // Appending fails before pinned records, and behind an invalid entry.
    guard try !transaction.append(value.span, for: key.span, in: arrivals) else { return }
    try transaction.put(value, for: key, in: arrivals)
  }

  /// `nil` also for an invalid entry.
  func expiryEntry(
    of key: ContentKey, expiresAt: WallTime, _ transaction: borrowing Transaction
  ) throws(StoreError) -> ExpiryEntry? {
    let encodedKey = ExpiryEntry.encodedKey(expiresAt: expiresAt, key: key)
    let found = try transaction.withValue(of: encodedKey, in: expiry) { value in
      ExpiryEntry(key: encodedKey.span, value: value)
    }
    return found ?? nil
  }

  /// Higher than every sequence number in use: of all records, or of those that are not pinned.
  func nextSequence(
    isPinned: Bool, _ transaction: borrowing Transaction
  ) throws(StoreError) -> UInt64 {
    let first = ArrivalEntry.firstPinnedSequence
    var last = isPinned ? first - 1 : 0
    let end = isPinned ? nil : ArrivalEntry.encodedKey(first)
    try transaction.scanBackwards(arrivals, before: end) { key, _ in
      // Skip an invalid entry. Eviction removes it.
      guard let found = ArrivalEntry.sequence(of: key) else { return true }
      last = max(last, found)
      return false
    }
    guard last < (isPinned ? .max - 1 : first - 1) else {
      throw StoreError(.corrupted, operation: "numbering an arrival")
    }
    return last + 1
  }
}
