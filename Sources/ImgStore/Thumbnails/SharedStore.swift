import Synchronization

/// The thumbnail store in a directory that somebody may remove or replace at any time: the threads
/// of a process share it, and each asks for it anew before a group of operations.
package final class SharedStore: Sendable {
  /// Nobody replaces a store more often while one change waits.
  private static let maximumAttempts = 8

  private let directory: String
  private let access: ThumbnailStore.Access
  private let opened: Mutex<ThumbnailStore?>

  /// Opens the store, see ``ThumbnailStore/init(directory:access:)``.
  package init(directory: String, access: ThumbnailStore.Access) throws(StoreError) {
    self.directory = directory
    self.access = access
    opened = Mutex(try ThumbnailStore(directory: directory, access: access))
  }

  /// Changes the store as the directory has it now, and again when that was removed or replaced
  /// before `body` could write.
  package func change<Result>(
    _ body: (ThumbnailStore) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    for _ in 1..<Self.maximumAttempts {
      do throws(StoreError) {
        return try body(current())
      } catch {
        guard error.reason == .replaced else { throw error }
      }
    }
    return try body(current())
  }

  /// The store as the directory has it now; a new one when the files of the last one are gone.
  ///
  /// Costs two system calls. The last store closes when the threads that still use it are done;
  /// what they put into it meanwhile is lost with its files.
  package func current() throws(StoreError) -> ThumbnailStore {
    try opened.withLock { opened throws(StoreError) in
      if let store = opened, !store.isDetached { return store }
      // Closed before it is opened again, unless in use: LMDB wants an environment opened once.
      opened = nil
      let store = try ThumbnailStore(directory: directory, access: access)
      opened = store
      return store
    }
  }
}
