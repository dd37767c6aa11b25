package import ImgModel

extension ThumbnailStore {
  /// Stores a group of thumbnails: all of them or, when it throws, none.
  ///
  /// A thumbnail replaces the one that has its key; of their expiries the later one stays. When the
  /// store then occupies more than its budget, what has expired and what was not read lately go
  /// until it occupies 70 % of it (see ``Eviction``), but none of this group: whoever is told that
  /// a thumbnail is stored finds it.
  ///
  /// The budget is smaller when the disk has less room, see ``StoreBudget``.
  ///
  /// - Throws: ``StoreError/Reason/tooLarge`` when the thumbnails, alone or together, are larger than
  ///   the budget, ``StoreError/Reason/full`` when they are larger than what the disk has room for,
  ///   or when a reader has kept so many freed pages from reuse that the map is full. Of a group, the
  ///   caller then tries each alone.
  package func put(_ thumbnails: [NewThumbnail], at now: WallTime) throws(StoreError) {
    guard let budgetByteCount else {
      throw StoreError(
        .accessDenied, operation: "put, opened for reading", path: environment.directory)
    }
    for byteCount in thumbnails.map(ThumbnailRecord.byteCount(of:)) {
      guard byteCount <= budgetByteCount else {
        throw StoreError(
          .largerThanBudget, operation: "put, \(byteCount) bytes in a budget of \(budgetByteCount)",
          path: environment.directory)
      }
    }
    do throws(StoreError) {
      try write(thumbnails, at: now)
    } catch {
      let byteCount = thumbnails.reduce(0) { $0 + ThumbnailRecord.byteCount(of: $1) }
      guard error.reason == .full, try makeRoom(byteCount: byteCount) else { throw error }
      try write(thumbnails, at: now)
    }
  }

  private func write(_ thumbnails: [NewThumbnail], at now: WallTime) throws(StoreError) {
    try change(makingRoomFor: Eviction.Newcomers(thumbnails, at: now)) {
      transaction, counters throws(StoreError) in
      for thumbnail in thumbnails {
        try tables.put(thumbnail, at: now, transaction, counting: &counters)
      }
    }
  }

  /// Has thumbnails kept for as long as these accesses ask for: all of them or, when it throws,
  /// none. Of what has gone meanwhile nothing is changed.
  package func extend(_ accesses: [ThumbnailAccess]) throws(StoreError) {
    try change { transaction, _ throws(StoreError) in
      for access in accesses { try tables.extend(access, transaction) }
    }
  }

  /// Renews records: all of them or, when it throws, none.
  ///
  /// - Returns: whether all of them were there.
  package func renew(_ renewals: [Renewal], at now: WallTime) throws(StoreError) -> Bool {
    let keys = Set(renewals.map(\.record.key))
    return try change(makingRoomFor: Eviction.Newcomers(keys: keys, arrival: now)) {
      transaction, counters throws(StoreError) in
      var renewedCount = 0
      for renewal in renewals
      where try tables.renew(renewal, at: now, transaction, counting: &counters) {
        renewedCount += 1
      }
      return renewedCount == renewals.count
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

  /// Removes those of these records that, at the time of the removal, are still stale. Between a
  /// look-up and this call another process may have stored a fresh thumbnail, which stays.
  ///
  /// - Returns: how many were removed.
  @discardableResult
  package func removeStale(_ keys: [ContentKey], at now: WallTime) throws(StoreError) -> Int {
    try change { transaction, counters throws(StoreError) in
      var removedCount = 0
      for key in keys {
        guard case .stale(let staleness) = try tables.lookup(key, at: now, transaction) else {
          continue
        }
        counters.countRemoval(of: staleness)
        if try tables.remove(key, transaction) { removedCount += 1 }
      }
      return removedCount
    }
  }

  /// Removes what has expired, longest ago first; of partials, which are few, all.
  ///
  /// - Parameter limit: how many thumbnails at most; other writers wait meanwhile, so it is
  ///   ``expiredBatchCount`` for everybody who removes all.
  /// - Returns: how many thumbnails were removed; fewer than `limit` when none is left.
  package func removeExpired(at now: WallTime, limit: Int) throws(StoreError) -> Int {
    try change { transaction, counters throws(StoreError) in
      try tables.removeExpiredPartials(at: now, transaction)
      return try tables.removeExpired(at: now, limit: limit, transaction, counting: &counters)
    }
  }

  /// Expired records that are removed in one transaction: so few that whoever waits for it notices
  /// nothing.
  package static let expiredBatchCount = 256

  /// Removes everything at once. The file keeps its size, its pages are free for reuse; see
  /// ``SharedStore/reset()`` for what frees the disk.
  func reset() throws(StoreError) {
    try change { transaction, _ throws(StoreError) in
      try tables.clear(transaction)
    }
  }

  /// Runs `body` as the only writer of all processes, keeps the budget, and adds what was counted
  /// when that is committed. After the commit the store occupies no more than its budget; only one
  /// that a larger budget had filled comes down to it in several changes.
  ///
  /// Readers that were killed are cleared first: what they pin is then free for this change, however
  /// long everybody else goes on. That costs a system call for each process that reads, nothing
  /// beside a commit.
  ///
  /// - Parameters:
  ///   - newcomers: what `body` puts; `nil` when it puts nothing.
  ///   - byteCountToFree: by how much the store is to become smaller, if it holds so much.
  /// - Throws: ``StoreError/Reason/replaced`` when the files are no longer the store's, before
  ///   anything is written into them: while a writer waits, somebody may replace the store.
  func change<Result>(
    makingRoomFor newcomers: Eviction.Newcomers? = nil, freeing byteCountToFree: Int64 = 0,
    _ body: (borrowing Transaction, inout StoreCounters) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    var counters = StoreCounters()
    try checkReaders()
    var chances: Set<ContentKey> = []
    let result = try environment.write { transaction throws(StoreError) in
      guard !environment.isDetached else { throw StoreError(.replaced, operation: "writing") }
      let byteCountBefore = try tables.occupiedByteCount(transaction)
      let result = try body(transaction, &counters)
      let budget = try budget
      let eviction = Eviction(
        tables: tables, uses: uses, newcomers: newcomers, budget: budget,
        byteCountToFree: byteCountToFree, byteCountBefore: byteCountBefore)
      chances = try eviction.run(transaction, counting: &counters)
      return result
    }
    uses?.add(counters)
    // Not before: a change that fails takes nobody's second chance.
    for key in chances { uses?.forget(key) }
    return result
  }

  /// What the store may occupy now. A map that is hardly larger than the budget counts instead of
  /// it: a commit needs pages beside those in use, for what it copies and for what it frees.
  var budget: StoreBudget {
    get throws(StoreError) {
      StoreBudget(
        configuredByteCount: min(
          budgetByteCount ?? .max, Int64(try environment.mapByteCount) / 2),
        fileByteCount: try environment.fileByteCount(), disk: environment.diskSpace)
    }
  }
}
