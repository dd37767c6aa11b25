extension Environment {
  /// Reserves disk space behind the last page, so that other files cannot take it. The length of
  /// the file does not change. Later writes use the space.
  ///
  /// Costs a system call if less than half of it is left.
  ///
  /// - Parameter nextByteCount: the size of the next write, in addition.
  /// - Precondition: this thread is the only one that writes.
  /// - Throws: ``StoreError/Reason/full`` if the disk and the free pages have less than half of the
  ///   space in addition to the next write. A file system that cannot reserve space is no error.
  func reserveRoom(byteCount: Int, beside nextByteCount: Int) throws(StoreError) {
    let used = try whileMapStays { () throws(StoreError) in try dataFile.pagesByteCount() }
    let minimum = byteCount / 2 + nextByteCount
    guard dataFile.reservedByteCount(behind: used) < minimum else { return }
    do throws(StoreError) {
      try dataFile.reserve(used..<used + byteCount + nextByteCount)
    } catch {
      guard error.code == .noSpace || error.code == .quotaExceeded else { return }
      guard try dataFile.reservedByteCount(behind: used) + freeByteCount >= minimum else {
        throw error.at(directory, content: content)
      }
    }
  }

  /// The bytes of the free pages.
  var freeByteCount: Int {
    get throws(StoreError) {
      try read { transaction throws(StoreError) in
        try transaction.freePageCount() * dataFile.pageByteCount
      }
    }
  }
}
