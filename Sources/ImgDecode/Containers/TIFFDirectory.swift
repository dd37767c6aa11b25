/// The first directory of a TIFF file (TIFF 6.0 section 2), as far as its entries are small
/// numbers. EXIF metadata is such a file, too.
struct TIFFDirectory {
  /// By tag, the first value of each entry of type BYTE, SHORT or LONG.
  let firstValues: [Int: Int]

  /// Directories have a few dozen entries.
  private static let maximumEntryCount = 4_096
  private static let entryByteCount = 12

  /// - Parameter read: the bytes of the file from an offset on, so many; `nil` where it has not got
  ///   them all.
  /// - Returns: `nil` when that is no such file. BigTIFF, with its wider numbers, is none.
  init?(_ read: (_ offset: Int, _ byteCount: Int) -> [UInt8]?) {
    guard let start = read(0, 8), let order = ByteOrder(start), order.number(start[2..<4]) == 42,
      let countBytes = read(order.number(start[4..<8]), 2)
    else { return nil }
    let offset = order.number(start[4..<8]) + 2
    let count = min(order.number(countBytes[...]), Self.maximumEntryCount)
    guard let entries = read(offset, count * Self.entryByteCount) else { return nil }
    var values: [Int: Int] = [:]
    for start in stride(from: 0, to: entries.count, by: Self.entryByteCount) {
      let entry = entries[start..<start + Self.entryByteCount]
      guard let width = Self.byteCount(ofType: order.number(entry.dropFirst(2).prefix(2))) else {
        continue
      }
      let tag = order.number(entry.prefix(2))
      let valueCount = order.number(entry.dropFirst(4).prefix(4))
      // Tags are unique; of a file that repeats one, the first counts, as in most readers.
      guard valueCount > 0, values[tag] == nil else { continue }
      var field = Array(entry.suffix(4))
      // Four bytes hold the values themselves, or say where they are.
      if valueCount > 4 / width {
        guard let first = read(order.number(field[...]), width) else { continue }
        field = first
      }
      values[tag] = order.number(field.prefix(width))
    }
    firstValues = values
  }

  private static func byteCount(ofType type: Int) -> Int? {
    switch type {
    case 1: 1
    case 3: 2
    case 4: 4
    default: nil
    }
  }
}

private enum ByteOrder {
  case littleEndian, bigEndian

  init?(_ start: [UInt8]) {
    switch start.prefix(2) {
    case [0x49, 0x49]: self = .littleEndian
    case [0x4D, 0x4D]: self = .bigEndian
    default: return nil
    }
  }

  func number(_ bytes: ArraySlice<UInt8>) -> Int {
    switch self {
    case .littleEndian: bytes.reversed().reduce(0) { $0 << 8 | Int($1) }
    case .bigEndian: bytes.reduce(0) { $0 << 8 | Int($1) }
    }
  }
}
