import ImgWire

/// The two orders of the records: by the moment they expire, and by arrival.
extension ThumbnailTables {
  /// Removes the records that expired longest ago.
  ///
  /// - Parameters:
  ///   - limit: how many at most.
  ///   - spared: records that stay.
  /// - Returns: how many were removed.
  func removeExpired(
    at now: WallTime, limit: Int, sparing spared: Set<ContentKey> = [],
    _ transaction: borrowing Transaction
  ) throws(StoreError) -> Int {
    var chosen: [ExpiryEntry] = []
    try transaction.scan(expiry) { key, value throws(StoreError) in
      let entry = try ExpiryEntry(key: key, value: value)
      if entry.expiresAt > now { return false }
      if !spared.contains(entry.key) { chosen.append(entry) }
      return chosen.count < limit
    }
    for entry in chosen {
      try transaction.delete(entry.encodedKey, from: expiry)
      try transaction.delete(ArrivalEntry.encodedKey(entry.sequence), from: arrivals)
      try transaction.delete(entry.key.bytes, from: thumbnails)
    }
    return chosen.count
  }

  /// The entries of the order of arrival from a sequence number on, the oldest first.
  func arrivals(
    from sequence: UInt64, limit: Int, _ transaction: borrowing Transaction
  ) throws(StoreError) -> [ArrivalEntry] {
    var found: [ArrivalEntry] = []
    try transaction.scan(arrivals, from: ArrivalEntry.encodedKey(sequence)) {
      key, value throws(StoreError) in
      found.append(try ArrivalEntry(key: key, value: value))
      return found.count < limit
    }
    return found
  }

  /// Removes a record with its entries.
  func remove(
    _ entry: ArrivalEntry, _ transaction: borrowing Transaction
  ) throws(StoreError) {
    try transaction.delete(entry.encodedKey, from: arrivals)
    try transaction.delete(
      ExpiryEntry.encodedKey(expiresAt: entry.expiresAt, key: entry.key), from: expiry)
    try transaction.delete(entry.key.bytes, from: thumbnails)
  }

  /// Makes a record the last that arrived; the record itself is not touched.
  func moveToEnd(
    _ entry: ArrivalEntry, _ transaction: borrowing Transaction
  ) throws(StoreError) {
    guard
      let expiryEntry = try expiryEntry(of: entry.key, expiresAt: entry.expiresAt, transaction)
    else { throw StoreError(.corrupted, operation: "reading the expiry of an arrival") }
    let sequence = try nextSequence(transaction)
    try transaction.delete(entry.encodedKey, from: arrivals)
    try transaction.put(
      entry.encodedValue, for: ArrivalEntry.encodedKey(sequence), in: arrivals)
    try transaction.put(
      expiryEntry.moved(to: sequence).encodedValue, for: expiryEntry.encodedKey, in: expiry)
  }

  func expiryEntry(
    of key: ContentKey, expiresAt: WallTime, _ transaction: borrowing Transaction
  ) throws(StoreError) -> ExpiryEntry? {
    let encodedKey = ExpiryEntry.encodedKey(expiresAt: expiresAt, key: key)
    return try transaction.withValue(of: encodedKey, in: expiry) { value throws(StoreError) in
      try ExpiryEntry(key: encodedKey.span, value: value)
    }
  }

  /// Higher than every sequence number in use.
  func nextSequence(_ transaction: borrowing Transaction) throws(StoreError) -> UInt64 {
    var last: UInt64 = 0
    try transaction.scanBackwards(arrivals, before: nil) { key, _ throws(StoreError) in
      last = try ArrivalEntry.sequence(of: key)
      return false
    }
    guard last < .max else {
      throw StoreError(.corrupted, operation: "numbering an arrival")
    }
    return last + 1
  }
}
