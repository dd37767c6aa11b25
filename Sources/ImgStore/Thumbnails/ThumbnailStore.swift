package import ImgModel

/// The thumbnails of one machine: an LMDB environment that any number of processes read and write.
///
/// A hit is read from the map, without a system call and without waiting for a writer, and recorded
/// in ``AccessBits``. Writers wait for each other, so they store thumbnails in groups.
///
/// A commit waits until the data is on the disk, but not the page that makes it current
/// (`MDB_NOMETASYNC`). A crash of a process loses no commit. A power cut may undo the last commit,
/// but never leaves an inconsistent store. Without any waiting (`MDB_NOSYNC`), this is true only
/// for a file system that preserves the order of writes (`lmdb.h`), unlike ext4 and XFS.
///
/// After every commit, the used pages are within the budget. The file is larger by free pages that
/// are too fragmented for the next thumbnail, by pages that readers pinned when they were needed,
/// and by up to 320 KiB at its end, see ``DataFile/preallocate(mapByteCount:)``. With thumbnails of
/// up to a 200th of the budget each, the file stays within a quarter above the budget, plus the
/// bytes stored during one reader's snapshot. A larger file is replaced by a copy without free
/// pages, see ``SharedStore/change(_:)``.
///
/// The budget is smaller if the disk has less space, see ``StoreBudget``.
///
/// A process opens a store at most once at a time, and does not use it across `fork`.
package final class ThumbnailStore: Sendable {
  package enum Access: Sendable {
    case readOnly
    /// - Parameter budgetByteCount: the maximum size, see ``ThumbnailStore/put(_:extending:sparePercent:at:)``.
    case readWrite(budgetByteCount: Int64)
  }

  let environment: Environment
  let tables: ThumbnailTables
  /// `nil` if this process cannot record accesses.
  let accessBits: AccessBits?
  /// `nil` in a store opened for reading.
  let budgetByteCount: Int64?
  private let accesses: AccessRecorder

  /// Opens the store in `directory`. For writing, creates a missing store, and replaces a store of
  /// an older release by an empty one, see ``replacedSchema``.
  ///
  /// - Throws: ``StoreError/Reason/absent`` if there is no store to read,
  ///   ``StoreError/Reason/newerVersion`` if a newer release has written it.
  package convenience init(directory: String, access: Access) throws(StoreError) {
    try self.init(directory: directory, access: access, mapByteCount: nil)
  }

  /// - Parameter mapByteCount: the size of the map; `nil` for one well above the budget.
  init(directory: String, access: Access, mapByteCount: Int?) throws(StoreError) {
    var options = Environment.Options(content: .thumbnails)
    options.durability = .exceptLastCommit
    switch access {
    case .readOnly:
      options.isReadOnly = true
      self.budgetByteCount = nil
      let environment = try Environment(directory: directory, options: options)
      tables = try environment.read { transaction throws(StoreError) in
        try ThumbnailTables(openingIn: transaction)
      }
      accessBits = AccessBits(directory: directory)
      self.environment = environment
    case .readWrite(let budgetByteCount):
      precondition(budgetByteCount > 0, "the budget is empty")
      self.budgetByteCount = budgetByteCount
      options.mapByteCount = mapByteCount ?? Self.mapByteCount(budgetByteCount: budgetByteCount)
      let environment = try Environment(directory: directory, options: options)
      _ = try environment.checkReaders()
      (tables, accessBits) = try Self.parts(of: environment, budgetByteCount: budgetByteCount)
      self.environment = environment
    }
    accesses = AccessRecorder(accessBits)
  }

  private typealias Parts = (tables: ThumbnailTables, accessBits: AccessBits?)

  /// The parts of a complete store. Reads only, so that a starting process does not wait for a
  /// running writer; `nil` if something must be created or changed.
  private static func readyParts(
    of environment: Environment, budgetByteCount: Int64
  ) throws(StoreError) -> Parts? {
    guard let accessBits = AccessBits(directory: environment.directory) else { return nil }
    do throws(StoreError) {
      return try environment.read { transaction throws(StoreError) -> Parts? in
        let tables = try ThumbnailTables(openingIn: transaction)
        guard try tables.budgetByteCount(transaction) == budgetByteCount else { return nil }
        return (tables, accessBits)
      }
    } catch  where error.reason == .absent {
      return nil
    }
  }

  /// The parts of the store for a writer. Creates missing ones.
  private static func parts(
    of environment: Environment, budgetByteCount: Int64
  ) throws(StoreError) -> Parts {
    if let ready = try readyParts(of: environment, budgetByteCount: budgetByteCount) {
      return ready
    }
    return try environment.write { transaction throws(StoreError) in
      let tables = try ThumbnailTables(creatingIn: transaction, budgetByteCount: budgetByteCount)
      let accessBits = AccessBits.openOrCreate(
        directory: environment.directory, budgetByteCount: budgetByteCount)
      return (tables, accessBits)
    }
  }

  /// Much more than the budget, because the file grows while readers pin pages. Unused address
  /// space costs nothing, but a process has only 47 bits of it (x86-64).
  private static func mapByteCount(budgetByteCount: Int64) -> Int {
    let most = 1 << 45
    let (fourfold, overflow) = Int(budgetByteCount).multipliedReportingOverflow(by: 4)
    // LMDB wants a multiple of the page size. 1 MiB is a multiple of every page size.
    let mebibyte = 1 << 20
    let rounded = (min(overflow ? most : fourfold, most) + mebibyte - 1) / mebibyte * mebibyte
    return max(1 << 30, rounded)
  }

  // MARK: - Reading

  /// Looks up the record of a key.
  package func lookup(_ key: ContentKey, at now: WallTime) throws(StoreError) -> StoreLookup {
    let found = try environment.withSnapshot { transaction throws(StoreError) in
      try tables.lookup(key, at: now, transaction)
    }
    accesses.record([key], [found])
    return found
  }

  /// Looks up many keys on one snapshot. The results are in the order of the keys.
  package func lookup(
    _ keys: [ContentKey], at now: WallTime
  ) throws(StoreError) -> [StoreLookup] {
    let found = try environment.withSnapshot { transaction throws(StoreError) in
      var found: [StoreLookup] = []
      found.reserveCapacity(keys.count)
      for key in keys { found.append(try tables.lookup(key, at: now, transaction)) }
      return found
    }
    accesses.record(keys, found)
    return found
  }

  /// The facts of unexpired records, without checking their bytes. This is for originals, which are
  /// large; the reader of the bytes checks them. Sets their access bits, but counts neither hits
  /// nor misses.
  package func facts(
    of keys: [ContentKey], at now: WallTime
  ) throws(StoreError) -> [CacheRecord?] {
    try environment.read { transaction throws(StoreError) in
      var found: [CacheRecord?] = []
      for key in keys {
        let facts = try transaction.withValue(of: key.bytes, in: tables.thumbnails) { record in
          ThumbnailRecord.facts(of: record, key: key).flatMap { $0.isExpired(at: now) ? nil : $0 }
        }
        if case .some(.some) = facts { accessBits?.set(for: key) }
        found.append(facts ?? nil)
      }
      return found
    }
  }

  /// Calls `body` with a thumbnail's bytes in the map; `nil` without a hit. An original may be in chunks, and
  /// have no bytes here, see ``readContent(of:at:recordingAccess:_:)``.
  ///
  /// `body` must be short and must not use a store. While it runs, it pins freed pages.
  package func withThumbnail<Result>(
    _ key: ContentKey, at now: WallTime, recordingAccess: AccessRecording = .hitsAndMisses,
    _ body: (CacheRecord, Span<UInt8>) -> Result
  ) throws(StoreError) -> Result? {
    var result: Result?
    let isHit = try withRecord(of: key, at: now) { record, _, bytes in result = body(record, bytes)
    }
    record(key, isHit: isHit, recordingAccess)
    return result
  }

  func record(_ key: ContentKey, isHit: Bool, _ recording: AccessRecording) {
    accesses.record(key, isHit: isHit, recording)
  }

  /// Calls `body` with a record and its bytes, or with where its chunks are.
  ///
  /// Not generic, because generic code that another module calls looks up its types at every call.
  ///
  /// - Returns: whether there was a hit, and so `body` ran.
  func withRecord(
    of key: ContentKey, at now: WallTime,
    _ body: (CacheRecord, ChunkedContent?, Span<UInt8>) -> Void
  ) throws(StoreError) -> Bool {
    try environment.withSnapshot { transaction throws(StoreError) in
      try tables.withRecord(of: key, transaction) { record in
        guard let facts = ThumbnailRecord.verifiedFacts(of: record, key: key),
          !facts.isExpired(at: now)
        else { return false }
        let content = ThumbnailRecord.chunkedContent(of: record)
        body(
          facts, content, record.extracting(last: content == nil ? facts.thumbnail.byteCount : 0))
        return true
      } ?? false
    }
  }

  // MARK: - The environment

  /// Clears the readers of dead processes.
  ///
  /// - Returns: their number.
  @discardableResult
  package func checkReaders() throws(StoreError) -> Int {
    try environment.checkReaders()
  }

  /// The schema of the older release whose thumbnails were dropped when this store was opened for
  /// writing; `nil` if none were dropped.
  package var replacedSchema: UInt32? { tables.replacedSchema }

  /// Whether the files of this store were removed or replaced. ``SharedStore`` then opens a new
  /// one.
  package var isDetached: Bool { environment.isDetached }
}

extension ThumbnailStore {
  /// The thumbnails after `key`, in the order of their keys. Includes expired ones, but not records
  /// with a damaged header.
  ///
  /// - Parameter limit: the maximum number. Fewer mean the end of the list.
  package func thumbnails(
    after key: ContentKey?, limit: Int
  ) throws(StoreError) -> [CacheRecord] {
    var found: [CacheRecord] = []
    // Reading a list may take minutes, during which the file may be truncated.
    try environment.refuseTruncatedFile()
    try environment.read { transaction throws(StoreError) in
      try transaction.scan(tables.thumbnails, from: key?.bytes ?? []) { foundKey, record in
        guard found.count < limit else { return false }
        guard foundKey.count == ContentKey.byteCount else { return true }
        let recordKey = ContentKey(foundKey)
        if recordKey != key, let facts = ThumbnailRecord.facts(of: record, key: recordKey) {
          found.append(facts)
        }
        return true
      }
    }
    return found
  }

  /// Calls `body` with every thumbnail in the order of their keys, until it returns `false`.
  ///
  /// Reads in batches, each on a short snapshot, so that a slow caller does not pin freed pages.
  /// Thumbnails that are stored or removed meanwhile may be listed or not.
  package func forEach(_ body: (CacheRecord) throws -> Bool) throws {
    let batchCount = 256
    var last: ContentKey?
    while true {
      let batch = try thumbnails(after: last, limit: batchCount)
      for thumbnail in batch {
        guard try body(thumbnail) else { return }
      }
      guard batch.count == batchCount else { return }
      last = batch.last?.id
    }
  }

  /// Whether a stored thumbnail, partial body or unfinished content has expired at `moment`. Costs one
  /// look-up, and one for each of the others.
  package func hasExpired(at moment: WallTime) throws(StoreError) -> Bool {
    try environment.read { transaction throws(StoreError) in
      var hasExpired = false
      try transaction.scan(tables.expiry) { key, value throws(StoreError) in
        // An invalid entry is removed with the expired ones.
        hasExpired =
          ExpiryEntry(key: key, value: value).map { $0.expiresAt <= moment } ?? true
        return false
      }
      if hasExpired { return true }
      if try !tables.abandonedContents(at: moment, transaction).isEmpty { return true }
      return try tables.hasExpiredPartial(at: moment, transaction)
    }
  }

  /// The number of stored thumbnails that have expired at `moment`. Reads their entries of the
  /// expiry index.
  package func expiredCount(at moment: WallTime) throws(StoreError) -> Int {
    try environment.read { transaction throws(StoreError) in
      var count = 0
      try transaction.scan(tables.expiry) { key, value throws(StoreError) in
        // `cache verify` finds invalid entries.
        guard let entry = ExpiryEntry(key: key, value: value) else { return true }
        guard entry.expiresAt <= moment else { return false }
        count += 1
        return true
      }
      return count
    }
  }

  /// The size of the store. Costs one look-up, independent of the number of thumbnails.
  package func size() throws(StoreError) -> CacheSize {
    try environment.read { transaction throws(StoreError) in
      try size(transaction)
    }
  }

  /// The limits of the store, and what jobs pin of it. Costs a few look-ups.
  package func report() throws(StoreError) -> StoreReport {
    try environment.read { transaction throws(StoreError) in
      let size = try size(transaction)
      return StoreReport(
        directory: environment.directory, budgetByteCount: size.budgetByteCount,
        diskByteCount: size.diskByteCount,
        pinnedByteCount: try tables.pinTotals(transaction).byteCount,
        pinningJobs: try tables.pinningJobs(limit: StoreReport.maximumJobCount, transaction))
    }
  }

  /// How many records each job pins.
  package func pinCounts() throws(StoreError) -> [JobID: Int] {
    try environment.read { transaction throws(StoreError) in
      try tables.pinCounts(transaction)
    }
  }

  /// The jobs that pin a record, in ascending order; none if there is no such record.
  package func pinningJobs(of key: ContentKey) throws(StoreError) -> [JobID] {
    try environment.read { transaction throws(StoreError) in
      try tables.pinningJobs(of: key, transaction)
    }
  }

  private func size(_ transaction: borrowing Transaction) throws(StoreError) -> CacheSize {
    let budget = StoreBudget(
      configuredByteCount: try tables.budgetByteCount(transaction),
      fileByteCount: try environment.dataFile.byteCount(), disk: environment.dataFile.diskSpace)
    return CacheSize(
      recordCount: try transaction.statistics(of: tables.thumbnails).entryCount,
      occupiedByteCount: try tables.occupiedByteCount(transaction),
      budgetByteCount: budget.configuredByteCount,
      diskByteCount: budget.isLimitedByDisk ? budget.diskByteCount : nil,
      autoOriginalByteCount: try tables.spareTotals(transaction).byteCount)
  }

  /// Statistics on one snapshot. Reads the whole expiry index.
  package func statistics(at now: WallTime) throws(StoreError) -> CacheStatistics {
    try environment.read { transaction throws(StoreError) in
      var statistics = CacheStatistics()
      try transaction.scan(tables.expiry) { key, value throws(StoreError) in
        guard let entry = ExpiryEntry(key: key, value: value) else { return true }
        if entry.expiresAt <= now { statistics.expiredCount += 1 }
        statistics.byteCount += entry.byteCount
        statistics.oldestStorageTime = min(
          statistics.oldestStorageTime ?? entry.storedAt, entry.storedAt)
        return true
      }
      let size = try size(transaction)
      statistics.recordCount = size.recordCount
      statistics.occupiedByteCount = size.occupiedByteCount
      statistics.budgetByteCount = size.budgetByteCount
      statistics.diskByteCount = size.diskByteCount
      statistics.partialCount = try transaction.statistics(of: tables.partials).entryCount
      statistics.partialByteCount = try tables.partialOccupiedByteCount(transaction)
      let pinned = try tables.pinTotals(transaction)
      statistics.pinnedCount = pinned.recordCount
      statistics.pinnedByteCount = pinned.byteCount
      let spare = try tables.spareTotals(transaction)
      statistics.autoOriginalCount = spare.recordCount
      statistics.autoOriginalByteCount = spare.byteCount
      statistics.counters = accessBits?.counters
      let pageByteCount = try transaction.statistics(of: tables.thumbnails).pageByteCount
      statistics.freePageCount = try transaction.freePageCount()
      statistics.freeByteCount = Int64(statistics.freePageCount) * Int64(pageByteCount)
      statistics.fileByteCount = Int64(try environment.dataFile.byteCount())
      statistics.mapByteCount = Int64(try environment.mapByteCount)
      return statistics
    }
  }
}

extension ThumbnailStore {
  /// Frees pages for a put that found no space.
  ///
  /// Clearing dead readers frees their pages. If the disk is full, the store cannot grow, so its
  /// oldest records are removed until the put fits.
  ///
  /// LMDB reuses the pages freed by a commit only after another commit (`mdb_page_alloc` takes
  /// pages freed before the oldest snapshot, which is that of the last commit if there are no
  /// readers). While every put fails there is none, and a store that was emptied on a full disk
  /// would stay full. So this makes a small commit, for which the pages freed earlier suffice.
  ///
  /// - Parameter byteCount: the minimum size of the put.
  /// - Returns: whether the put may succeed now.
  func makeRoom(byteCount: Int) throws(StoreError) -> Bool {
    if try checkReaders() > 0 { return true }
    do throws(StoreError) {
      if try budget.isLimitedByDisk {
        let wanted = Self.shareForPut * Int64(byteCount) + Self.treeByteCount
        try change(freeing: wanted) { transaction, _ throws(StoreError) in
          try tables.renewBudget(transaction)
        }
      }
      guard try environment.freeByteCount >= byteCount else { return false }
      try change { transaction, _ throws(StoreError) in try tables.renewBudget(transaction) }
      return true
    } catch {
      guard error.reason == .full else { throw error }
      return false
    }
  }

  /// A thumbnail needs consecutive pages, and freed pages are fragmented.
  private static let shareForPut: Int64 = 4
  /// The pages of the tables that a commit copies, and the lists of free pages.
  private static let treeByteCount: Int64 = 256 << 10
}

/// The robots.txt of origins.
extension ThumbnailStore {
  /// The records may take this part of the budget.
  private static let budgetFraction: Int64 = 16

  /// The robots.txt of an origin.
  ///
  /// - Parameter origin: scheme, host and port.
  /// - Returns: `nil` if it is not stored or has expired.
  package func robots(
    of origin: String, at now: WallTime
  ) throws(StoreError) -> RobotsRecord? {
    let found = try environment.withSnapshot { transaction throws(StoreError) in
      try transaction.withValue(
        of: ContentKey(robotsOf: origin).bytes, in: tables.robots, RobotsRecord.init(_:)) ?? nil
    }
    return found.flatMap { $0.isExpired(at: now) ? nil : $0 }
  }

  /// Stores the robots.txt of an origin. If the records take too much space, all of them are
  /// dropped and fetched again when needed.
  package func keep(_ robots: RobotsRecord, of origin: String) throws(StoreError) {
    try change { transaction, _ throws(StoreError) in
      let occupied = try transaction.statistics(of: tables.robots)
      let byteCount = Int64(occupied.pageCount) * Int64(occupied.pageByteCount)
      if let budgetByteCount, byteCount > budgetByteCount / Self.budgetFraction {
        try transaction.clear(tables.robots)
      }
      try transaction.put(
        robots.encoded, for: ContentKey(robotsOf: origin).bytes, in: tables.robots)
    }
  }
}
