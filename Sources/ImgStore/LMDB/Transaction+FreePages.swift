extension Transaction {
  /// The number of free pages (`mdb_stat.c` counts them in the same way): each entry of their table
  /// begins with a count.
  ///
  /// - Precondition: the transaction is read-only. LMDB opens no cursor on the free pages in
  ///   others.
  func freePageCount() throws(StoreError) -> Int {
    var count = 0
    try scan(.freePages) { _, list throws(StoreError) in
      guard list.count >= MemoryLayout<UInt>.size else {
        throw StoreError(.corrupted, operation: "reading the free pages")
      }
      count += Int(clamping: list.littleEndian(at: 0, as: UInt.self))
      return true
    }
    return count
  }
}
