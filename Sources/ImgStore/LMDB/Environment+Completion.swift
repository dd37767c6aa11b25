import Glibc

/// Checks that the data file contains all its pages, and completes it. Reading behind its end
/// through the map would end the process by SIGBUS.
extension Environment {
  /// How long another process may take between a commit and the completion of the file.
  private static let completionMicroseconds: useconds_t = 50_000

  /// Refuses a file that ends before its last page.
  func requireCompleteFile() throws(StoreError) {
    guard try dataFile.missingByteCount() > 0 else { return }
    // A writer may have committed and not yet completed the file.
    usleep(Self.completionMicroseconds)
    let missing = try dataFile.missingByteCount()
    guard missing <= 0 else { throw DataFile.truncated(by: missing) }
  }

  /// Refuses a file that was truncated after it was opened. For readers.
  func refuseTruncatedFile() throws(StoreError) {
    do throws(StoreError) {
      try whileMapStays { () throws(StoreError) in try requireCompleteFile() }
    } catch {
      throw error.at(directory, content: content)
    }
  }

  /// Extends a file that ends before its last page, if it lacks only free pages: the writer that
  /// would complete it has not done so yet, or was killed. For writers. Waits for the current
  /// writer.
  ///
  /// - Throws: ``StoreError/Reason/damaged`` if used pages are missing.
  func completeOrRefuseFile() throws(StoreError) {
    try whileMapStays { () throws(StoreError) in
      guard try dataFile.missingByteCount() > 0 else { return }
      // During this transaction no other process commits or extends the file.
      let writer = try begin(isReadOnly: false)
      let (byteCount, missing) = (try dataFile.byteCount(), try dataFile.missingByteCount())
      guard missing > 0 else { return writer.abort() }
      // The length of a damaged file never changes, not even for a moment: another process would
      // take the file for a complete one and read behind its end.
      let size = dataFile.pageByteCount
      let missingPages = byteCount / size..<(byteCount + missing) / size
      let free = try FreeList(of: dataFile).pages(from: missingPages.lowerBound)
      guard free?.count == missingPages.count else { throw DataFile.truncated(by: missing) }
      try dataFile.setByteCount(byteCount + missing)
      try sync()
      writer.abort()
    }
  }
}
