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
