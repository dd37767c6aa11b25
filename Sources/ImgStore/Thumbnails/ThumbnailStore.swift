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
    /// - Parameter budgetByteCount: the maximum size, see ``ThumbnailStore/put(_:extending:at:)``.
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
  ) throws(StoreError) -> [StoredThumbnail?] {
    try environment.read { transaction throws(StoreError) in
      var found: [StoredThumbnail?] = []
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

  /// Calls `body` with a thumbnail's bytes in the map; `nil` without a hit.
  ///
  /// `body` must be short and must not use a store. While it runs, it pins freed pages.
  package func withThumbnail<Result>(
    _ key: ContentKey, at now: WallTime, recordingAccess: AccessRecording = .hitsAndMisses,
    _ body: (StoredThumbnail, Span<UInt8>) -> Result
  ) throws(StoreError) -> Result? {
    var result: Result?
    let isHit = try withRecord(of: key, at: now) { result = body($0, $1) }
    accesses.record(key, isHit: isHit, recordingAccess)
    return result
  }

  /// Not generic, because generic code that another module calls looks up its types at every call.
  ///
  /// - Returns: whether there was a hit, and so `body` ran.
  private func withRecord(
    of key: ContentKey, at now: WallTime, _ body: (StoredThumbnail, Span<UInt8>) -> Void
  ) throws(StoreError) -> Bool {
    try environment.withSnapshot { transaction throws(StoreError) in
      try tables.withRecord(of: key, transaction) { record in
        guard let facts = ThumbnailRecord.verifiedFacts(of: record, key: key),
          !facts.isExpired(at: now)
        else { return false }
        body(facts, record.extracting(last: facts.thumbnail.byteCount))
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
