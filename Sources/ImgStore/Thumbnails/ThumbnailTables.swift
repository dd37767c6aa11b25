import ImgWire

/// The tables of the thumbnail store, and the changes that keep them in step: every record has
/// exactly one entry in the expiry index.
struct ThumbnailTables: Sendable {
  /// Content key → ``ThumbnailRecord``.
  let thumbnails: Database
  /// ``ExpiryEntry``.
  let expiry: Database
  /// Schema version and budget.
  private let meta: Database

  private static let version = SchemaVersion(number: 1)
  private static let budgetKey = Array("budget".utf8)

  /// Opens the tables, and creates what does not exist yet.
  init(
    creatingIn transaction: borrowing Transaction, budgetByteCount: Int64
  ) throws(StoreError) {
    meta = try transaction.openDatabase("meta", isCreated: true)
    try Self.version.establish(in: meta, transaction)
    thumbnails = try transaction.openDatabase("thumbnails", isCreated: true)
    expiry = try transaction.openDatabase("expiry", isCreated: true)
    if try self.budgetByteCount(transaction) != budgetByteCount {
      var value: [UInt8] = []
      value.append(littleEndian: budgetByteCount)
      try transaction.put(value, for: Self.budgetKey, in: meta)
    }
  }

  /// Opens the tables for reading.
  ///
  /// - Throws: ``StoreError/Reason/absent`` when no writer has created them yet.
  init(openingIn transaction: borrowing Transaction) throws(StoreError) {
    do throws(StoreError) {
      meta = try transaction.openDatabase("meta", isCreated: false)
      try Self.version.verify(in: meta, transaction)
      thumbnails = try transaction.openDatabase("thumbnails", isCreated: false)
      expiry = try transaction.openDatabase("expiry", isCreated: false)
    } catch {
      throw error.code == .notFound ? StoreError(.noSuchFile, operation: error.operation) : error
    }
  }

  /// The budget of the process that opened the store for writing last; 0 before there was one.
  func budgetByteCount(_ transaction: borrowing Transaction) throws(StoreError) -> Int64 {
    try transaction.withValue(of: Self.budgetKey, in: meta) { value throws(StoreError) in
      guard value.count == MemoryLayout<Int64>.size else {
        throw StoreError(.corrupted, operation: "reading the budget")
      }
      return value.littleEndian(at: 0, as: Int64.self)
    } ?? 0
  }

  func lookup(
    _ key: ContentKey, at now: WallTime, _ transaction: borrowing Transaction
  ) throws(StoreError) -> StoreLookup {
    try transaction.withValue(of: key.bytes, in: thumbnails) { record in
      guard let facts = ThumbnailRecord.verifiedFacts(of: record, key: key) else {
        return .stale(.corrupt)
      }
      return facts.isExpired(at: now) ? .stale(.expired) : .hit(facts)
    } ?? .miss
  }

  /// Stores a thumbnail in place of any that had its key. Of two expiries the later one stays.
  func put(
    _ new: NewThumbnail, at now: WallTime, _ transaction: borrowing Transaction
  ) throws(StoreError) {
    let key = new.key.bytes
    var expiresAt = new.expiresAt
    let replaced = try lookup(new.key, at: now, transaction)
    if case .hit(let facts) = replaced { expiresAt = max(expiresAt, facts.expiresAt) }
    if replaced != .miss { try remove(new.key, transaction) }
    let record = ThumbnailRecord.encode(new, storedAt: now, expiresAt: expiresAt)
    try transaction.put(record, for: key, in: thumbnails)
    let entry = ExpiryEntry(
      expiresAt: expiresAt, key: new.key, storedAt: now, byteCount: Int64(new.bytes.count))
    try transaction.put(entry.encodedValue, for: entry.encodedKey, in: expiry)
  }

  /// Removes a record and its entry in the index.
  ///
  /// - Returns: whether there was one.
  @discardableResult
  func remove(
    _ key: ContentKey, _ transaction: borrowing Transaction
  ) throws(StoreError) -> Bool {
    let found = try transaction.withValue(of: key.bytes, in: thumbnails) { record in
      ThumbnailRecord.expiresAt(of: record)
    }
    guard let statedExpiry = found else { return false }
    try removeEntry(of: key, statedExpiry: statedExpiry, transaction)
    try transaction.delete(key.bytes, from: thumbnails)
    return true
  }

  /// Removes the records that expire soonest.
  ///
  /// - Parameters:
  ///   - limit: how many at most.
  ///   - now: when given, only records that have expired by then.
  ///   - spared: records that stay whenever they expire.
  /// - Returns: how many were removed.
  func removeEarliest(
    limit: Int, expiredAt now: WallTime? = nil, sparing spared: Set<ContentKey> = [],
    _ transaction: borrowing Transaction
  ) throws(StoreError) -> Int {
    var chosen: [ExpiryEntry] = []
    try transaction.scan(expiry) { key, value throws(StoreError) in
      let entry = try ExpiryEntry(key: key, value: value)
      if let now, entry.expiresAt > now { return false }
      if !spared.contains(entry.key) { chosen.append(entry) }
      return chosen.count < limit
    }
    for entry in chosen {
      try transaction.delete(entry.encodedKey, from: expiry)
      try transaction.delete(entry.key.bytes, from: thumbnails)
    }
    return chosen.count
  }

  func clear(_ transaction: borrowing Transaction) throws(StoreError) {
    try transaction.clear(thumbnails)
    try transaction.clear(expiry)
  }

  /// What the pages that hold something occupy: those of every table, and the two at the start of
  /// the file (`lmdb.h`: meta pages).
  func occupiedByteCount(_ transaction: borrowing Transaction) throws(StoreError) -> Int64 {
    var pageCount = 2
    var pageByteCount = 0
    for database in [.freePages, .directory, meta, expiry, thumbnails] {
      let statistics = try transaction.statistics(of: database)
      pageCount += statistics.pageCount
      pageByteCount = statistics.pageByteCount
    }
    return Int64(pageCount) * Int64(pageByteCount)
  }

  /// Removes the index entry of a record. A damaged record may not know its own expiry; then the
  /// whole index is searched, so that no entry is left without a record.
  private func removeEntry(
    of key: ContentKey, statedExpiry: WallTime?, _ transaction: borrowing Transaction
  ) throws(StoreError) {
    if let statedExpiry {
      let entryKey = ExpiryEntry.encodedKey(expiresAt: statedExpiry, key: key)
      if try transaction.delete(entryKey, from: expiry) { return }
    }
    var found: ExpiryEntry?
    try transaction.scan(expiry) { entryKey, value throws(StoreError) in
      let entry = try ExpiryEntry(key: entryKey, value: value)
      if entry.key == key { found = entry }
      return found == nil
    }
    if let found { try transaction.delete(found.encodedKey, from: expiry) }
  }
}
