import ImgModel

/// Checks entries: their own form, and the entries they belong to.
extension ThumbnailTables {
  func database(of table: StoreDefect.Table) -> Database {
    switch table {
    case .arrivals: arrivals
    case .expiry: expiry
    case .thumbnails: thumbnails
    case .partials: partials
    }
  }

  /// The defect of an entry; `nil` if it is intact.
  func defect(
    in table: StoreDefect.Table, key: Span<UInt8>, value: Span<UInt8>,
    _ transaction: borrowing Transaction
  ) throws(StoreError) -> StoreDefect.Reason? {
    switch table {
    case .arrivals:
      guard let entry = ArrivalEntry(key: key, value: value) else { return .invalid }
      return try defect(of: entry, transaction)
    case .expiry:
      guard let entry = ExpiryEntry(key: key, value: value) else { return .invalid }
      return try defect(of: entry, transaction)
    case .thumbnails:
      guard key.count == ContentKey.byteCount else { return .invalid }
      return try defect(of: value, key: ContentKey(key), transaction)
    case .partials:
      guard key.count == ContentKey.byteCount else { return .invalid }
      return PartialRecord.verified(value, key: ContentKey(key)) == nil ? .damaged : nil
    }
  }

  /// Removes an entry that still has a defect, and the index entries of a record.
  ///
  /// - Returns: the defect; `nil` if there is none any more.
  func repair(
    _ defect: StoreDefect, _ transaction: borrowing Transaction
  ) throws(StoreError) -> StoreDefect.Reason? {
    let database = database(of: defect.table)
    let key = defect.entryKey
    let found = try transaction.withValue(of: key, in: database) { value throws(StoreError) in
      try self.defect(in: defect.table, key: key.span, value: value, transaction)
    }
    guard let reason = found ?? nil else { return nil }
    if defect.table == .thumbnails, key.count == ContentKey.byteCount {
      try remove(ContentKey(key.span), transaction)
    } else if defect.table == .arrivals, let sequence = ArrivalEntry.sequence(of: key.span) {
      try removeArrival(sequence, transaction)
    } else {
      try transaction.delete(key, from: database)
    }
    return reason
  }

  private func defect(
    of entry: ArrivalEntry, _ transaction: borrowing Transaction
  ) throws(StoreError) -> StoreDefect.Reason? {
    let expiryEntry = try expiryEntry(of: entry.key, expiresAt: entry.expiresAt, transaction)
    guard let expiryEntry, expiryEntry.sequence == entry.sequence else { return .withoutRecord }
    return try defect(of: expiryEntry, transaction)
  }

  private func defect(
    of entry: ExpiryEntry, _ transaction: borrowing Transaction
  ) throws(StoreError) -> StoreDefect.Reason? {
    let isRight = try transaction.withValue(of: entry.key.bytes, in: thumbnails) { record in
      // A damaged record is reported once, not also with its index entries.
      ThumbnailRecord.expiresAt(of: record) == entry.expiresAt
        || ThumbnailRecord.verifiedFacts(of: record, key: entry.key) == nil
    }
    return isRight ?? false ? nil : .withoutRecord
  }

  private func defect(
    of record: Span<UInt8>, key: ContentKey, _ transaction: borrowing Transaction
  ) throws(StoreError) -> StoreDefect.Reason? {
    guard let facts = ThumbnailRecord.verifiedFacts(of: record, key: key) else { return .damaged }
    guard let entry = try expiryEntry(of: key, expiresAt: facts.expiresAt, transaction) else {
      return .withoutExpiry
    }
    let arrivalKey = ArrivalEntry.encodedKey(entry.sequence)
    let isNamed = try transaction.withValue(of: arrivalKey, in: arrivals) { value in
      ArrivalEntry(key: arrivalKey.span, value: value)?.key == key
    }
    return isNamed ?? false ? nil : .withoutArrival
  }
}
