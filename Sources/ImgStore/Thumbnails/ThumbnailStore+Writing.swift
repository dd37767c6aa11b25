package import ImgModel

extension ThumbnailStore {
  /// Stores a group of thumbnails: all of them or, if it throws, none.
  ///
  /// A thumbnail replaces the one with its key, and the later expiry of both applies. If the store
  /// then exceeds its budget, ``Eviction`` shrinks it to 70 % of the budget, without removing this
  /// group.
  ///
  /// The budget is smaller if the disk has less space, see ``StoreBudget``.
  ///
  /// - Parameters:
  ///   - accesses: are extended in the same transaction, see ``extend(_:)``.
  ///   - sparePercent: how much of the budget spare originals may take; beyond it, the oldest go.
  /// - Returns: as ``extend(_:)`` does.
  /// - Throws: ``StoreError/Reason/pinned`` if the thumbnails are to be pinned, and more would be pinned
  ///   than the budget permits, see `StoreReport.pinLimit(of:)`;
  ///   ``StoreError/Reason/tooLarge`` if the thumbnails, alone or together, exceed the budget;
  ///   ``StoreError/Reason/full`` if they exceed the space on the disk, or if a reader pins so many freed
  ///   pages that the map is full. The caller then stores each thumbnail of the group alone.
  @discardableResult
  package func put(
    _ thumbnails: [NewThumbnail], extending accesses: [ThumbnailAccess] = [],
    sparePercent: Int = 100, at now: WallTime
  ) throws(StoreError) -> Set<ContentKey> {
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
      return try write(thumbnails, accesses, sparePercent, at: now)
    } catch {
      let byteCount = thumbnails.reduce(0) { $0 + ThumbnailRecord.byteCount(of: $1) }
      guard error.reason == .full, try makeRoom(byteCount: byteCount) else { throw error }
      return try write(thumbnails, accesses, sparePercent, at: now)
    }
  }

  private func write(
    _ thumbnails: [NewThumbnail], _ accesses: [ThumbnailAccess], _ sparePercent: Int,
    at now: WallTime
  ) throws(StoreError) -> Set<ContentKey> {
    try change(makingRoomFor: Eviction.Newcomers(thumbnails, at: now)) {
      transaction, counters throws(StoreError) in
      try withinPinLimit(transaction) { () throws(StoreError) in
        for thumbnail in thumbnails {
          if case .chunks(let content) = thumbnail.content,
            try !tables.finish(content, transaction)
          {
            throw StoreError(.replaced, operation: "storing a content that was removed")
          }
          try tables.put(thumbnail, at: now, transaction, counting: &counters)
        }
        if thumbnails.contains(where: { $0.isSpare == true }) {
          let allowance = try budget.effectiveByteCount / 100 * Int64(sparePercent)
          try tables.trimSpares(to: allowance, transaction, counting: &counters)
        }
        return try extend(accesses, transaction)
      }
    }
  }

  /// Extends the expiry of accessed thumbnails and pins them, as their retention says: all of them or, if it
  /// throws, none. Skips removed ones.
  ///
  /// - Returns: those that were to be pinned and are not there.
  /// - Throws: ``StoreError/Reason/pinned`` as ``put(_:extending:sparePercent:at:)`` does.
  @discardableResult
  package func extend(_ accesses: [ThumbnailAccess]) throws(StoreError) -> Set<ContentKey> {
    try change { transaction, _ throws(StoreError) in
      try withinPinLimit(transaction) { () throws(StoreError) in
        try extend(accesses, transaction)
      }
    }
  }

  private func extend(
    _ accesses: [ThumbnailAccess], _ transaction: borrowing Transaction
  ) throws(StoreError) -> Set<ContentKey> {
    var missing: Set<ContentKey> = []
    var counts = PinCounts()
    for access in accesses {
      if access.extends { try tables.extend(access, transaction) }
      let jobs = access.retention.pins
      if !jobs.isEmpty,
        try !tables.pin(access.key, for: jobs, at: access.moment, &counts, transaction)
      {
        missing.insert(access.key)
      }
    }
    try tables.add(counts, transaction)
    return missing
  }

  /// Runs `body`, which may pin records.
  ///
  /// - Throws: ``StoreError/Reason/pinned`` if it has pinned more than the budget permits beside what was
  ///   pinned before, or than a full disk leaves of it; ``StoreError/Reason/tooLarge`` if it is more than the
  ///   budget of the settings by itself.
  private func withinPinLimit<Result>(
    _ transaction: borrowing Transaction, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let before = try tables.pinTotals(transaction).byteCount
    let result = try body()
    let after = try tables.pinTotals(transaction).byteCount
    guard after > before else { return result }
    let budget = try budget
    guard after > StoreReport.pinLimit(of: budget.effectiveByteCount) else { return result }
    let isTooLarge = after - before > StoreReport.pinLimit(of: budget.configuredByteCount)
    throw StoreError(
      isTooLarge ? .largerThanBudget : .pinned,
      operation: "pin, beside \(before) pinned bytes", isOfDisk: budget.isLimitedByDisk)
  }

  // MARK: - Pins

  /// Removes the pins of a job from records. Skips removed ones.
  package func unpin(_ keys: [ContentKey], for job: JobID) throws(StoreError) {
    try change { transaction, _ throws(StoreError) in
      var counts = PinCounts()
      for key in keys { try tables.unpin(key, for: job, &counts, transaction) }
      try tables.add(counts, transaction)
    }
  }

  /// Removes a part of the pins of a job.
  ///
  /// - Parameter cursor: a new one for the first part, and later that of the last call.
  /// - Returns: whether the job pins nothing any more.
  package func unpinPart(
    of job: JobID, at cursor: inout PinCursor
  ) throws(StoreError) -> Bool {
    try change { transaction, _ throws(StoreError) in
      try tables.unpinAll(of: job, at: &cursor, limit: Self.expiredBatchCount, transaction)
    }
  }

  /// Renews records: all of them or, if it throws, none.
  ///
  /// - Returns: whether all of them exist.
  /// - Throws: ``StoreError/Reason/pinned`` as ``put(_:extending:sparePercent:at:)`` does.
  package func renew(_ renewals: [Renewal], at now: WallTime) throws(StoreError) -> Bool {
    let keys = Set(renewals.map(\.record.id))
    return try change(makingRoomFor: Eviction.Newcomers(keys: keys, arrival: now)) {
      transaction, counters throws(StoreError) in
      try withinPinLimit(transaction) { () throws(StoreError) in
        var renewedCount = 0
        for renewal in renewals
        where try tables.renew(renewal, at: now, transaction, counting: &counters) {
          renewedCount += 1
        }
        return renewedCount == renewals.count
      }
    }
  }

  // MARK: - Removing

  /// - Returns: the number of existing records.
  package func remove(_ keys: [ContentKey]) throws(StoreError) -> Int {
    try change { transaction, _ throws(StoreError) in
      var removedCount = 0
      for key in keys where try tables.remove(key, transaction) { removedCount += 1 }
      return removedCount
    }
  }

  /// Removes the given records that are still stale. A fresh thumbnail that another process has
  /// stored since the look-up stays.
  ///
  /// - Returns: the number of removed records.
  @discardableResult
  package func removeStale(_ keys: [ContentKey], at now: WallTime) throws(StoreError) -> Int {
    try change { transaction, counters throws(StoreError) in
      var removedCount = 0
      for key in keys {
        guard let staleness = try tables.staleness(of: key, at: now, transaction) else { continue }
        counters.countRemoval(of: staleness)
        if try tables.remove(key, transaction) { removedCount += 1 }
      }
      return removedCount
    }
  }

  /// Removes expired thumbnails, the oldest expiry first, and all expired partial bodies and abandoned
  /// contents.
  ///
  /// - Parameter limit: the maximum number of thumbnails. Other writers wait meanwhile, so callers
  ///   that remove all use ``expiredBatchCount``.
  /// - Returns: the number of removed thumbnails; fewer than `limit` if none is left.
  package func removeExpired(at now: WallTime, limit: Int) throws(StoreError) -> Int {
    try change { transaction, counters throws(StoreError) in
      try tables.removeExpiredPartials(at: now, transaction)
      try tables.removeAbandonedChunks(at: now, transaction)
      return try tables.removeExpired(at: now, limit: limit, transaction, counting: &counters)
    }
  }

  /// The number of expired records to remove in one transaction, so that other writers wait only
  /// briefly.
  package static let expiredBatchCount = 256

  /// Removes everything in one transaction. The file keeps its size with free pages.
  /// ``SharedStore/reset()`` also frees the disk space.
  func reset() throws(StoreError) {
    try change { transaction, _ throws(StoreError) in
      try tables.clear(transaction)
    }
  }

  /// Runs `body` as the only writer of all processes, evicts records beyond the budget, commits,
  /// and adds the counters. After the commit the store is within its budget. After a reduction of
  /// the budget, it shrinks in several changes.
  ///
  /// Clears killed readers first, so that this change can reuse the pages that they pinned. This
  /// costs one system call for each reading process, which is little compared to a commit.
  ///
  /// - Parameters:
  ///   - newcomers: the records that `body` stores; `nil` if it stores none.
  ///   - byteCountToFree: the bytes by which the store must shrink, if it has so many.
  /// - Throws: ``StoreError/Reason/replaced`` before any write, if another process has replaced the
  ///   store while this one waited.
  func change<Result>(
    makingRoomFor newcomers: Eviction.Newcomers? = nil, freeing byteCountToFree: Int64 = 0,
    _ body: (borrowing Transaction, inout CacheStatistics.Counters) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    var counters = CacheStatistics.Counters()
    try checkReaders()
    var chances: Set<ContentKey> = []
    let result = try environment.write { transaction throws(StoreError) in
      guard !environment.isDetached else { throw StoreError(.replaced, operation: "writing") }
      let byteCountBefore = try tables.occupiedByteCount(transaction)
      let result = try body(transaction, &counters)
      let budget = try budget
      let eviction = Eviction(
        tables: tables, accessBits: accessBits, newcomers: newcomers, budget: budget,
        byteCountToFree: byteCountToFree, byteCountBefore: byteCountBefore,
        pinnedByteCount: try tables.pinTotals(transaction).byteCount)
      chances = try eviction.run(transaction, counting: &counters)
      return result
    }
    accessBits?.add(counters)
    // Only after the commit, so that a failed change uses up no second chance.
    for key in chances { accessBits?.clear(for: key) }
    return result
  }

  /// The maximum size of the store now. Half of the map is a further limit, because a commit needs
  /// pages beside those in use, for copies and for lists of free pages.
  var budget: StoreBudget {
    get throws(StoreError) {
      StoreBudget(
        configuredByteCount: min(
          budgetByteCount ?? .max, Int64(try environment.mapByteCount) / 2),
        fileByteCount: try environment.dataFile.byteCount(), disk: environment.dataFile.diskSpace)
    }
  }
}

/// Partial bodies of interrupted downloads. Each is kept for an hour. Together they take at most an
/// eighth of the budget.
extension ThumbnailStore {
  /// Stores a partial body, and replaces an earlier one of its picture. If all together exceed
  /// their limit, the oldest ones are removed. A single one beyond the limit is truncated.
  ///
  /// - Throws: ``StoreError/Reason/full`` if the disk or the map is full.
  package func putPartial(
    _ partial: StoredPartial, bytes: [UInt8], at now: WallTime
  ) throws(StoreError) {
    let key = ContentKey(partialOfRecord: partial.url)
    let allowance = ThumbnailTables.partialAllowance(ofBudget: try budget.effectiveByteCount)
    try change { transaction, _ throws(StoreError) in
      try tables.putPartial(
        partial, bytes: bytes, key: key, at: now, allowanceByteCount: allowance, transaction)
    }
  }

  /// Calls `body` with the partial body of a picture in the map; `nil` if there is no intact,
  /// unexpired one. `body` must be short and must not use a store.
  package func withPartial<Result>(
    of name: PictureName, at now: WallTime, _ body: (StoredPartial, Span<UInt8>) -> Result
  ) throws(StoreError) -> Result? {
    let key = ContentKey(partialOf: name)
    let found = try environment.read { transaction throws(StoreError) in
      try transaction.withValue(of: key.bytes, in: tables.partials) { record in
        PartialRecord.withPartial(in: record, key: key, at: now, body)
      }
    }
    return found ?? nil
  }

  /// - Returns: the number of existing ones.
  @discardableResult
  package func removePartials(of names: [PictureName]) throws(StoreError) -> Int {
    let keys = names.map { ContentKey(partialOf: $0) }
    return try change { transaction, _ throws(StoreError) in
      var removedCount = 0
      for key in keys where try tables.removePartial(key, transaction) { removedCount += 1 }
      return removedCount
    }
  }
}

extension CacheRecord {
  func isExpired(at now: WallTime) -> Bool {
    expiryTime <= now
  }

  /// The thumbnail's facts after an access; `nil` if it changes nothing. An access never shortens
  /// the expiry.
  ///
  /// A sliding expiry moves after more than a tenth of the lifetime, so that frequent accesses do
  /// not write the thumbnail each time.
  ///
  /// - Parameters:
  ///   - retention: the requested retention, with durations counted from the download.
  ///   - now: the time of the access, before the expiry.
  package func extended(by retention: Retention, at now: WallTime) -> CacheRecord? {
    var extended = self
    let longer = max(lifetime, retention.sliding)
    extended.lifetime = longer
    extended.expiryTime = max(expiryTime, retention.expiresAt(storedAt: storageTime))
    let moved = now.advanced(by: longer)
    // Most have no such lifetime, and a division of durations is slow.
    let step = longer > .zero ? longer / 10 : .zero
    if extended.expiryTime.duration(to: moved) > step { extended.expiryTime = moved }
    let isSame = extended.expiryTime == expiryTime && longer == lifetime
    return isSame ? nil : extended
  }
}

/// A thumbnail or an original to store.
package struct NewThumbnail: Sendable {
  package let key: ContentKey
  package let url: String
  package let thumbnail: Thumbnail
  package let source: SourcePicture
  /// Its durations count from the time of storage.
  package private(set) var retention: Retention
  package let terms: ReuseTerms
  /// Another record, which is removed when this one is stored.
  let replaced: ContentKey?
  /// An original of the same URL and of an earlier body, which is removed if it is spare.
  let outdated: ContentKey?
  /// Whether it is evicted before the records that are not spare, and within a share of its own; `nil` for
  /// what the record is that it replaces. It never makes one spare that was not.
  package let isSpare: Bool?
  /// The encoded picture.
  package let content: NewContent

  /// - Parameters:
  ///   - terms: the terms of the response; none for a local picture.
  ///   - replaced: a record of the same URL that belongs to the previous picture.
  ///   - outdated: an original of the same URL and of an earlier body, which is removed if it is spare.
  ///   - isSpare: whether it is evicted before others; `nil` for what the record is that it replaces.
  /// - Precondition: the content has the length in `thumbnail`.
  package init(
    key: ContentKey, url: String, thumbnail: Thumbnail, source: SourcePicture, retention: Retention,
    terms: ReuseTerms = .none, replaces replaced: ContentKey? = nil,
    outdates outdated: ContentKey? = nil, isSpare: Bool? = false, content: NewContent
  ) {
    precondition(content.byteCount == thumbnail.byteCount, "the length differs from the facts")
    self.key = key
    self.url = url
    self.thumbnail = thumbnail
    self.source = source
    self.retention = retention
    self.terms = terms
    self.replaced = replaced
    self.outdated = outdated
    self.isSpare = isSpare
    self.content = content
  }

  /// - Parameter bytes: the encoded picture.
  /// - Precondition: `bytes` has the length in `thumbnail`.
  package init(
    key: ContentKey, url: String, thumbnail: Thumbnail, source: SourcePicture, retention: Retention,
    terms: ReuseTerms = .none, replaces replaced: ContentKey? = nil, bytes: [UInt8]
  ) {
    self.init(
      key: key, url: url, thumbnail: thumbnail, source: source, retention: retention,
      terms: terms, replaces: replaced, content: .bytes(bytes))
  }

  /// The same, pinned by no job.
  package var withoutPins: NewThumbnail {
    var unpinned = self
    unpinned.retention = retention.withoutPins
    return unpinned
  }
}

/// The result of a look-up.
package enum StoreLookup: Hashable, Sendable {
  case hit(CacheRecord)
  /// An unusable record, which counts as a miss. A writer removes it with
  /// ``ThumbnailStore/removeStale(_:at:)``.
  case stale(Staleness)
  case miss

  /// Why a record is unusable.
  package enum Staleness: Hashable, Sendable {
    case expired
    /// It fails its checksum, or its version or lengths are wrong.
    case corrupt
  }
}

/// An access to a stored thumbnail that may extend its expiry, as `CacheRecord.extended(by:at:)` says.
package struct ThumbnailAccess: Sendable {
  package let key: ContentKey
  /// The retention that the request asks for.
  package let retention: Retention
  /// When the thumbnail was found, before its expiry.
  let moment: WallTime
  /// Whether the record may have to be kept for longer. Otherwise it is only pinned.
  let extends: Bool

  package init(
    key: ContentKey, retention: Retention, at moment: WallTime, extends: Bool = true
  ) {
    self.key = key
    self.retention = retention
    self.moment = moment
    self.extends = extends
  }

  /// The same, pinned by no job.
  package var withoutPins: ThumbnailAccess {
    ThumbnailAccess(key: key, retention: retention.withoutPins, at: moment, extends: extends)
  }
}
