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
    guard let compaction = try compact(isWaiting: true) else {
      throw StoreError(.replaced, operation: "compacting", path: environment.directory)
    }
    return compaction
  }

  /// The same.
  ///
  /// - Parameter isWaiting: whether to wait for another process that replaces the store.
  /// - Returns: `nil` when another process has replaced it, or is doing so.
  func compact(isWaiting: Bool) throws(StoreError) -> StoreCompaction? {
    // The process that had the right before may have compacted it.
    guard let replacement = try StoreReplacement(of: environment.directory, isWaiting: isWaiting),
      !isDetached
    else { return nil }
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

  /// Puts an empty store in the place of this one, which is detached from then on. Uses and counts
  /// stay, unless the disk has no room for the empty store beside this one: then this one goes, and
  /// the next writer creates another.
  func replaceByEmpty() throws(StoreError) {
    let directory = environment.directory
    guard let replacement = try StoreReplacement(of: directory), !isDetached else {
      throw StoreError(.replaced, operation: "resetting", path: directory)
    }
    replacement.removeSpare()
    defer { replacement.removeSpare() }
    // Another writer's transaction ends before, or finds the store replaced.
    try environment.whileOnlyWriter { snapshot throws(StoreError) in
      let budgetByteCount = try tables.budgetByteCount(snapshot)
      do throws(StoreError) {
        try Self.createEmpty(in: replacement.spareDirectory, budgetByteCount: budgetByteCount)
        try replacement.exchange()
      } catch {
        guard error.reason == .full else { throw error }
        try replacement.setAside()
      }
    }
  }

  private static func createEmpty(
    in directory: String, budgetByteCount: Int64
  ) throws(StoreError) {
    var options = Environment.Options(content: .thumbnails)
    options.durability = .none
    let environment = try Environment(directory: directory, options: options)
    try environment.write { transaction throws(StoreError) in
      _ = try ThumbnailTables(creatingIn: transaction, budgetByteCount: budgetByteCount)
    }
    try environment.sync()
  }

  /// Whether a compaction would make the file much smaller: it is half as large again as its budget
  /// and as what it holds. Free pages of a store that no reader keeps from reuse take less.
  ///
  /// Costs a system call while the file is smaller.
  ///
  /// - Parameter byteCount: a smaller file is not overgrown.
  func isOvergrown(beyond byteCount: Int) -> Bool {
    guard let budgetByteCount, let fileByteCount = try? environment.fileByteCount(),
      fileByteCount >= byteCount,
      fileByteCount > Self.overgrownByteCount(of: budgetByteCount),
      let summary = try? summary()
    else { return false }
    return fileByteCount > Self.overgrownByteCount(of: summary.occupiedByteCount)
  }

  /// The constant is for the room taken ahead, which outweighs the pages of a tiny store.
  private static func overgrownByteCount(of byteCount: Int64) -> Int64 {
    let (half, overflow) = byteCount.addingReportingOverflow(byteCount / 2 + 1 << 20)
    return overflow ? .max : half
  }
}
