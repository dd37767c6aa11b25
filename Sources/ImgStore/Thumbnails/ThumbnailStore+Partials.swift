package import ImgModel

/// The beginnings of bodies whose transfers broke off, for whoever fetches the pictures next. A
/// partial is kept for an hour; all together occupy at most an eighth of the budget.
extension ThumbnailStore {
  /// Stores the beginning of a body in place of any other of its picture. When all together would
  /// occupy too much, the oldest go; of one that alone would, the first part is kept.
  ///
  /// - Throws: ``StoreError/Reason/full`` when the disk is full, or the map is.
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

  /// Lends the partial of a picture straight from the map; `nil` when there is none that is sound
  /// and not too old. `body` is short and uses no store.
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

  /// - Returns: how many there were.
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
