package import ImgModel
import ImgSystem
import Synchronization

/// The thumbnail store in a directory that other processes may remove or replace at any time. The
/// threads of a process share it, and each gets ``current(checkedSince:)`` before a group of operations.
///
/// The store is a cache, so damage does not stop a process: a writer recreates the store, and a
/// reader gets an error or a miss.
package final class SharedStore: Sendable {
  /// The maximum number of replacements during one change.
  private static let maximumAttempts = 8

  private let directory: String
  private let access: ThumbnailStore.Access
  private let report: @Sendable (StoreEvent) -> Void
  private let held: Mutex<Held>

  private struct Held {
    var store: ThumbnailStore?
    /// When its files were last found to be intact.
    var checkedAt: ContinuousClock.Instant?
    /// See ``SharedStore/takeReplacement()``.
    var isReplaced = false
    /// After a failed compaction, the file size at which the next one is attempted.
    var shrinkableByteCount = 0
    /// An unusable store that a thread still uses, with the same lock file as the next one. LMDB
    /// forbids opening the environment again until then (`lmdb.h`, Caveats).
    weak var retired: ThumbnailStore?

    /// Whether a thread uses the store or the last one.
    var isInUse: Bool {
      mutating get {
        retired != nil || (store != nil && !isKnownUniquelyReferenced(&store))
      }
    }
  }

  /// Opens the store, see ``ThumbnailStore/init(directory:access:)``. For writing, recreates a
  /// damaged store.
  ///
  /// - Parameter report: called for each event, on any thread.
  package init(
    directory: String, access: ThumbnailStore.Access,
    report: @escaping @Sendable (StoreEvent) -> Void = { _ in }
  ) throws(StoreError) {
    self.directory = directory
    self.access = access
    self.report = report
    held = Mutex(Held())
    _ = try current()
  }

  /// Changes the current store. Repeats the change if the store was removed or replaced before
  /// `body` could write, or is recreated because `body` found damage.
  ///
  /// Afterwards compacts a store whose file is much larger than its budget, see
  /// ``ThumbnailStore/isOvergrown(beyond:)``.
  @discardableResult
  package func change<Result>(
    _ body: (ThumbnailStore) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let result = try perform(body)
    shrinkIfOvergrown()
    return result
  }

  /// Empties the store and frees its disk space, even on a full disk.
  package func reset() throws(StoreError) {
    try perform { store throws(StoreError) in
      do throws(StoreError) {
        try store.replaceByEmpty()
      } catch {
        guard error.reason != .replaced, error.reason != .damaged else { throw error }
        // The directory cannot be replaced. It belongs to another user or is a mount point.
        try store.reset()
      }
    }
  }

  /// The limits of the store, and what jobs pin of it. Of a store that cannot be read, they pin nothing.
  package func currentReport() -> StoreReport {
    if let report = try? current().report() { return report }
    let budgetByteCount =
      if case .readWrite(let byteCount) = access { byteCount } else { Int64.max }
    return StoreReport(
      directory: directory, budgetByteCount: budgetByteCount, diskByteCount: nil,
      pinnedByteCount: 0,
      pinningJobs: [])
  }

  private func perform<Result>(
    _ body: (ThumbnailStore) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    for _ in 1..<Self.maximumAttempts {
      let store = try current()
      do throws(StoreError) {
        return try body(store)
      } catch {
        switch error.reason {
        case .replaced: continue
        case .damaged: try repair(store, after: error)
        default: throw error
        }
      }
    }
    return try body(current())
  }

  /// The store in the directory now; a new one if the files of the last one were removed.
  ///
  /// Costs two system calls. The last store closes when no thread uses it any more. Thumbnails that
  /// are stored there meanwhile are lost.
  ///
  /// - Parameter moment: a check of the files since then is good enough, and costs nothing more; `nil`
  ///   for a check now.
  /// - Throws: ``StoreError/Reason/damaged`` for a reader if the file is truncated.
  package func current(
    checkedSince moment: ContinuousClock.Instant? = nil
  ) throws(StoreError) -> ThumbnailStore {
    try held.withLock { held throws(StoreError) in
      if let store = held.store {
        if let moment, let checkedAt = held.checkedAt, moment <= checkedAt { return store }
        switch store.environment.state {
        case .intact:
          held.checkedAt = .now
          return store
        case .detached:
          if store.environment.isLockFileNamed { held.retired = store }
        case .truncated: if try complete(store) { return store }
        }
      }
      if held.store != nil { held.isReplaced = true }
      // Close it before opening it again, because LMDB wants an environment opened only once.
      held.store = nil
      guard held.retired == nil else {
        throw StoreError(.panic, operation: "reopening a store in use", path: directory)
      }
      let store = try open()
      held.store = store
      held.checkedAt = .now
      return store
    }
  }

  /// Closes a store that was removed or replaced, to free its disk space. For processes that do not
  /// call ``current(checkedSince:)`` regularly. Costs two system calls.
  package func releaseIfDetached() {
    held.withLock { held in
      guard let store = held.store, store.isDetached else { return }
      if store.environment.isLockFileNamed { held.retired = store }
      held.store = nil
      held.isReplaced = true
    }
  }

  /// Whether the store was found removed or replaced since the last call, for example emptied by a user.
  package func takeReplacement() -> Bool {
    held.withLock { held in
      defer { held.isReplaced = false }
      return held.isReplaced
    }
  }

  /// Closes the store while `body` runs, so that `body` may open it for another access: LMDB forbids
  /// two openings in one process (`lmdb.h`, Caveats). Threads that use the store finish first, and all
  /// others wait.
  ///
  /// - Precondition: the calling thread does not use the store.
  package func whileClosed<Result: Sendable>(_ body: () throws -> Result) throws -> Result {
    try held.withLock { held in
      while held.isInUse { ThisProcess.pause(for: .milliseconds(1)) }
      held.store = nil
      return try body()
    }
  }

  /// Removes the files of a store without opening them, because reading damaged pages may end the
  /// process. The next writer recreates the store. Does not block.
  ///
  /// No copy of the files is kept. Eviction and expiry may remove any record at any time, including
  /// originals, so every picture must be available elsewhere. A copy would take as much disk space
  /// as the store, outside its budget, and no program can read damaged pages safely.
  ///
  /// - Returns: whether the store is removed; `false` if another process is replacing it.
  package static func remove(_ directory: String) throws(StoreError) -> Bool {
    guard let replacement = try StoreReplacement(of: directory, isWaiting: false) else {
      return false
    }
    try replacement.removeStore()
    return true
  }

  /// Replaces the store by a copy without free pages, see ``ThumbnailStore/compact()``.
  package func compact() throws(StoreError) -> StoreCompaction {
    guard isWriter else {
      throw StoreError(.accessDenied, operation: "compact, opened for reading", path: directory)
    }
    for _ in 1..<Self.maximumAttempts {
      do throws(StoreError) {
        return try perform { store throws(StoreError) in try store.compact() }
      } catch {
        // A transaction follows the grown map.
        guard error.code == .mapResized else { throw error }
        _ = try current().size()
      }
    }
    return try perform { store throws(StoreError) in try store.compact() }
  }

  /// A reader with a long snapshot prevents the reuse of freed pages, so the file grows. After the
  /// compaction, it keeps the old file, which no longer grows, and the new file is small.
  private func shrinkIfOvergrown() {
    let store = held.withLock { held in
      held.store.flatMap { $0.isOvergrown(beyond: held.shrinkableByteCount) ? $0 : nil }
    }
    guard let store else { return }
    do throws(StoreError) {
      guard try store.compact(isWaiting: false) != nil else { return }
      held.withLock { $0.shrinkableByteCount = 0 }
    } catch {
      // For example, the disk has no space for a copy. The store is unchanged. The next attempt
      // follows when the file has grown by a quarter.
      let byteCount = (try? store.environment.dataFile.byteCount()) ?? 0
      held.withLock { $0.shrinkableByteCount = byteCount / 4 * 5 }
    }
  }

  private var isWriter: Bool {
    if case .readWrite = access { true } else { false }
  }

  // MARK: - Opening

  private func open() throws(StoreError) -> ThumbnailStore {
    let store: ThumbnailStore
    do throws(StoreError) {
      store = try openOnce()
    } catch {
      guard isWriter, error.reason == .damaged else { throw error }
      store = try recreate()
    }
    if let schema = store.replacedSchema {
      report(.droppedSchema(schema, directory: directory))
    }
    return store
  }

  private func openOnce() throws(StoreError) -> ThumbnailStore {
    if isWriter { StoreReplacement.removeLeftovers(of: directory) }
    return try ThumbnailStore(directory: directory, access: access)
  }

  /// Opens the store, or recreates it if it is damaged. Processes that find the same damage do this
  /// one after the other, and only the first one removes the store.
  private func recreate() throws(StoreError) -> ThumbnailStore {
    if let replacement = try StoreReplacement(of: directory) {
      do throws(StoreError) {
        return try ThumbnailStore(directory: directory, access: access)
      } catch {
        guard error.reason == .damaged else { throw error }
        try replacement.removeStore()
        report(.recreated(error))
      }
    }
    return try ThumbnailStore(directory: directory, access: access)
  }

  // MARK: - Damage of an open store

  /// Handles a data file that ends before its last page.
  ///
  /// - Returns: whether the file is intact.
  /// - Throws: ``StoreError/Reason/damaged`` for a reader.
  private func complete(_ store: ThumbnailStore) throws(StoreError) -> Bool {
    do throws(StoreError) {
      if isWriter {
        try store.environment.completeOrRefuseFile()
      } else {
        try store.environment.refuseTruncatedFile()
      }
      return true
    } catch {
      let located = error.at(directory, content: .thumbnails)
      guard isWriter, error.reason == .damaged else { throw located }
      try remove(store, because: located)
      return false
    }
  }

  /// Makes sure that the next ``current(checkedSince:)`` is not the damaged store.
  private func repair(_ store: ThumbnailStore, after error: StoreError) throws(StoreError) {
    try held.withLock { held throws(StoreError) in
      guard held.store === store else { return }
      switch error.code {
      case .truncated:
        guard try !complete(store) else { return }
      case .panic:
        // The files are intact, but this process cannot use its environment (`lmdb.h`, MDB_PANIC).
        held.retired = store
      default:
        try remove(store, because: error.at(directory, content: .thumbnails))
      }
      held.store = nil
    }
  }

  /// Removes the files of a store, unless another process already has.
  private func remove(_ store: ThumbnailStore, because error: StoreError) throws(StoreError) {
    guard let replacement = try StoreReplacement(of: directory), !store.isDetached else { return }
    try replacement.removeStore()
    report(.recreated(error))
  }
}

/// The sizes of the data file before and after a compaction.
package struct StoreCompaction: Hashable, Sendable {
  package let byteCountBefore: Int64
  package let byteCountAfter: Int64
}

extension ThumbnailStore {
  /// Replaces this store by a copy without free pages. This store is then detached. Readers and
  /// writers continue meanwhile, see ``Environment/replaceByCopy(in:_:)``.
  ///
  /// - Throws: ``StoreError/Reason/full`` if the disk has no space for the copy. After any error
  ///   the store is unchanged.
  func compact() throws(StoreError) -> StoreCompaction {
    guard let compaction = try compact(isWaiting: true) else {
      throw StoreError(.replaced, operation: "compacting", path: environment.directory)
    }
    return compaction
  }

  /// Compacts the store.
  ///
  /// - Parameter isWaiting: whether to wait for another process that is replacing the store.
  /// - Returns: `nil` if another process has replaced the store or is replacing it.
  func compact(isWaiting: Bool) throws(StoreError) -> StoreCompaction? {
    // The process that held the lock before may have compacted it.
    guard let replacement = try StoreReplacement(of: environment.directory, isWaiting: isWaiting),
      !isDetached
    else { return nil }
    replacement.removeSpare()
    // Removes the failed copy or the replaced store.
    defer { replacement.removeSpare() }
    let before = try environment.dataFile.byteCount()
    var after = 0
    try environment.replaceByCopy(in: replacement.spareDirectory) { () throws(StoreError) in
      after = EnvironmentFiles(in: replacement.spareDirectory).dataByteCount
      try replacement.exchange()
    }
    return StoreCompaction(byteCountBefore: Int64(before), byteCountAfter: Int64(after))
  }

  /// Replaces this store by an empty one. This store is then detached. Access bits and counters
  /// stay, unless the disk has no space for the empty store beside this one. Then this store is
  /// removed, and the next writer creates another.
  func replaceByEmpty() throws(StoreError) {
    let directory = environment.directory
    guard let replacement = try StoreReplacement(of: directory), !isDetached else {
      throw StoreError(.replaced, operation: "resetting", path: directory)
    }
    replacement.removeSpare()
    defer { replacement.removeSpare() }
    // Another writer's transaction ends before this, or finds the store replaced.
    try environment.whileOnlyWriter { snapshot throws(StoreError) in
      let budgetByteCount = try tables.budgetByteCount(snapshot)
      do throws(StoreError) {
        try Self.createEmpty(in: replacement.spareDirectory, budgetByteCount: budgetByteCount)
        try replacement.exchange()
      } catch {
        guard error.reason == .full else { throw error }
        try replacement.removeStore()
      }
    }
  }

  private static func createEmpty(
    in directory: String, budgetByteCount: Int64
  ) throws(StoreError) {
    var options = Environment.Options(content: .thumbnails)
    options.durability = .none
    let environment = try Environment(directory: directory, options: options)
    try environment.write { transaction throws(StoreError) in
      _ = try ThumbnailTables(creatingIn: transaction, budgetByteCount: budgetByteCount)
    }
    try environment.sync()
  }

  /// Whether a compaction would shrink the file considerably: the file exceeds both its budget and
  /// its content by half. Without long readers, free pages take less than that.
  ///
  /// Costs one system call if the file is smaller than its budget.
  ///
  /// - Parameter byteCount: a smaller file is not overgrown.
  func isOvergrown(beyond byteCount: Int) -> Bool {
    guard let budgetByteCount, let fileByteCount = try? environment.dataFile.byteCount(),
      fileByteCount >= byteCount,
      fileByteCount > Self.overgrownByteCount(of: budgetByteCount),
      let size = try? size()
    else { return false }
    return fileByteCount > Self.overgrownByteCount(of: size.occupiedByteCount)
  }

  /// The constant covers the preallocated space, which dominates a tiny store.
  private static func overgrownByteCount(of byteCount: Int64) -> Int64 {
    let (half, overflow) = byteCount.addingReportingOverflow(byteCount / 2 + 1 << 20)
    return overflow ? .max : half
  }
}

/// An event of a store that is worth a line in the log.
package enum StoreEvent: Hashable, Sendable {
  /// The store was damaged and recreated.
  case recreated(StoreError)
  /// The store was of an older release, and its thumbnails were dropped.
  case droppedSchema(UInt32, directory: String)
}

extension StoreEvent: CustomStringConvertible {
  /// A sentence.
  package var description: String {
    switch self {
    case .recreated(let error):
      "the store in \(error.path) was damaged and is recreated; requests make its thumbnails again "
        + "(\(error.cause))"
    case .droppedSchema(let schema, let directory):
      "the store in \(directory) was of an older release (schema \(schema)) and is recreated; "
        + "requests make its thumbnails again"
    }
  }
}

extension CacheStatistics.Counters {
  mutating func countRemoval(of staleness: StoreLookup.Staleness) {
    switch staleness {
    case .expired: expiredRemovals += 1
    case .corrupt: damagedRemovals += 1
    }
  }
}
