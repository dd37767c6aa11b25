extension Transaction {
  /// The number of free pages.
  ///
  /// - Precondition: the transaction is read-only. LMDB opens no cursor on the free pages in
  ///   others.
  func freePageCount() throws(StoreError) -> Int {
    var count = 0
    try scanFreeLists { _, listedCount in count += listedCount }
    return count
  }

  /// The free pages from number `first` on.
  ///
  /// - Precondition: as for ``freePageCount()``.
  func freePages(from first: Int) throws(StoreError) -> Set<UInt> {
    var pages: Set<UInt> = []
    try scanFreeLists { list, listedCount throws(StoreError) in
      let size = MemoryLayout<UInt>.size
      guard list.count / size > listedCount else {
        throw StoreError(.corrupted, operation: "reading the free pages")
      }
      for index in 0..<listedCount {
        let page = list.littleEndian(at: (index + 1) * size, as: UInt.self)
        if page >= UInt(first) { pages.insert(page) }
      }
    }
    return pages
  }

  /// Calls `body` with each list of free pages: their count, then their numbers (`mdb_stat.c`
  /// counts them in the same way).
  private func scanFreeLists(
    _ body: (_ list: Span<UInt8>, _ listedCount: Int) throws(StoreError) -> Void
  ) throws(StoreError) {
    try scan(.freePages) { _, list throws(StoreError) in
      guard list.count >= MemoryLayout<UInt>.size else {
        throw StoreError(.corrupted, operation: "reading the free pages")
      }
      try body(list, Int(clamping: list.littleEndian(at: 0, as: UInt.self)))
      return true
    }
  }
}
