/// The version of the layout of tables and records, in the table `meta` of an environment.
struct SchemaVersion {
  let number: UInt32

  private static let key = Array("schema".utf8)

  /// Checks the version of an environment and writes this one.
  ///
  /// - Returns: the previous version; `nil` for a new environment. If it is below ``number``, the
  ///   caller drops the records in the same transaction, or throws to change nothing.
  /// - Throws: ``StoreError/Reason/newerVersion`` if a newer release has written the records, which
  ///   this one would misread.
  @discardableResult
  func establish(
    in meta: Database, _ transaction: borrowing Transaction
  ) throws(StoreError) -> UInt32? {
    let found = try verify(in: meta, transaction)
    if found != number {
      var value: [UInt8] = []
      value.append(littleEndian: number)
      try transaction.put(value, for: Self.key, in: meta)
    }
    return found
  }

  /// Checks the version without writing.
  ///
  /// - Returns: the version.
  @discardableResult
  func verify(
    in meta: Database, _ transaction: borrowing Transaction
  ) throws(StoreError) -> UInt32? {
    let found = try transaction.withValue(of: Self.key, in: meta) { value throws(StoreError) in
      guard value.count == MemoryLayout<UInt32>.size else {
        throw StoreError(.corrupted, operation: "reading the schema version")
      }
      return value.littleEndian(at: 0, as: UInt32.self)
    }
    if let found, found > number {
      throw StoreError(.versionMismatch, operation: "reading schema \(found), newer than \(number)")
    }
    return found
  }
}
