import CLMDB
import Glibc
import ImgSystem

/// The data file, beside what its pages demand: whether it is whole, and that it becomes so.
extension Environment {
  /// How long another process may take between a commit and the completion of its file.
  private static let completionMicroseconds: useconds_t = 50_000

  /// Refuses a file that ends before its last page: to read behind its end through the map is the
  /// death of the process by SIGBUS.
  func requireCompleteFile() throws(StoreError) {
    guard try missingByteCount() > 0 else { return }
    // A writer may just have committed and not yet completed the file.
    usleep(Self.completionMicroseconds)
    let missing = try missingByteCount()
    guard missing <= 0 else { throw Self.cutOff(missing) }
  }

  /// Refuses a file that was cut off since it was opened. For readers.
  func refuseCutOffFile() throws(StoreError) {
    do throws(StoreError) {
      try whileMapStays { () throws(StoreError) in try requireCompleteFile() }
    } catch {
      throw error.at(directory, content: content)
    }
  }

  private static func cutOff(_ missingByteCount: Int) -> StoreError {
    StoreError(.cutOff, operation: "reading data.mdb, which lacks \(missingByteCount) bytes")
  }

  /// Makes a file that ends before its last page as long as its pages demand, if it lacks only
  /// pages that are free: the writer that would complete it is not there yet, or was killed. For
  /// writers: it waits for the one that is at work.
  ///
  /// - Throws: ``StoreError/Reason/damaged`` when pages are missing that hold something.
  func completeOrRefuseFile() throws(StoreError) {
    try whileMapStays { () throws(StoreError) in
      guard try missingByteCount() > 0 else { return }
      // Nobody commits, and so nobody lengthens the file any more, while this is open.
      let writer = try unsafe Transaction(environment: handle, isReadOnly: false)
      let (byteCount, missing) = (try fileByteCount(), try missingByteCount())
      guard missing > 0 else { return writer.abort() }
      // So that the list of free pages can be read, even if the pages that hold it are missing.
      try setFileByteCount(byteCount + missing)
      let (first, end) = (byteCount / pageByteCount, (byteCount + missing) / pageByteCount)
      guard areFree(first..<end) else {
        try setFileByteCount(byteCount)
        throw Self.cutOff(missing)
      }
      try check(unsafe mdb_env_sync(handle, 1), "mdb_env_sync")
      writer.abort()
    }
  }

  /// Whether all these pages, the last ones there are, are free. A list that cannot be read names
  /// none.
  private func areFree(_ pages: Range<Int>) -> Bool {
    guard let reader = try? unsafe Transaction(environment: handle, isReadOnly: true),
      let free = try? reader.freePages(from: pages.lowerBound)
    else { return false }
    return free.count == pages.count
  }

  private func setFileByteCount(_ byteCount: Int) throws(StoreError) {
    let descriptor = try descriptor()
    try StoreError.wrapping { () throws(SystemError) in
      try FileIO.setByteCount(of: descriptor, to: byteCount)
    }
  }

  /// Makes the file as long as its pages demand, after a commit.
  ///
  /// LMDB does not write pages that a transaction takes from the end and gives back before it
  /// commits, so a sound file may be shorter than the number of its pages says (`mdb_env_copy` in
  /// its source allows for that). Completed files can be told from damaged ones.
  ///
  /// That it fails, for want of room, is no failure of the commit; the next one tries again.
  func completeFile() {
    guard let missing = try? missingByteCount(), missing > 0,
      let end = try? pageByteCountInAll(), let descriptor = try? descriptor()
    else { return }
    guard (try? FileIO.allocate(end - 1..<end, of: descriptor)) != nil else { return }
    unsafe mdb_env_sync(handle, 1)
  }

  /// What the file lacks of its pages; not above 0 when it is complete.
  ///
  /// - Throws: ``StoreError/Reason/damaged`` when it lacks those that say how many there are.
  private func missingByteCount() throws(StoreError) -> Int {
    let byteCount = try fileByteCount()
    guard byteCount >= 2 * pageByteCount else {
      throw Self.cutOff(2 * pageByteCount - byteCount)
    }
    return try pageByteCountInAll() - byteCount
  }

  /// The length of the data file.
  func fileByteCount() throws(StoreError) -> Int {
    let descriptor = try descriptor()
    return try StoreError.wrapping { () throws(SystemError) in
      try FileStatus(of: descriptor).byteCount
    }
  }

  /// Bytes of all pages up to the last that was ever in use. Only the two pages at the start of the
  /// file, which `mdb_env_open` has read, are looked at.
  func pageByteCountInAll() throws(StoreError) -> Int {
    var information = unsafe MDB_envinfo()
    var statistics = MDB_stat()
    try check(unsafe mdb_env_info(handle, &information), "mdb_env_info")
    try check(unsafe mdb_env_stat(handle, &statistics), "mdb_env_stat")
    let (byteCount, overflow) = (unsafe information.me_last_pgno)
      .addingReportingOverflow(1).partialValue
      .multipliedReportingOverflow(by: Int(statistics.ms_psize))
    guard !overflow else { throw StoreError(.corrupted, operation: "reading the last page") }
    return byteCount
  }

  func descriptor() throws(StoreError) -> CInt {
    var descriptor: CInt = -1
    try check(unsafe mdb_env_get_fd(handle, &descriptor), "mdb_env_get_fd")
    return descriptor
  }
}
