import ImgModel

/// The tables of the thumbnail store, and the changes that keep them consistent: every record has
/// exactly one entry in the expiry index and one in the order of arrival, and the three refer to
/// each other.
struct ThumbnailTables: Sendable {
  /// Content key → ``ThumbnailRecord``.
  let thumbnails: Database
  /// ``ExpiryEntry``.
  let expiry: Database
  /// ``ArrivalEntry``.
  let arrivals: Database
  /// ``RobotsRecord`` by origin.
  let robots: Database
  /// Content key → ``PartialRecord``.
  let partials: Database
  /// ``PinTotals``.
  let pins: Database
  /// Schema version and budget.
  private let meta: Database
  /// The older schema whose records were dropped; `nil` if there was none.
  let replacedSchema: UInt32?

  /// 2 added the order of arrival, 3 the lifetime of records, 4 their terms of reuse, 5 the mark of
  /// damaged pictures, 6 the ThumbHash, 7 pins.
  static let version = SchemaVersion(number: 7)
  private static let budgetKey = Array("budget".utf8)

  /// Opens the tables and creates missing ones. Drops records of an older schema, because making
  /// the thumbnails of a cache again costs less than code for every old layout.
  init(
    creatingIn transaction: borrowing Transaction, budgetByteCount: Int64
  ) throws(StoreError) {
    meta = try transaction.openDatabase("meta", isCreated: true)
    let found = try Self.version.establish(in: meta, transaction)
    replacedSchema = found == Self.version.number ? nil : found
    thumbnails = try transaction.openDatabase("thumbnails", isCreated: true)
    expiry = try transaction.openDatabase("expiry", isCreated: true)
    arrivals = try transaction.openDatabase("arrivals", isCreated: true)
    robots = try transaction.openDatabase("robots", isCreated: true)
    partials = try transaction.openDatabase("partials", isCreated: true)
    pins = try transaction.openDatabase("pins", isCreated: true)
    if replacedSchema != nil { try clear(transaction) }
    if try self.budgetByteCount(transaction) != budgetByteCount {
      try setBudget(budgetByteCount, transaction)
    }
  }

  /// Opens the tables for reading.
  ///
  /// - Throws: ``StoreError/Reason/absent`` if no writer has created them with this schema.
  init(openingIn transaction: borrowing Transaction) throws(StoreError) {
    meta = try Self.openTable("meta", in: transaction)
    guard let found = try Self.version.verify(in: meta, transaction) else {
      throw StoreError(.corrupted, operation: "reading the schema version")
    }
    guard found == Self.version.number else {
      throw StoreError(.noSuchFile, operation: "opening a schema that the next writer replaces")
    }
    replacedSchema = nil
    thumbnails = try Self.openTable("thumbnails", in: transaction)
    expiry = try Self.openTable("expiry", in: transaction)
    arrivals = try Self.openTable("arrivals", in: transaction)
    robots = try Self.openTable("robots", isAlwaysThere: false, in: transaction)
    partials = try Self.openTable("partials", isAlwaysThere: false, in: transaction)
    pins = try Self.openTable("pins", in: transaction)
  }

  /// - Parameter isAlwaysThere: whether every store with tables has this one. Releases of the same
  ///   schema may lack others.
  /// - Throws: ``StoreError/Reason/absent`` if a writer has yet to create the table;
  ///   ``StoreError/Reason/damaged`` if it is missing although it must exist.
  private static func openTable(
    _ name: String, isAlwaysThere: Bool = true, in transaction: borrowing Transaction
  ) throws(StoreError) -> Database {
    do throws(StoreError) {
      return try transaction.openDatabase(name, isCreated: false)
    } catch {
      guard error.code == .notFound else { throw error }
      let hasTables = try transaction.statistics(of: .directory).entryCount > 0
      let code: StoreError.Code = isAlwaysThere && hasTables ? .corrupted : .noSuchFile
      throw StoreError(code, operation: error.operation)
    }
  }

  /// The budget of the last process that opened the store for writing; 0 if there was none.
  func budgetByteCount(_ transaction: borrowing Transaction) throws(StoreError) -> Int64 {
    try transaction.withValue(of: Self.budgetKey, in: meta) { value throws(StoreError) in
      guard value.count == MemoryLayout<Int64>.size else {
        throw StoreError(.corrupted, operation: "reading the budget")
      }
      return value.littleEndian(at: 0, as: Int64.self)
    } ?? 0
  }

  /// Writes the current budget again, to have something to commit.
  func renewBudget(_ transaction: borrowing Transaction) throws(StoreError) {
    try setBudget(try budgetByteCount(transaction), transaction)
  }

  private func setBudget(
    _ byteCount: Int64, _ transaction: borrowing Transaction
  ) throws(StoreError) {
    var value: [UInt8] = []
    value.append(littleEndian: byteCount)
    try transaction.put(value, for: Self.budgetKey, in: meta)
  }

  func lookup(
    _ key: ContentKey, at now: WallTime, _ transaction: borrowing Transaction
  ) throws(StoreError) -> StoreLookup {
    try withRecord(of: key, transaction) { record in
      guard let facts = ThumbnailRecord.verifiedFacts(of: record, key: key) else {
        return .stale(.corrupt)
      }
      return facts.isExpired(at: now) ? .stale(.expired) : .hit(facts)
    } ?? .miss
  }

  /// Calls `body` with a record, intact or not; `nil` if there is none.
  func withRecord<Result>(
    of key: ContentKey, _ transaction: borrowing Transaction,
    _ body: (Span<UInt8>) throws(StoreError) -> Result
  ) throws(StoreError) -> Result? {
    try key.withBytes { bytes throws(StoreError) in
      try transaction.withValue(of: bytes, in: thumbnails, body)
    }
  }

  /// Stores a thumbnail. It replaces the record with its key and `new.replaced`. The later expiry
  /// and the longer lifetime apply, and the pins of both.
  func put(
    _ new: NewThumbnail, at now: WallTime, _ transaction: borrowing Transaction,
    counting counters: inout StoreCounters
  ) throws(StoreError) {
    if let replaced = new.replaced { try remove(replaced, transaction) }
    var expiresAt = new.retention.expiresAt(storedAt: now)
    var lifetime = new.retention.sliding
    var pinningJobs = new.retention.pins
    while try !insert(new, storedAt: now, expiresAt: expiresAt, lifetime: lifetime, transaction) {
      switch try lookup(new.key, at: now, transaction) {
      case .hit(let facts):
        expiresAt = max(expiresAt, facts.expiresAt)
        lifetime = max(lifetime, facts.lifetime)
      case .stale(let staleness): counters.countRemoval(of: staleness)
      case .miss: break
      }
      let earlier = try removeReturningPins(new.key, transaction) ?? []
      pinningJobs = Set(pinningJobs).union(earlier).sorted()
    }
    let pin =
      pinningJobs.isEmpty
      ? nil
      : ArrivalEntry.Pin(
        byteCount: StoreReport.footprint(ofRecord: Int64(new.bytes.count)), jobs: pinningJobs)
    let expiryEntry = ExpiryEntry(
      expiresAt: expiresAt, key: new.key, storedAt: now, byteCount: Int64(new.bytes.count),
      sequence: try nextSequence(isPinned: pin != nil, transaction))
    try transaction.put(expiryEntry.encodedValue, for: expiryEntry.encodedKey, in: expiry)
    try addArrival(
      ArrivalEntry(
        sequence: expiryEntry.sequence, key: new.key, expiresAt: expiresAt, pin: pin), transaction)
    counters.stores += 1
  }

  /// - Returns: `false` if its key has a record.
  private func insert(
    _ new: NewThumbnail, storedAt: WallTime, expiresAt: WallTime, lifetime: Duration,
    _ transaction: borrowing Transaction
  ) throws(StoreError) -> Bool {
    try new.key.withBytes { key throws(StoreError) in
      try transaction.insert(
        byteCount: ThumbnailRecord.byteCount(of: new), for: key, in: thumbnails
      ) { record in
        ThumbnailRecord.write(
          new, storedAt: storedAt, expiresAt: expiresAt, lifetime: lifetime, into: &record)
      }
    }
  }

  /// Removes a record and its entries in the indexes.
  ///
  /// - Returns: whether it existed.
  @discardableResult
  func remove(
    _ key: ContentKey, _ transaction: borrowing Transaction
  ) throws(StoreError) -> Bool {
    try removeReturningPins(key, transaction) != nil
  }

  /// - Returns: the jobs that pinned it; `nil` if it did not exist.
  private func removeReturningPins(
    _ key: ContentKey, _ transaction: borrowing Transaction
  ) throws(StoreError) -> [JobID]? {
    let found = try withRecord(of: key, transaction) { ThumbnailRecord.expiresAt(of: $0) }
    guard let statedExpiry = found else { return nil }
    let jobs = try removeEntries(of: key, statedExpiry: statedExpiry, transaction)
    try transaction.delete(key.bytes, from: thumbnails)
    return jobs
  }

  func clear(_ transaction: borrowing Transaction) throws(StoreError) {
    try transaction.clear(thumbnails)
    try transaction.clear(expiry)
    try transaction.clear(arrivals)
    try transaction.clear(robots)
    try transaction.clear(partials)
    try transaction.clear(pins)
  }

  /// The bytes of the used pages: those of every table, and the two meta pages at the start of the
  /// file (`lmdb.h`).
  func occupiedByteCount(_ transaction: borrowing Transaction) throws(StoreError) -> Int64 {
    var pageCount = 2
    var pageByteCount = 0
    let tables = [meta, expiry, arrivals, robots, thumbnails, partials, pins]
    for database in [.freePages, .directory] + tables {
      let statistics = try transaction.statistics(of: database)
      pageCount += statistics.pageCount
      pageByteCount = statistics.pageByteCount
    }
    return Int64(pageCount) * Int64(pageByteCount)
  }

  /// Removes the index entries of a record. If a damaged record has a wrong expiry, this searches
  /// the whole index, so that no entry stays without a record.
  ///
  /// - Returns: the jobs that pinned it.
  private func removeEntries(
    of key: ContentKey, statedExpiry: WallTime?, _ transaction: borrowing Transaction
  ) throws(StoreError) -> [JobID] {
    var found: ExpiryEntry?
    if let statedExpiry {
      found = try expiryEntry(of: key, expiresAt: statedExpiry, transaction)
    }
    if found == nil {
      try transaction.scan(expiry) { entryKey, value in
        // Skips invalid entries.
        let entry = ExpiryEntry(key: entryKey, value: value)
        if entry?.key == key { found = entry }
        return found == nil
      }
    }
    guard let found else { return [] }
    try transaction.delete(found.encodedKey, from: expiry)
    return try removeArrival(found.sequence, transaction)
  }
}
