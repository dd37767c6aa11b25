package import ImgModel

/// The thumbnails of one machine: an LMDB environment that any number of processes read and write
/// at once.
///
/// A hit is read from the map, without a system call and without waiting for a writer, and noted in
/// the file `uses` beside it (see ``UsesFile``). Writers wait for each other, so they put thumbnails
/// in groups.
///
/// Commits wait for the disk to have the data but not the page that makes them current
/// (`MDB_NOMETASYNC`). The death of a process loses nothing that was committed; a power cut may
/// undo the last commit and never leaves an inconsistent store. Waiting for nothing (`MDB_NOSYNC`)
/// keeps that promise only on a file system that preserves the order of writes (`lmdb.h`), which
/// ext4 and XFS do not.
///
/// After every commit the store occupies no more than its budget. The file is larger: by pages that
/// are free but lie in pieces too small for the next thumbnail, by those that some reader still saw
/// when they were needed, and by up to 320 KiB at its end, see ``Environment/takeRoomAhead()``. With
/// thumbnails of up to a 200th of the budget each it stays within a quarter above the budget, plus
/// what is put while one reader holds one snapshot. A file that outgrows that is replaced by a copy
/// without free pages, see ``SharedStore/change(_:)``.
///
/// The budget is smaller while the disk has less room, see ``StoreBudget``.
///
/// A process opens a store at most once at a time and does not use it across `fork`.
package final class ThumbnailStore: Sendable {
  package enum Access: Sendable {
    case readOnly
    /// - Parameter budgetByteCount: how much the store may occupy, see
    ///   ``ThumbnailStore/put(_:at:)``.
    case readWrite(budgetByteCount: Int64)
  }

  let environment: Environment
  let tables: ThumbnailTables
  /// `nil` where reads are not noted, see ``UsesFile``.
  let uses: UsesFile?
  /// `nil` in a store opened for reading.
  let budgetByteCount: Int64?

  /// Opens the store in `directory`; for writing, creates what does not exist, and replaces a store
  /// of an older release by an empty one, see ``replacedSchema``.
  ///
  /// - Throws: ``StoreError/Reason/absent`` when there is no store to read yet,
  ///   ``StoreError/Reason/newerVersion`` when a newer release has written it.
  package convenience init(directory: String, access: Access) throws(StoreError) {
    try self.init(directory: directory, access: access, mapByteCount: nil)
  }

  /// - Parameter mapByteCount: the size of the map; `nil` for one that the budget will not fill.
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
      uses = UsesFile(directory: directory)
      self.environment = environment
    case .readWrite(let budgetByteCount):
      precondition(budgetByteCount > 0, "a store without room is no store")
      self.budgetByteCount = budgetByteCount
      options.mapByteCount = mapByteCount ?? Self.mapByteCount(budgetByteCount: budgetByteCount)
      let environment = try Environment(directory: directory, options: options)
      _ = try environment.checkReaders()
      (tables, uses) = try Self.parts(of: environment, budgetByteCount: budgetByteCount)
      self.environment = environment
    }
  }

  private typealias Parts = (tables: ThumbnailTables, uses: UsesFile?)

  /// What a writer finds in a store that needs nothing to be written for it, so that whoever starts
  /// does not wait for the writer that is at work; `nil` when something is to be created or set.
  private static func readyParts(
    of environment: Environment, budgetByteCount: Int64
  ) throws(StoreError) -> Parts? {
    guard let uses = UsesFile(directory: environment.directory) else { return nil }
    do throws(StoreError) {
      return try environment.read { transaction throws(StoreError) -> Parts? in
        let tables = try ThumbnailTables(openingIn: transaction)
        guard try tables.budgetByteCount(transaction) == budgetByteCount else { return nil }
        return (tables, uses)
      }
    } catch  where error.reason == .absent {
      return nil
    }
  }

  /// What a writer finds, or creates.
  private static func parts(
    of environment: Environment, budgetByteCount: Int64
  ) throws(StoreError) -> Parts {
    if let ready = try readyParts(of: environment, budgetByteCount: budgetByteCount) {
      return ready
    }
    return try environment.write { transaction throws(StoreError) in
      let tables = try ThumbnailTables(creatingIn: transaction, budgetByteCount: budgetByteCount)
      let uses = UsesFile.openOrCreate(
        directory: environment.directory, budgetByteCount: budgetByteCount)
      return (tables, uses)
    }
  }

  /// Much more than the budget: pages that a reader still sees are not reused, so the file grows
  /// past what it holds. Address space that is not used costs nothing, but a process has only 47
  /// bits of it (x86-64).
  private static func mapByteCount(budgetByteCount: Int64) -> Int {
    let most = 1 << 45
    let (fourfold, overflow) = Int(budgetByteCount).multipliedReportingOverflow(by: 4)
    // LMDB wants a multiple of the page; 1 MiB is one for every page size.
    let mebibyte = 1 << 20
    let rounded = (min(overflow ? most : fourfold, most) + mebibyte - 1) / mebibyte * mebibyte
    return max(1 << 30, rounded)
  }

  // MARK: - Reading

  /// What of a read is noted: every picture that somebody asks for is to count once, as a hit or as
  /// a miss, and what is asked for stays longer.
  package enum Noting: Sendable {
    /// The picture was asked for here and nowhere else.
    case hitOrMiss
    /// Who misses it here has a worker make it, whose look-up then counts.
    case hitOnly
    /// The request was counted before, or is none: a delivery, an export, a list.
    case nothing
  }

  /// What the store has under a key that is worth giving out at `now`.
  package func lookup(_ key: ContentKey, at now: WallTime) throws(StoreError) -> StoreLookup {
    let found = try environment.glance { transaction throws(StoreError) in
      try tables.lookup(key, at: now, transaction)
    }
    var counters = StoreCounters()
    note(found, of: key, in: &counters)
    uses?.add(counters)
    return found
  }

  /// The same for many keys, on one snapshot; results are in the order of the keys.
  package func lookup(
    _ keys: [ContentKey], at now: WallTime
  ) throws(StoreError) -> [StoreLookup] {
    var counters = StoreCounters()
    let found = try environment.glance { transaction throws(StoreError) in
      var found: [StoreLookup] = []
      found.reserveCapacity(keys.count)
      for key in keys {
        let lookup = try tables.lookup(key, at: now, transaction)
        note(lookup, of: key, in: &counters)
        found.append(lookup)
      }
      return found
    }
    uses?.add(counters)
    return found
  }

  /// What the records under some keys say of themselves, as far as they have not expired. Whether
  /// their bytes are sound is for whoever reads them: this is for originals, which are large. Notes
  /// their use and counts neither hits nor misses.
  package func facts(
    of keys: [ContentKey], at now: WallTime
  ) throws(StoreError) -> [StoredThumbnail?] {
    try environment.read { transaction throws(StoreError) in
      var found: [StoredThumbnail?] = []
      for key in keys {
        let facts = try transaction.withValue(of: key.bytes, in: tables.thumbnails) { record in
          ThumbnailRecord.facts(of: record, key: key).flatMap { $0.isExpired(at: now) ? nil : $0 }
        }
        if case .some(.some) = facts { uses?.note(key) }
        found.append(facts ?? nil)
      }
      return found
    }
  }

  private func note(_ lookup: StoreLookup, of key: ContentKey, in counters: inout StoreCounters) {
    if case .hit = lookup {
      uses?.note(key)
      counters.hits += 1
    } else {
      counters.misses += 1
    }
  }

  /// Lends a thumbnail's bytes straight from the map; `nil` when there is no hit.
  ///
  /// `body` is short and uses no store: while it runs, pages freed by writers stay occupied.
  package func withThumbnail<Result>(
    _ key: ContentKey, at now: WallTime, noting: Noting = .hitOrMiss,
    _ body: (StoredThumbnail, Span<UInt8>) -> Result
  ) throws(StoreError) -> Result? {
    var result: Result?
    let isHit = try lendThumbnail(key, at: now) { result = body($0, $1) }
    note(isHit: isHit, of: key, noting)
    return result
  }

  /// Not generic, because a caller in another module gets generic code, which looks up the types it
  /// deals with at every call.
  ///
  /// - Returns: whether there was a hit, and so `body` ran.
  private func lendThumbnail(
    _ key: ContentKey, at now: WallTime, _ body: (StoredThumbnail, Span<UInt8>) -> Void
  ) throws(StoreError) -> Bool {
    try environment.glance { transaction throws(StoreError) in
      try tables.withRecord(of: key, transaction) { record in
        guard let facts = ThumbnailRecord.verifiedFacts(of: record, key: key),
          !facts.isExpired(at: now)
        else { return false }
        body(facts, record.extracting(last: facts.thumbnail.byteCount))
        return true
      } ?? false
    }
  }

  private func note(isHit: Bool, of key: ContentKey, _ noting: Noting) {
    var counters = StoreCounters()
    switch (noting, isHit) {
    case (.hitOrMiss, true), (.hitOnly, true):
      uses?.note(key)
      counters.hits = 1
    case (.hitOrMiss, false):
      counters.misses = 1
    case (.hitOnly, false), (.nothing, _):
      return
    }
    uses?.add(counters)
  }

  // MARK: - The environment

  /// Frees what readers hold whose process has died.
  ///
  /// - Returns: how many there were.
  @discardableResult
  package func checkReaders() throws(StoreError) -> Int {
    try environment.checkReaders()
  }

  /// The schema of the older release whose thumbnails were dropped by opening this store for
  /// writing; `nil` when nothing was dropped.
  package var replacedSchema: UInt32? { tables.replacedSchema }

  /// Whether somebody has removed or replaced the files of this store. Then whoever holds it lets
  /// go of it and opens a new one, see ``SharedStore``.
  package var isDetached: Bool { environment.isDetached }
}
