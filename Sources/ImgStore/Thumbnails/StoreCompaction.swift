/// The sizes of the data file before and after a compaction.
package struct StoreCompaction: Hashable, Sendable {
  package let byteCountBefore: Int64
  package let byteCountAfter: Int64
}

extension ThumbnailStore {
  /// Replaces this store by a copy without free pages. This store is then detached. Readers and
  /// writers continue meanwhile, see ``Environment/replaceByCopy(in:_:)``.
  ///
  /// - Throws: ``StoreError/Reason/full`` if the disk has no space for the copy. After any error
  ///   the store is unchanged.
  func compact() throws(StoreError) -> StoreCompaction {
    guard let compaction = try compact(isWaiting: true) else {
      throw StoreError(.replaced, operation: "compacting", path: environment.directory)
    }
    return compaction
  }

  /// Compacts the store.
  ///
  /// - Parameter isWaiting: whether to wait for another process that is replacing the store.
  /// - Returns: `nil` if another process has replaced the store or is replacing it.
  func compact(isWaiting: Bool) throws(StoreError) -> StoreCompaction? {
    // The process that held the lock before may have compacted it.
    guard let replacement = try StoreReplacement(of: environment.directory, isWaiting: isWaiting),
      !isDetached
    else { return nil }
    replacement.removeSpare()
    // Removes the failed copy or the replaced store.
    defer { replacement.removeSpare() }
    let before = try environment.dataFile.byteCount()
    var after = 0
    try environment.replaceByCopy(in: replacement.spareDirectory) { () throws(StoreError) in
      after = EnvironmentFiles(in: replacement.spareDirectory).dataByteCount
      try replacement.exchange()
    }
    return StoreCompaction(byteCountBefore: Int64(before), byteCountAfter: Int64(after))
  }

  /// Replaces this store by an empty one. This store is then detached. Access bits and counters
  /// stay, unless the disk has no space for the empty store beside this one. Then this store is
  /// removed, and the next writer creates another.
  func replaceByEmpty() throws(StoreError) {
    let directory = environment.directory
    guard let replacement = try StoreReplacement(of: directory), !isDetached else {
      throw StoreError(.replaced, operation: "resetting", path: directory)
    }
    replacement.removeSpare()
    defer { replacement.removeSpare() }
    // Another writer's transaction ends before this, or finds the store replaced.
    try environment.whileOnlyWriter { snapshot throws(StoreError) in
      let budgetByteCount = try tables.budgetByteCount(snapshot)
      do throws(StoreError) {
        try Self.createEmpty(in: replacement.spareDirectory, budgetByteCount: budgetByteCount)
        try replacement.exchange()
      } catch {
        guard error.reason == .full else { throw error }
        try replacement.removeStore()
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

  /// Whether a compaction would shrink the file considerably: the file exceeds both its budget and
  /// its content by half. Without long readers, free pages take less than that.
  ///
  /// Costs one system call if the file is smaller than its budget.
  ///
  /// - Parameter byteCount: a smaller file is not overgrown.
  func isOvergrown(beyond byteCount: Int) -> Bool {
    guard let budgetByteCount, let fileByteCount = try? environment.dataFile.byteCount(),
      fileByteCount >= byteCount,
      fileByteCount > Self.overgrownByteCount(of: budgetByteCount),
      let summary = try? summary()
    else { return false }
    return fileByteCount > Self.overgrownByteCount(of: summary.occupiedByteCount)
  }

  /// The constant covers the preallocated space, which dominates a tiny store.
  private static func overgrownByteCount(of byteCount: Int64) -> Int64 {
    let (half, overflow) = byteCount.addingReportingOverflow(byteCount / 2 + 1 << 20)
    return overflow ? .max : half
  }
}
