/// The number of a layout of tables and records, kept in the table `meta` of an environment.
struct SchemaVersion {
  let number: UInt32

  private static let key = Array("schema".utf8)

  /// Checks the number of an environment and writes this one in its place.
  ///
  /// - Returns: the number there was; below ``number`` the caller drops the records in the same
  ///   transaction, or throws and so leaves everything as it was. `nil` for a new environment.
  /// - Throws: ``StoreError/Reason/newerVersion`` when a newer release has been here, whose records
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

  /// Checks the number without writing.
  ///
  /// - Returns: the one there is.
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
