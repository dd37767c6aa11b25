import ImgStore
import Synchronization

/// The stores that this process has open. LMDB forbids to open one twice in a process: the locks of one
/// opening would end with the other (lmdb.h, "Caveats").
enum OpenStores {
  private struct Entry {
    weak var store: SharedStore?
  }

  private static let entries = Mutex<[String: Entry]>([:])

  /// A reader of the store in a directory, which other readers in this process share.
  ///
  /// - Returns: `nil` when there is no store yet.
  static func reader(of directory: String) throws(StoreError) -> StoreReader? {
    try entries.withLock { entries throws(StoreError) in
      if let store = entries[directory]?.store { return StoreReader(store) }
      entries = entries.filter { $0.value.store != nil }
      let reader = try StoreReader(directory: directory)
      if let reader { entries[directory] = Entry(store: reader.store) }
      return reader
    }
  }

  /// Runs `body` while this process does not have the store open. Readers wait meanwhile.
  ///
  /// - Parameter body: may open the store, and must not ask for a reader.
  static func whileClosed<Result: Sendable>(
    _ directory: String, _ body: () throws -> Result
  ) throws -> Result {
    try entries.withLock { entries in
      guard let store = entries[directory]?.store else { return try body() }
      return try store.whileClosed(body)
    }
  }
}
