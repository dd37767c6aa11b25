import ImgModel

/// Extending the expiry of records.
extension ThumbnailTables {
  /// Extends the expiry of an accessed thumbnail in its record and in the indexes. Does nothing if
  /// it was removed or had expired, or if it is not in the expiry index, which `cache verify`
  /// reports.
  func extend(
    _ access: ThumbnailAccess, _ transaction: borrowing Transaction
  ) throws(StoreError) {
    let key = access.key.bytes
    let found = try transaction.withValue(of: key, in: thumbnails) { record in
      extended(record, by: access)
    }
    guard let (before, after, record) = found ?? nil,
      let entry = try expiryEntry(of: access.key, expiresAt: before, transaction)
    else { return }
    try transaction.put(record, for: key, in: thumbnails)
    guard after != before else { return }
    let moved = entry.expiring(at: after)
    try transaction.delete(entry.encodedKey, from: expiry)
    try transaction.put(moved.encodedValue, for: moved.encodedKey, in: expiry)
    let arrival = ArrivalEntry(
      sequence: entry.sequence, key: access.key, expiresAt: after,
      pin: try arrival(entry.sequence, transaction)?.pin)
    try transaction.put(arrival.encodedValue, for: arrival.encodedKey, in: arrivals)
  }

  /// The old and the new expiry of a record, and the record with the new one; `nil` if it does not
  /// change.
  private func extended(
    _ record: Span<UInt8>, by access: ThumbnailAccess
  ) -> (before: WallTime, after: WallTime, record: [UInt8])? {
    guard let facts = ThumbnailRecord.verifiedFacts(of: record, key: access.key),
      !facts.isExpired(at: access.moment),
      let extended = facts.extended(by: access.retention, at: access.moment)
    else { return nil }
    let copy = ThumbnailRecord.copy(of: record, keptAs: extended)
    return (facts.expiresAt, extended.expiresAt, copy)
  }
}
