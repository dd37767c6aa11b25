/// A TIFF file (TIFF 6.0 section 2) or BigTIFF file, which EXIF metadata is, too.
package struct TIFFFile {
  let window: ByteWindow
  package let order: ByteOrder
  /// Whether offsets and counts have 64 bits.
  package let isBig: Bool
  package let firstDirectoryOffset: Int

  /// Directories have a few dozen entries.
  private static let maximumEntryCount = 4_096

  /// - Returns: `nil` when that is no such file.
  package init?(_ window: ByteWindow) throws(FactsError) {
    guard let start = try window.bytes(at: 0, count: 8) else { return nil }
    switch start.prefix(2) {
    case [0x49, 0x49]: order = .littleEndian
    case [0x4D, 0x4D]: order = .bigEndian
    default: return nil
    }
    let fields = BinaryFields(start, order)
    switch fields.u16(2) {
    case 42:
      isBig = false
      firstDirectoryOffset = fields.u32(4)
    case 43:
      isBig = true
      guard let offset = try window.fieldsIfInside(at: 8, count: 8, order: order) else {
        return nil
      }
      firstDirectoryOffset = offset.u64(0)
    default: return nil
    }
    self.window = window
  }

  /// - Returns: `nil` when a part of it lies outside of the window.
  package func directory(at offset: Int) throws(FactsError) -> TIFFDirectory? {
    guard let head = try window.fieldsIfInside(at: offset, count: countSize, order: order) else {
      return nil
    }
    let count = min(head.unsigned(0, count: countSize), Self.maximumEntryCount)
    guard
      let fields = try window.fieldsIfInside(
        at: offset + countSize, count: count * entrySize, order: order)
    else { return nil }
    let entries = (0..<count).map { index in
      TIFFEntry(fields, at: index * entrySize, isBig: isBig)
    }
    return TIFFDirectory(
      file: self, entries: entries, endOffset: offset + countSize + count * entrySize)
  }

  /// The directory behind another one; `nil` for none.
  func offset(after directory: TIFFDirectory) throws(FactsError) -> Int? {
    try nextOffset(at: directory.endOffset)
  }

  /// The same without a look at the entries.
  func offset(afterDirectoryAt offset: Int) throws(FactsError) -> Int? {
    guard let head = try window.fieldsIfInside(at: offset, count: countSize, order: order) else {
      return nil
    }
    let count = min(head.unsigned(0, count: countSize), Self.maximumEntryCount)
    return try nextOffset(at: offset + countSize + count * entrySize)
  }

  private func nextOffset(at place: Int) throws(FactsError) -> Int? {
    let size = isBig ? 8 : 4
    let next = try window.fieldsIfInside(at: place, count: size, order: order)
    guard let offset = next?.unsigned(0, count: size), offset > 0 else { return nil }
    return offset
  }

  private var countSize: Int { isBig ? 8 : 2 }
  private var entrySize: Int { isBig ? 20 : 12 }
}

/// An entry of a directory.
package struct TIFFEntry {
  package let tag: Int
  let type: TIFFType?
  let count: Int
  /// The values themselves if they have room there, else their offset.
  fileprivate let field: BinaryFields

  fileprivate init(_ fields: BinaryFields, at start: Int, isBig: Bool) {
    tag = fields.u16(start)
    type = TIFFType(rawValue: fields.u16(start + 2))
    count = isBig ? fields.u64(start + 4) : fields.u32(start + 4)
    let place = start + (isBig ? 12 : 8)
    field = BinaryFields(Array(fields.bytes[place..<place + (isBig ? 8 : 4)]), fields.order)
  }

  /// Bytes of all values; `nil` if no file can have so many.
  var byteCount: Int? {
    guard let type, count <= ByteWindow.maximumFileByteCount / 8 else { return nil }
    return count * type.byteCount
  }
}

/// The types of values (TIFF 6.0 section 2, BigTIFF, CIPA DC-008 section 4.6.2).
enum TIFFType: Int {
  case byte = 1, ascii, short, long, rational, signedByte, undefined, signedShort, signedLong
  case signedRational, float, double, directory
  case long8 = 16, signedLong8, directory8
  case utf8 = 129

  var byteCount: Int {
    switch self {
    case .byte, .ascii, .signedByte, .undefined, .utf8: 1
    case .short, .signedShort: 2
    case .long, .signedLong, .float, .directory: 4
    case .rational, .signedRational, .double, .long8, .signedLong8, .directory8: 8
    }
  }
}

/// A directory with its entries.
package struct TIFFDirectory {
  let file: TIFFFile
  package let entries: [TIFFEntry]
  /// Where the offset of the next directory stands.
  fileprivate let endOffset: Int

  fileprivate init(file: TIFFFile, entries: [TIFFEntry], endOffset: Int) {
    (self.file, self.entries, self.endOffset) = (file, entries, endOffset)
  }

  func entry(_ tag: Int) -> TIFFEntry? { entries.first { $0.tag == tag } }

  /// The first value of the first entry of a tag that has one of type BYTE, SHORT or LONG. Tags are
  /// unique; of a file that repeats one, the first counts, as in most readers.
  package func firstNumber(_ tag: Int) throws(FactsError) -> Int? {
    for entry in entries where entry.tag == tag && entry.count > 0 {
      guard let type = entry.type,
        [.byte, .short, .long].contains(type) || type == .long8 && file.isBig
      else { continue }
      if let fields = try fields(of: entry, upTo: 1) {
        return fields.unsigned(0, count: type.byteCount)
      }
    }
    return nil
  }

  /// The first value of a tag, of type FLOAT or DOUBLE or of one that ``firstNumber(_:)`` reads.
  package func firstReal(_ tag: Int) throws(FactsError) -> Double? {
    guard let entry = entry(tag), entry.count > 0, let fields = try fields(of: entry, upTo: 1)
    else { return nil }
    switch entry.type {
    case .float:
      return Double(Float(bitPattern: UInt32(fields.number(at: 0, count: 4))))
    case .double: return Double(bitPattern: fields.number(at: 0, count: 8))
    default: return try firstNumber(tag).map { Double($0) }
    }
  }

  /// - Parameter maximumCount: of values.
  /// - Returns: the bytes of the first values; `nil` when they lie outside of the window.
  func fields(of entry: TIFFEntry, upTo maximumCount: Int) throws(FactsError) -> BinaryFields? {
    guard let type = entry.type, let whole = entry.byteCount else { return nil }
    let byteCount = min(entry.count, maximumCount) * type.byteCount
    if whole <= entry.field.count { return BinaryFields(entry.field.bytes, file.order) }
    return try file.window.fieldsIfInside(
      at: offset(of: entry), count: byteCount, order: file.order)
  }

  /// The bytes of an entry as a window; `nil` for those in the entry itself.
  func window(of entry: TIFFEntry) -> ByteWindow? {
    guard let byteCount = entry.byteCount, byteCount > entry.field.count else { return nil }
    return file.window.part(at: offset(of: entry), count: byteCount)
  }

  private func offset(of entry: TIFFEntry) -> Int {
    file.isBig ? entry.field.u64(0) : entry.field.u32(0)
  }
}
