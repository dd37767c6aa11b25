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

/// The list of free pages in an LMDB data file, read from the file. LMDB reads it through the map,
/// and an access to the map behind the end of the file ends the process by SIGBUS.
///
/// The list is a table: an entry for each transaction, whose value has the count of the pages that
/// it freed, then their numbers. The layout is that of LMDB 0.9 with 64-bit words (`MDB_meta`,
/// `MDB_db`, `MDB_page` and `MDB_node` in its source):
///
/// | of the file | bytes |
/// |---|---|
/// | pages 0 and 1: header, then magic (4), version (4), address and size of the map (8 each), the tables of free pages and of named tables (48 each, the root's page number at 40), the last page (8), the transaction's number (8) | |
/// | page header: number (8), padding (2), flags (2), end of the entries' offsets (2) | 16 |
/// | entry of a branch: number of a page (6), byte count of the key (2), key | |
/// | entry of a leaf: byte count of the value (4), flags (2), byte count of the key (2), key, value or its first page | |
struct FreeList {
  private let descriptor: CInt
  private let pageByteCount: Int
  /// Of the file. A damaged tree may lead to the same page again and again.
  private let maximumPageCount: Int

  private static let headerByteCount = 16
  private static let entryHeaderByteCount = 8
  /// Of each file of LMDB.
  static let magic: UInt32 = 0xBEEF_C0DE
  private static let noPage = UInt64.max
  private static let rootOffset = headerByteCount + 24 + 40
  private static let transactionOffset = headerByteCount + 24 + 2 * 48 + 8

  private enum PageFlags {
    static let branch: UInt16 = 1
    static let leaf: UInt16 = 2
    static let isOnOwnPages: UInt16 = 1
  }

  /// - Precondition: no other process commits while this is used.
  init(of file: DataFile) throws(StoreError) {
    descriptor = try file.descriptor()
    pageByteCount = file.pageByteCount
    maximumPageCount = try file.byteCount() / pageByteCount
  }

  /// The free pages from number `first` on; `nil` if the file lacks a part of the list, or the list
  /// is damaged.
  func pages(from first: Int) -> Set<UInt64>? {
    guard let root else { return nil }
    guard root != Self.noPage else { return [] }
    var free: Set<UInt64> = []
    var rest = [root]
    var readPageCount = 0
    while let number = rest.popLast() {
      readPageCount += 1
      guard readPageCount <= maximumPageCount, let page = page(number),
        let entries = Self.entries(of: page)
      else { return nil }
      switch page.span.littleEndian(at: 10, as: UInt16.self) {
      case PageFlags.branch:
        rest += entries.map { page.span.littleEndian(at: $0, as: UInt64.self) & 0xFFFF_FFFF_FFFF }
      case PageFlags.leaf:
        for entry in entries {
          guard let list = value(of: entry, in: page), Self.add(list, from: first, to: &free) else {
            return nil
          }
        }
      default: return nil
      }
    }
    return free
  }

  /// The first page of the table in the latest transaction; `nil` if the file has none.
  private var root: UInt64? {
    let headers = [0, 1].compactMap { page($0) }.filter {
      $0.span.littleEndian(at: Self.headerByteCount, as: UInt32.self) == Self.magic
    }
    let latest = headers.max {
      $0.span.littleEndian(at: Self.transactionOffset, as: UInt64.self)
        < $1.span.littleEndian(at: Self.transactionOffset, as: UInt64.self)
    }
    return latest?.span.littleEndian(at: Self.rootOffset, as: UInt64.self)
  }

  private func page(_ number: UInt64) -> [UInt8]? {
    bytes(ofPage: number, from: 0, byteCount: pageByteCount)
  }

  private func bytes(ofPage number: UInt64, from start: Int, byteCount: Int) -> [UInt8]? {
    guard number < maximumPageCount else { return nil }
    let offset = Int(number) * pageByteCount + start
    let bytes = try? FileIO.contents(of: descriptor, in: offset..<offset + byteCount)
    return bytes.flatMap { $0.count == byteCount ? $0 : nil }
  }

  /// The offsets of a page's entries, each with its header within the page.
  private static func entries(of page: [UInt8]) -> [Int]? {
    let end = Int(page.span.littleEndian(at: 12, as: UInt16.self))
    guard (headerByteCount...page.count).contains(end) else { return nil }
    let offsets = stride(from: headerByteCount, to: end - 1, by: 2).map {
      Int(page.span.littleEndian(at: $0, as: UInt16.self))
    }
    return offsets.allSatisfy { $0 + entryHeaderByteCount <= page.count } ? offsets : nil
  }

  /// The value of a leaf's entry.
  private func value(of entry: Int, in page: [UInt8]) -> [UInt8]? {
    let header = page.span
    let byteCount = Int(header.littleEndian(at: entry, as: UInt32.self))
    let start =
      entry + Self.entryHeaderByteCount + Int(header.littleEndian(at: entry + 6, as: UInt16.self))
    guard header.littleEndian(at: entry + 4, as: UInt16.self) & PageFlags.isOnOwnPages != 0 else {
      return start + byteCount <= page.count ? Array(page[start..<start + byteCount]) : nil
    }
    guard start + MemoryLayout<UInt64>.size <= page.count,
      byteCount <= maximumPageCount * pageByteCount
    else { return nil }
    return bytes(
      ofPage: header.littleEndian(at: start, as: UInt64.self), from: Self.headerByteCount,
      byteCount: byteCount)
  }

  /// - Returns: `false` if the list is shorter than its count.
  private static func add(_ list: [UInt8], from first: Int, to free: inout Set<UInt64>) -> Bool {
    let size = MemoryLayout<UInt64>.size
    guard list.count >= size,
      list.span.littleEndian(at: 0, as: UInt64.self) <= list.count / size - 1
    else { return false }
    for index in 0..<Int(list.span.littleEndian(at: 0, as: UInt64.self)) {
      let page = list.span.littleEndian(at: (index + 1) * size, as: UInt64.self)
      if page >= UInt64(first) { free.insert(page) }
    }
    return true
  }
}
