import ImgStore

/// The care of the store as a whole.
extension LocalStore {
  /// Checks every record and every index entry.
  ///
  /// - Parameters:
  ///   - isRepairing: whether to remove defects after reporting them.
  ///   - report: is given each defect.
  /// - Returns: the number of records; `nil` if there is no store yet.
  package func verify(
    isRepairing: Bool, _ report: (CacheDefect) throws -> Void
  ) throws -> Int? {
    func check(_ store: SharedStore) throws -> Int {
      try store.verify(isRepairing: isRepairing) { try report(CacheDefect($0)) }
    }
    return try isRepairing ? withWriter(check) : reader().map { try check($0.store) }
  }

  /// Returns the unused space of the store's file to the disk.
  ///
  /// - Returns: the size of the file in bytes before and after; `nil` if there is no store yet.
  package func compact() throws -> (before: Int64, after: Int64)? {
    try withWriter { store in
      let compaction = try store.compact()
      return (compaction.byteCountBefore, compaction.byteCountAfter)
    }
  }

  /// Removes everything from the store.
  package func reset() throws {
    _ = try withWriter { store in try store.reset() }
  }

  /// Removes the store without opening it, because to read damaged files may end the process.
  ///
  /// - Returns: `false` if another process is replacing it.
  package func removeFiles() throws -> Bool {
    try SharedStore.remove(directory)
  }
}
