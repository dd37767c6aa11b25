extension ThumbnailStore {
  /// Makes pages available to a put that has found no room.
  ///
  /// Those of readers that have died are free after a check; for living ones there is nothing to do.
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
    let freeByteCount = try environment.read { transaction throws(StoreError) in
      let pageByteCount = try transaction.statistics(of: .freePages).pageByteCount
      return try transaction.freePageCount() * pageByteCount
    }
    guard freeByteCount >= byteCount else { return false }
    do throws(StoreError) {
      try change { transaction, _ throws(StoreError) in try tables.renewBudget(transaction) }
      return true
    } catch {
      guard error.reason == .full else { throw error }
      return false
    }
  }
}
