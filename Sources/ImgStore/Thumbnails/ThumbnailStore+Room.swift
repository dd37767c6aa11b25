extension ThumbnailStore {
  /// Makes pages available to a put that has found no room.
  ///
  /// Those of readers that have died are free after a check. A disk that others have filled leaves
  /// the store the room that it has: so much of its oldest goes that the put fits there.
  ///
  /// What the last commit has freed LMDB reuses only after one more commit (`mdb_page_alloc` takes
  /// what was freed before the oldest snapshot, and that is the last commit's when nobody reads). But
  /// there is none while every put fails, and a store that was emptied on a full disk would stay
  /// full. So a small one is made, for which what was freed earlier suffices.
  ///
  /// - Parameter byteCount: what the put needs at least.
  /// - Returns: whether it may find room now.
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

  /// A thumbnail needs pages side by side, and what is freed lies in pieces.
  private static let shareForPut: Int64 = 4
  /// What a commit copies of the tables, and the lists of free pages.
  private static let treeByteCount: Int64 = 256 << 10
}
