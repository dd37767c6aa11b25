package import ImgWire

extension ThumbnailStore {
  /// Stores a group of thumbnails: all of them or, when it throws, none.
  ///
  /// A thumbnail replaces the one that has its key; of their expiries the later one stays. When the
  /// store then occupies more than its budget, what has expired and what was not read lately go
  /// until it occupies 70 % of it (see ``Eviction``), but none of this group: whoever is told that
  /// a thumbnail is stored finds it. So the store may exceed its budget by the size of one group.
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
    try change { transaction, counters throws(StoreError) in
      let byteCountBefore = try tables.occupiedByteCount(transaction)
      for thumbnail in thumbnails {
        try tables.put(thumbnail, at: now, transaction, counting: &counters)
      }
      // A map that is hardly larger than the budget counts instead: a commit needs pages beside
      // those in use, for what it copies and for what it frees.
      let mostByteCount = min(budgetByteCount, Int64(environment.mapByteCount) / 2)
      guard try tables.occupiedByteCount(transaction) > mostByteCount else { return }
      let eviction = Eviction(
        tables: tables, uses: uses, spared: Set(thumbnails.map(\.key)),
        targetByteCount: mostByteCount / 10 * 7,
        limitByteCount: max(mostByteCount, byteCountBefore))
      try eviction.run(at: now, transaction, counting: &counters)
    }
  }

  // MARK: - Removing

  /// - Returns: how many of the keys there were.
  package func remove(_ keys: [ContentKey]) throws(StoreError) -> Int {
    try change { transaction, _ throws(StoreError) in
      var removedCount = 0
      for key in keys where try tables.remove(key, transaction) { removedCount += 1 }
      return removedCount
    }
  }

  /// Removes a record if, at the time of the removal, it is still stale. Between a look-up and this
  /// call another process may have stored a fresh thumbnail, which stays.
  ///
  /// - Returns: whether it was removed.
  package func removeStale(_ key: ContentKey, at now: WallTime) throws(StoreError) -> Bool {
    try change { transaction, counters throws(StoreError) in
      guard case .stale(let staleness) = try tables.lookup(key, at: now, transaction) else {
        return false
      }
      counters.countRemoval(of: staleness)
      return try tables.remove(key, transaction)
    }
  }

  /// Removes what has expired, longest ago first.
  ///
  /// - Parameter limit: how many at most; other writers wait meanwhile, so it is hundreds.
  /// - Returns: how many were removed; fewer than `limit` when none is left.
  package func removeExpired(at now: WallTime, limit: Int) throws(StoreError) -> Int {
    try change { transaction, counters throws(StoreError) in
      let count = try tables.removeExpired(at: now, limit: limit, transaction)
      counters.expiredRemovals += UInt64(count)
      return count
    }
  }

  /// Removes everything at once. The file keeps its size, its pages are free for reuse.
  package func reset() throws(StoreError) {
    try change { transaction, _ throws(StoreError) in
      try tables.clear(transaction)
    }
  }

  /// Runs `body` as the only writer of all processes, and adds what it counts when that is
  /// committed.
  ///
  /// - Throws: ``StoreError/Reason/replaced`` when the files are no longer the store's, before
  ///   anything is written into them: while a writer waits, somebody may replace the store.
  func change<Result>(
    _ body: (borrowing Transaction, inout StoreCounters) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    var counters = StoreCounters()
    let result = try environment.write { transaction throws(StoreError) in
      guard !environment.isDetached else { throw StoreError(.replaced, operation: "writing") }
      return try body(transaction, &counters)
    }
    uses?.add(counters)
    return result
  }
}
