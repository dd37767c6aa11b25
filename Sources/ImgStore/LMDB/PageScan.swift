import ImgSystem

/// Reads the entries of an LMDB data file without LMDB, whose calls would end the process on many
/// kinds of damage.
///
/// It reads every page as a leaf, independent of its header and of other pages. The user recognises
/// real entries by a checksum. So damage to one page loses only the content of that page. Free
/// pages are read, too, so entries come in no order, and some are outdated.
///
/// The layout is that of LMDB 0.9 with 64-bit words (`MDB_page` and `MDB_node` in its source):
///
/// | of a page | bytes |
/// |---|---|
/// | header | 16 |
/// | offsets of entries | 2 each |
/// | entries, from the end down | |
///
/// | of an entry | bytes |
/// |---|---|
/// | byte count of the value | 4 |
/// | flags; 1 for a value on pages of its own, whose number is in the entry | 2 |
/// | byte count of the key | 2 |
/// | key and value | |
final class PageScan {
  private let file: OwnedDescriptor
  let byteCount: Int

  private static let pageByteCount = ThisProcess.pageByteCount
  private static let headerByteCount = 16
  private static let entryHeaderByteCount = 8
  private static let isOnOwnPages: UInt16 = 1

  /// - Parameter directory: the directory of an environment.
  init(of directory: String) throws(SystemError) {
    let file = try FileIO.open(readingFrom: directory + "/data.mdb")
    byteCount = try FileStatus(of: file.rawValue).byteCount
    self.file = file
  }

  /// The place of a value in the file.
  struct Place {
    let offset: Int
    let byteCount: Int
  }

  /// The bytes at a place; fewer if the file ends before or cannot be read.
  func bytes(at place: Place) -> [UInt8] {
    let range = place.offset..<place.offset + place.byteCount
    return (try? FileIO.contents(of: file.rawValue, in: range)) ?? []
  }

  /// Calls `body` with each possible entry: its key and the place of its value.
  ///
  /// - Parameter isKey: whether a byte count can be that of a key.
  func forEachEntry(
    whereKeyByteCount isKey: (Int) -> Bool, _ body: (_ key: [UInt8], _ value: Place) -> Void
  ) {
    for page in stride(from: 0, to: byteCount, by: Self.pageByteCount) {
      let bytes = bytes(at: Place(offset: page, byteCount: Self.pageByteCount))
      let span = bytes.span
      var offsetsEnd = span.count
      var next = Self.headerByteCount
      // The offsets end at the first entry at the latest.
      while next + 2 <= offsetsEnd {
        let offset = Int(span.littleEndian(at: next, as: UInt16.self))
        next += 2
        guard offset >= next, offset + Self.entryHeaderByteCount <= span.count else { continue }
        let keyByteCount = Int(span.littleEndian(at: offset + 6, as: UInt16.self))
        let value = offset + Self.entryHeaderByteCount + keyByteCount
        guard isKey(keyByteCount), value <= span.count else { continue }
        guard let place = Self.value(of: offset, at: value, in: span, page: page) else { continue }
        offsetsEnd = min(offsetsEnd, offset)
        body(Array(bytes[offset + Self.entryHeaderByteCount..<value]), place)
      }
    }
  }

  private static func value(
    of entry: Int, at start: Int, in page: Span<UInt8>, page pageOffset: Int
  ) -> Place? {
    let byteCount = Int(page.littleEndian(at: entry, as: UInt32.self))
    guard page.littleEndian(at: entry + 4, as: UInt16.self) & isOnOwnPages != 0 else {
      guard byteCount <= page.count - start else { return nil }
      return Place(offset: pageOffset + start, byteCount: byteCount)
    }
    guard start + MemoryLayout<UInt64>.size <= page.count else { return nil }
    let (offset, overflow) = Int(clamping: page.littleEndian(at: start, as: UInt64.self))
      .multipliedReportingOverflow(by: pageByteCount)
    return overflow ? nil : Place(offset: offset + headerByteCount, byteCount: byteCount)
  }
}
