package import ImgWire

extension ThumbnailStore {
  /// Records that one transaction evicts at most, so that other writers and readers of the index
  /// need not wait long.
  private static let maximumEvictionCount = 1_024

  /// Stores a group of thumbnails: all of them or, when it throws, none.
  ///
  /// A thumbnail replaces the one that has its key; of their expiries the later one stays. When the
  /// store then occupies more than its budget, the records that expire soonest go until it occupies
  /// 70 % of it, but none of this group: whoever is told that a thumbnail is stored finds it. So
  /// the store may exceed its budget by the size of one group.
  ///
  /// - Throws: ``StoreError/Reason/full`` when one of the thumbnails alone is larger than the
  ///   budget, when the disk is full, or when a reader has kept so many freed pages from reuse that
  ///   the map is. Of a group, the caller then tries each alone.
  package func put(_ thumbnails: [NewThumbnail], at now: WallTime) throws(StoreError) {
    guard let budgetByteCount else {
      throw StoreError(
        .accessDenied, operation: "put, opened for reading", path: environment.directory)
    }
    for byteCount in thumbnails.map(ThumbnailRecord.byteCount(of:)) {
      guard byteCount <= budgetByteCount else {
        throw StoreError(
          .mapFull, operation: "put, \(byteCount) bytes in a budget of \(budgetByteCount)",
          path: environment.directory)
      }
    }
    do throws(StoreError) {
      try write(thumbnails, at: now, budgetByteCount: budgetByteCount)
    } catch {
      // Eviction keeps the map from filling up, so only pages that readers pin can have filled it.
      // Those of dead readers are free after a check; for living ones there is nothing to do.
      guard error.code == .mapFull, try checkReaders() > 0 else { throw error }
      try write(thumbnails, at: now, budgetByteCount: budgetByteCount)
    }
  }

  private func write(
    _ thumbnails: [NewThumbnail], at now: WallTime, budgetByteCount: Int64
  ) throws(StoreError) {
    try environment.write { transaction throws(StoreError) in
      for thumbnail in thumbnails { try tables.put(thumbnail, at: now, transaction) }
      try evict(
        sparing: Set(thumbnails.map(\.key)), budgetByteCount: budgetByteCount, transaction)
    }
  }

  /// Brings a store that is over its budget down to 70 % of it, or nearer to that.
  ///
  /// A map that is hardly larger than the budget counts instead: a commit needs pages beside those
  /// in use, for what it copies and for what it frees.
  private func evict(
    sparing spared: Set<ContentKey>, budgetByteCount: Int64, _ transaction: borrowing Transaction
  ) throws(StoreError) {
    let mostByteCount = min(budgetByteCount, Int64(environment.mapByteCount) / 2)
    guard try tables.occupiedByteCount(transaction) > mostByteCount else { return }
    let targetByteCount = mostByteCount / 10 * 7
    let sliceCount = 8
    for _ in 0..<Self.maximumEvictionCount / sliceCount {
      let evictedCount = try tables.removeEarliest(
        limit: sliceCount, sparing: spared, transaction)
      let occupiedByteCount = try tables.occupiedByteCount(transaction)
      guard evictedCount == sliceCount, occupiedByteCount > targetByteCount else { return }
    }
  }
}
