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
  /// ``RecordTotals``.
  let pins: Database
  /// ``ChunkRecord``.
  let chunks: Database
  /// Schema version and budget.
  let meta: Database
  /// The older schema whose records were dropped; `nil` if there was none.
  let replacedSchema: UInt32?

  /// 2 added the order of arrival, 3 the lifetime of records, 4 their terms of reuse, 5 the mark of
  /// damaged pictures, 6 the ThumbHash, 7 pins, 8 chunks,
  /// 9 spare originals.
  static let version = SchemaVersion(number: 9)
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
    chunks = try transaction.openDatabase("chunks", isCreated: true)
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
    chunks = try Self.openTable("chunks", in: transaction)
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

  /// Why a record is unusable, also because of its chunks; `nil` if it is intact, or not there.
  func staleness(
    of key: ContentKey, at now: WallTime, _ transaction: borrowing Transaction
  ) throws(StoreError) -> StoreLookup.Staleness? {
    switch try lookup(key, at: now, transaction) {
    case .miss: return nil
    case .stale(let staleness): return staleness
    case .hit:
      let content = try withRecord(of: key, transaction) { ThumbnailRecord.chunkedContent(of: $0) }
      guard let content = content ?? nil else { return nil }
      return try isIntact(content, owner: key, transaction) ? nil : .corrupt
    }
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
    counting counters: inout CacheStatistics.Counters
  ) throws(StoreError) {
    if let replaced = new.replaced { try remove(replaced, transaction) }
    if let outdated = new.outdated, try isSpare(outdated, transaction) {
      try remove(outdated, transaction)
    }
    var isSpare = new.isSpare ?? false
    var expiresAt = new.retention.expiresAt(storedAt: now)
    var lifetime = new.retention.sliding
    var pinningJobs = new.retention.pins
    while try !insert(new, storedAt: now, expiresAt: expiresAt, lifetime: lifetime, transaction) {
      switch try lookup(new.key, at: now, transaction) {
      case .hit(let facts):
        expiresAt = max(expiresAt, facts.expiryTime)
        lifetime = max(lifetime, facts.lifetime)
      case .stale(let staleness): counters.countRemoval(of: staleness)
      case .miss: break
      }
      let earlier = try removeReturningArrival(new.key, keeping: new.content, transaction)
      pinningJobs = Set(pinningJobs).union(earlier?.pin?.jobs ?? []).sorted()
      isSpare = new.isSpare != false && earlier?.spareByteCount != nil
    }
    let footprint = StoreReport.footprint(ofRecord: Int64(new.content.byteCount))
    let pin =
      pinningJobs.isEmpty
      ? nil
      : ArrivalEntry.Pin(byteCount: footprint, jobs: pinningJobs)
    let place: ArrivalEntry.Place = pin != nil ? .pinned : isSpare ? .spare : .ordinary
    let expiryEntry = ExpiryEntry(
      expiresAt: expiresAt, key: new.key, storedAt: now, byteCount: Int64(new.content.byteCount),
      sequence: try nextSequence(in: place, transaction))
    try transaction.put(expiryEntry.encodedValue, for: expiryEntry.encodedKey, in: expiry)
    try addArrival(
      ArrivalEntry(
        sequence: expiryEntry.sequence, key: new.key, expiresAt: expiresAt, pin: pin,
        spareByteCount: place == .spare ? footprint : nil), transaction)
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
    guard try withRecord(of: key, transaction, { _ in true }) != nil else { return false }
    _ = try removeReturningArrival(key, keeping: nil, transaction)
    return true
  }

  /// - Parameter content: its chunks stay.
  /// - Returns: its entry in the order of arrival; `nil` if it did not exist, or had none.
  private func removeReturningArrival(
    _ key: ContentKey, keeping content: NewContent?, _ transaction: borrowing Transaction
  ) throws(StoreError) -> ArrivalEntry? {
    let found = try withRecord(of: key, transaction) { ThumbnailRecord.expiresAt(of: $0) }
    guard let statedExpiry = found else { return nil }
    let arrival = try removeEntries(of: key, statedExpiry: statedExpiry, transaction)
    try removeRecord(key, keeping: content, transaction)
    return arrival
  }

  /// Removes a record and its chunks.
  ///
  /// - Parameter kept: its chunks stay.
  /// - Returns: whether the record existed.
  @discardableResult
  private func removeRecord(
    _ key: ContentKey, keeping kept: NewContent? = nil, _ transaction: borrowing Transaction
  ) throws(StoreError) -> Bool {
    let found = try withRecord(of: key, transaction) { ThumbnailRecord.chunkedContent(of: $0) }
    if let content = found ?? nil, kept != .chunks(content) {
      try removeChunks(of: content.number, transaction)
    }
    return try transaction.delete(key.bytes, from: thumbnails)
  }

  func clear(_ transaction: borrowing Transaction) throws(StoreError) {
    try transaction.clear(thumbnails)
    try transaction.clear(expiry)
    try transaction.clear(arrivals)
    try transaction.clear(robots)
    try transaction.clear(partials)
    try transaction.clear(pins)
    try transaction.clear(chunks)
    try transaction.delete(Self.spareKey, from: meta)
  }

  /// The bytes of the used pages: those of every table, and the two meta pages at the start of the
  /// file (`lmdb.h`).
  func occupiedByteCount(_ transaction: borrowing Transaction) throws(StoreError) -> Int64 {
    var pageCount = 2
    var pageByteCount = 0
    let tables = [meta, expiry, arrivals, robots, thumbnails, partials, pins, chunks]
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
  /// - Returns: the entry in the order of arrival.
  private func removeEntries(
    of key: ContentKey, statedExpiry: WallTime?, _ transaction: borrowing Transaction
  ) throws(StoreError) -> ArrivalEntry? {
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
    guard let found else { return nil }
    try transaction.delete(found.encodedKey, from: expiry)
    return try removeArrival(found.sequence, transaction)
  }
}

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
    var arrival =
      try arrival(entry.sequence, transaction)
      ?? ArrivalEntry(sequence: entry.sequence, key: access.key, expiresAt: after)
    arrival.expiresAt = after
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
    return (facts.expiryTime, extended.expiryTime, copy)
  }
}

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
    _ transaction: borrowing Transaction, counting counters: inout CacheStatistics.Counters
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
      try removeRecord(entry.key, transaction)
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
    try removeArrival(entry.sequence, transaction)
    try transaction.delete(
      ExpiryEntry.encodedKey(expiresAt: entry.expiresAt, key: entry.key), from: expiry)
    return try removeRecord(entry.key, transaction)
  }

  /// Moves a record that is not pinned to the end of its part of the order of arrival, without writing the record
  /// itself.
  ///
  /// - Returns: `false` if the entry has no record.
  func moveToEnd(
    _ entry: ArrivalEntry, _ transaction: borrowing Transaction
  ) throws(StoreError) -> Bool {
    guard
      let expiryEntry = try expiryEntry(of: entry.key, expiresAt: entry.expiresAt, transaction)
    else { return false }
    let sequence = try nextSequence(in: entry.place, transaction)
    try transaction.delete(entry.encodedKey, from: arrivals)
    var moved = entry
    moved.sequence = sequence
    try addLast(moved, transaction)
    try transaction.put(
      expiryEntry.moved(to: sequence).encodedValue, for: expiryEntry.encodedKey, in: expiry)
    return true
  }

  /// Adds an entry with the ``nextSequence(in:_:)``.
  func addLast(
    _ entry: ArrivalEntry, _ transaction: borrowing Transaction
  ) throws(StoreError) {
    let (key, value) = (entry.encodedKey, entry.encodedValue)
    // Appending fails before the parts of other records, and behind an invalid entry.
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

  /// Higher than every sequence number in use in a part of the order.
  func nextSequence(
    in place: ArrivalEntry.Place, _ transaction: borrowing Transaction
  ) throws(StoreError) -> UInt64 {
    let sequences = place.sequences
    var last = sequences.lowerBound - 1
    let end = place == .pinned ? nil : ArrivalEntry.encodedKey(sequences.upperBound)
    try transaction.scanBackwards(arrivals, before: end) { key, _ in
      // Skip an invalid entry. Eviction removes it.
      guard let found = ArrivalEntry.sequence(of: key) else { return true }
      last = max(last, found)
      return false
    }
    guard last < sequences.upperBound - 1 else {
      throw StoreError(.corrupted, operation: "numbering an arrival")
    }
    return last + 1
  }
}
