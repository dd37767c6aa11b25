import ImgSystem

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
  private static let magic: UInt32 = 0xBEEF_C0DE
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
