/// The number of a layout of tables and records, kept in the table `meta` of an environment.
struct SchemaVersion {
  let number: UInt32

  private static let key = Array("schema".utf8)

  /// Writes the number into a new environment, or checks the one that is there.
  ///
  /// - Throws: ``StoreError/Reason/newerVersion`` when a newer release has been here, whose records
  ///   this one would misread.
  func establish(
    in meta: Database, _ transaction: borrowing Transaction
  ) throws(StoreError) {
    guard try !verify(in: meta, transaction) else { return }
    var value: [UInt8] = []
    value.append(littleEndian: number)
    try transaction.put(value, for: Self.key, in: meta)
  }

  /// Checks the number without writing.
  ///
  /// - Returns: whether there was one.
  @discardableResult
  func verify(
    in meta: Database, _ transaction: borrowing Transaction
  ) throws(StoreError) -> Bool {
    let found = try transaction.withValue(of: Self.key, in: meta) { value throws(StoreError) in
      guard value.count == MemoryLayout<UInt32>.size else {
        throw StoreError(.corrupted, operation: "reading the schema version")
      }
      return value.littleEndian(at: 0, as: UInt32.self)
    }
    guard let found else { return false }
    guard found <= number else {
      throw StoreError(.versionMismatch, operation: "reading schema \(found), newer than \(number)")
    }
    return true
  }
}
