import Synchronization

/// The thumbnail store in a directory that somebody may remove or replace at any time: the threads
/// of a process share it, and each asks for it anew before a group of operations.
///
/// A store is a cache, so one that is damaged is no reason to stop: a writer takes it away and
/// begins anew. A reader has an error, or misses.
package final class SharedStore: Sendable {
  /// Nobody replaces a store more often while one change waits.
  private static let maximumAttempts = 8

  private let directory: String
  private let access: ThumbnailStore.Access
  private let report: @Sendable (StoreEvent) -> Void
  private let held: Mutex<Held>

  private struct Held {
    var store: ThumbnailStore?
    /// How long a data file is compacted at the earliest, after an attempt that has failed.
    var shrinkableByteCount = 0
    /// One that is of no use any more and has the lock file that the next one would open, as long as
    /// some thread is not done with it: until then that may not be opened again (`lmdb.h`, Caveats).
    weak var retired: ThumbnailStore?
  }

  /// Opens the store, see ``ThumbnailStore/init(directory:access:)``; for writing, begins anew where
  /// that says that it is damaged.
  ///
  /// - Parameter report: is told what others should know, on whichever thread it happens.
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

  /// Changes the store as the directory has it now, and again when that was removed or replaced
  /// before `body` could write, or is begun anew because `body` found damage.
  ///
  /// Afterwards compacts a store whose file has become much larger than its budget, see
  /// ``ThumbnailStore/isOvergrown(beyond:)``.
  package func change<Result>(
    _ body: (ThumbnailStore) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let result = try perform(body)
    shrinkIfOvergrown()
    return result
  }

  /// Empties the store and frees its room on the disk, also when the disk is full.
  package func reset() throws(StoreError) {
    try perform { store throws(StoreError) in
      do throws(StoreError) {
        try store.replaceByEmpty()
      } catch {
        guard error.reason != .replaced, error.reason != .damaged else { throw error }
        // The directory may not be replaced: another user's, or a mount point.
        try store.reset()
      }
    }
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

  /// The store as the directory has it now; a new one when the files of the last one are gone.
  ///
  /// Costs two system calls. The last store closes when the threads that still use it are done;
  /// what they put into it meanwhile is lost with its files.
  ///
  /// - Throws: ``StoreError/Reason/damaged`` to a reader whose file is cut off.
  package func current() throws(StoreError) -> ThumbnailStore {
    try held.withLock { held throws(StoreError) in
      if let store = held.store {
        switch store.environment.state {
        case .sound: return store
        case .detached:
          if store.environment.isLockFileNamed { held.retired = store }
        case .cutOff: if try complete(store) { return store }
        }
      }
      // Closed before it is opened again, unless in use: LMDB wants an environment opened once.
      held.store = nil
      guard held.retired == nil else {
        throw StoreError(.panic, operation: "opening again what is in use", path: directory)
      }
      let store = try open()
      held.store = store
      return store
    }
  }

  /// Lets go of a store that somebody removed or replaced, so that its room on the disk becomes
  /// free. For those who do not ask for it now and then anyway. Costs two system calls.
  package func releaseIfDetached() {
    held.withLock { held in
      guard let store = held.store, store.isDetached else { return }
      if store.environment.isLockFileNamed { held.retired = store }
      held.store = nil
    }
  }

  /// Removes the files of a store without opening them: reading damaged pages may end the process.
  /// The next writer creates the store again. Never waits.
  ///
  /// No copy of the files is kept. Eviction and expiry may remove any record at any time, originals
  /// too, so that each picture has to be available elsewhere. A copy would take as much room on the
  /// disk as the store, outside of its budget, and no program can read damaged pages safely.
  ///
  /// - Returns: whether the store is gone; `false` when another process is about to replace it.
  package static func quarantine(_ directory: String) throws(StoreError) -> Bool {
    guard let replacement = try StoreReplacement(of: directory, isWaiting: false) else {
      return false
    }
    try replacement.setAside()
    return true
  }

  /// Puts a copy without free pages in the place of the store, see ``ThumbnailStore/compact()``.
  package func compact() throws(StoreError) -> StoreCompaction {
    guard isWriter else {
      throw StoreError(.accessDenied, operation: "compact, opened for reading", path: directory)
    }
    for _ in 1..<Self.maximumAttempts {
      do throws(StoreError) {
        return try perform { store throws(StoreError) in try store.compact() }
      } catch {
        // A transaction follows a map that has grown.
        guard error.code == .mapResized else { throw error }
        _ = try current().summary()
      }
    }
    return try perform { store throws(StoreError) in try store.compact() }
  }

  /// A reader that does not end keeps freed pages from being reused, so that the file grows. After
  /// the compaction it keeps the old file, which nobody writes any more, and the new one is small.
  private func shrinkIfOvergrown() {
    let store = held.withLock { held in
      held.store.flatMap { $0.isOvergrown(beyond: held.shrinkableByteCount) ? $0 : nil }
    }
    guard let store else { return }
    do throws(StoreError) {
      guard try store.compact(isWaiting: false) != nil else { return }
      held.withLock { $0.shrinkableByteCount = 0 }
    } catch {
      // Such as for a disk that has no room for a copy. The store is as it was, and is tried again
      // when it has grown by a quarter.
      let byteCount = (try? store.environment.fileByteCount()) ?? 0
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
      store = try openAnew()
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

  /// Opens what is there, or when that is damaged, a new store in its place. Others who find the
  /// same damage come here one after the other, and the first one has removed it.
  private func openAnew() throws(StoreError) -> ThumbnailStore {
    if let replacement = try StoreReplacement(of: directory) {
      do throws(StoreError) {
        return try ThumbnailStore(directory: directory, access: access)
      } catch {
        guard error.reason == .damaged else { throw error }
        try replacement.setAside()
        report(.beganAnew(error))
      }
    }
    return try ThumbnailStore(directory: directory, access: access)
  }

  // MARK: - Damage of a store that is open

  /// Deals with a data file that ends before its last page.
  ///
  /// - Returns: whether nothing is wrong with it.
  /// - Throws: ``StoreError/Reason/damaged`` to a reader.
  private func complete(_ store: ThumbnailStore) throws(StoreError) -> Bool {
    do throws(StoreError) {
      if isWriter {
        try store.environment.completeOrRefuseFile()
      } else {
        try store.environment.refuseCutOffFile()
      }
      return true
    } catch {
      let located = error.at(directory, content: .thumbnails)
      guard isWriter, error.reason == .damaged else { throw located }
      try setAside(store, because: located)
      return false
    }
  }

  /// Makes the next ``current()`` another one than a store in which a change met damage.
  private func repair(_ store: ThumbnailStore, after error: StoreError) throws(StoreError) {
    try held.withLock { held throws(StoreError) in
      guard held.store === store else { return }
      switch error.code {
      case .cutOff:
        guard try !complete(store) else { return }
      case .panic:
        // Not the files but this process's hold on them is broken (`lmdb.h`, MDB_PANIC).
        held.retired = store
      default:
        try setAside(store, because: error.at(directory, content: .thumbnails))
      }
      held.store = nil
    }
  }

  /// Takes the files of a store away, unless somebody else has done so.
  private func setAside(_ store: ThumbnailStore, because error: StoreError) throws(StoreError) {
    guard let replacement = try StoreReplacement(of: directory), !store.isDetached else { return }
    try replacement.setAside()
    report(.beganAnew(error))
  }
}
