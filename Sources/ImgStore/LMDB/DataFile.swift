import CLMDB
import Glibc
import ImgSystem

/// The data file of an open environment: its length compared with its pages, and its disk space.
///
/// LMDB does not write pages that a transaction takes from the end and frees before it commits, so
/// an intact file may be shorter than the number of its pages says (`mdb_env_copy` in its source
/// allows for that). A writer therefore completes the file after each commit. So a file that lacks
/// pages is being completed, or is damaged.
///
/// Sendable is unchecked because of the pointer and the two positions. The pointer is constant, and
/// any thread may use it (see ``Environment``). Only the thread of the write transaction uses
/// `lastPagesByteCount`, and only the thread that writes uses `reservedEnd`.
@safe
final class DataFile: @unchecked Sendable {
  private let environment: OpaquePointer
  let pageByteCount: Int
  /// The bytes of all pages at the last ``preallocate(mapByteCount:)``.
  private var lastPagesByteCount = 0
  /// The end of the space that ``reserve(_:)`` has reserved.
  private var reservedEnd = 0

  /// The number of bytes by which the file grows at once.
  private static let stepByteCount = 256 << 10
  /// The maximum size of a small commit.
  private static let smallByteCount = 64 << 10

  /// - Parameter environment: must stay open longer than this object is used.
  init(of environment: OpaquePointer, pageByteCount: Int) {
    unsafe self.environment = environment
    self.pageByteCount = pageByteCount
  }

  func descriptor() throws(StoreError) -> CInt {
    var descriptor: CInt = -1
    try check(unsafe mdb_env_get_fd(environment, &descriptor), "mdb_env_get_fd")
    return descriptor
  }

  /// The length of the file.
  func byteCount() throws(StoreError) -> Int {
    let descriptor = try descriptor()
    return try StoreError.wrapping { () throws(SystemError) in
      try FileStatus(of: descriptor).byteCount
    }
  }

  /// The bytes of all pages up to the last one ever used. Reads only the two pages at the start of
  /// the file, which `mdb_env_open` has read.
  func pagesByteCount() throws(StoreError) -> Int {
    var information = unsafe MDB_envinfo()
    var statistics = MDB_stat()
    try check(unsafe mdb_env_info(environment, &information), "mdb_env_info")
    try check(unsafe mdb_env_stat(environment, &statistics), "mdb_env_stat")
    let (byteCount, overflow) = (unsafe information.me_last_pgno)
      .addingReportingOverflow(1).partialValue
      .multipliedReportingOverflow(by: Int(statistics.ms_psize))
    guard !overflow else { throw StoreError(.corrupted, operation: "reading the last page") }
    return byteCount
  }

  /// The bytes of pages that the file lacks; not above 0 if it is complete.
  ///
  /// - Throws: ``StoreError/Reason/damaged`` if it lacks the pages that contain their number.
  func missingByteCount() throws(StoreError) -> Int {
    let byteCount = try byteCount()
    guard byteCount >= 2 * pageByteCount else {
      throw Self.truncated(by: 2 * pageByteCount - byteCount)
    }
    return try pagesByteCount() - byteCount
  }

  static func truncated(by missingByteCount: Int) -> StoreError {
    StoreError(.truncated, operation: "reading data.mdb, which lacks \(missingByteCount) bytes")
  }

  func setByteCount(_ byteCount: Int) throws(StoreError) {
    let descriptor = try descriptor()
    try StoreError.wrapping { () throws(SystemError) in
      try FileIO.setByteCount(of: descriptor, to: byteCount)
    }
  }

  /// Extends the file to its pages after a commit.
  ///
  /// A failure, for example on a full disk, is no failure of the commit. The next commit tries
  /// again.
  func completeAfterCommit() {
    guard let missing = try? missingByteCount(), missing > 0,
      let end = try? pagesByteCount(), let descriptor = try? descriptor()
    else { return }
    guard (try? FileIO.allocate(end - 1..<end, of: descriptor)) != nil else { return }
    unsafe mdb_env_sync(environment, 1)
  }

  // MARK: - Disk space

  /// The file system of the file; `nil` if it does not report its size.
  var diskSpace: DiskSpace? {
    (try? descriptor()).flatMap { try? DiskSpace(of: $0) }
  }

  /// Writes zeros behind the last page during small commits that extend the file, so that most of
  /// them write into existing bytes. When a file becomes longer, its file system makes a commit of
  /// its own before the data counts as written: on ext4, a quarter of the wait for the commit of
  /// one thumbnail. Large commits wait longer for other things, and zeros would cost them more than
  /// they save.
  ///
  /// If there is no space, the commit that needs it reports the error.
  ///
  /// - Precondition: this thread has the write transaction, so no other process extends the file.
  func preallocate(mapByteCount: Int) {
    guard let used = try? pagesByteCount() else { return }
    let growth = used - lastPagesByteCount
    lastPagesByteCount = used
    guard growth > 0, growth <= Self.smallByteCount, let byteCount = try? byteCount(),
      // A file that lacks pages stays as it is, so that they can be determined.
      (0..<Self.smallByteCount).contains(byteCount - used),
      byteCount + Self.stepByteCount <= mapByteCount,
      let descriptor = try? descriptor()
    else { return }
    let zeros = [UInt8](repeating: 0, count: Self.stepByteCount)
    do throws(SystemError) {
      try FileIO.writeAll(descriptor, zeros.span, at: byteCount)
    } catch {
      // The last space of a disk is for data.
      try? FileIO.setByteCount(of: descriptor, to: byteCount)
    }
  }

  /// The reserved bytes behind a position.
  func reservedByteCount(behind position: Int) -> Int { max(0, reservedEnd - position) }

  /// Reserves disk space without changing the length of the file.
  ///
  /// - Precondition: this thread is the only one that writes.
  func reserve(_ range: Range<Int>) throws(StoreError) {
    let descriptor = try descriptor()
    try StoreError.wrapping { () throws(SystemError) in
      try FileIO.reserve(range, of: descriptor)
    }
    reservedEnd = range.upperBound
  }
}
