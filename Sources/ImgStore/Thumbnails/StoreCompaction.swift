/// What a compaction has made of a store's data file.
package struct StoreCompaction: Hashable, Sendable {
  package let byteCountBefore: Int64
  package let byteCountAfter: Int64
}

extension ThumbnailStore {
  /// Puts a copy without free pages in the place of this store, which is detached from then on.
  /// Everybody else goes on meanwhile, see ``Environment/replaceByCopy(in:_:)``.
  ///
  /// - Throws: ``StoreError/Reason/full`` when the disk has no room for the copy; then, as after any
  ///   other failure, the store is as it was.
  func compact() throws(StoreError) -> StoreCompaction {
    let directory = environment.directory
    // Whoever had the right before may have compacted it.
    guard let replacement = try StoreReplacement(of: directory), !isDetached else {
      throw StoreError(.replaced, operation: "compacting", path: directory)
    }
    replacement.removeSpare()
    // The copy that failed, or the store that was replaced.
    defer { replacement.removeSpare() }
    let before = try environment.fileByteCount()
    var after = 0
    try environment.replaceByCopy(in: replacement.spareDirectory) { () throws(StoreError) in
      after = EnvironmentFiles(in: replacement.spareDirectory).dataByteCount
      try replacement.exchange()
    }
    return StoreCompaction(byteCountBefore: Int64(before), byteCountAfter: Int64(after))
  }
}
