package import ImgModel

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
