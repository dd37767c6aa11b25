package import ImgStore
import ImgSystem
package import ImgWire

/// Answers from the store by reading the map itself: no coordinator, no socket, no copy but the
/// last.
package struct StoreReader: Sendable {
  private let store: ThumbnailStore

  /// - Returns: `nil` when there is no store yet.
  package init?(directory: String) throws(StoreError) {
    do throws(StoreError) {
      store = try ThumbnailStore(directory: directory, access: .readOnly)
    } catch  where error.reason == .absent {
      return nil
    }
  }

  /// The thumbnail and its bytes; `nil` when it is not there, or expired.
  ///
  /// - Parameter moment: when it must not have been expired; `nil` for now.
  package func thumbnail(
    for url: ImageURL, variant: Variant, at moment: WallTime? = nil
  ) throws(StoreError) -> (facts: StoredThumbnail, bytes: [UInt8])? {
    let key = ContentKey(url: url, variant: variant)
    return try store.withThumbnail(key, at: moment ?? now) { facts, bytes in
      (facts, unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) })
    }
  }

  package func summary() throws(StoreError) -> StoreSummary {
    try store.summary()
  }

  package func statistics() throws(StoreError) -> StoreStatistics {
    try store.statistics(at: now)
  }

  /// Calls `body` with every record, also expired ones, until it returns `false`.
  package func forEach(_ body: (StoredThumbnail) throws -> Bool) throws {
    try store.forEach(body)
  }

  private var now: WallTime { WallTime(rawValue: WallClock.milliseconds()) }
}
