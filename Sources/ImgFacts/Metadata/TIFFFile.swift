import ImgModel

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

  /// Where the directories of the pages begin, which are chained. One that refers to an earlier one ends
  /// the chain.
  func directoryOffsets() throws(FactsError) -> [Int] {
    var offsets = [firstDirectoryOffset]
    var seen = Set(offsets)
    while let next = try offset(afterDirectoryAt: offsets[offsets.count - 1]),
      seen.insert(next).inserted
    {
      guard offsets.count < FactsLimits.maximumFrameCount else { throw FactsLimits.tooManyFrames }
      offsets.append(next)
    }
    return offsets
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

extension TIFFDirectory {
  /// The entries that a table names, by their names. Of a tag that comes twice the first counts.
  func facts(_ tags: [Int: EXIFTag]) throws(FactsError) -> [String: FactValue] {
    var facts: [String: FactValue] = [:]
    for entry in entries {
      guard let tag = tags[entry.tag], facts[tag.name] == nil else { continue }
      facts[tag.name] = try value(of: entry, as: tag.kind)
    }
    return facts
  }

  private func value(of entry: TIFFEntry, as kind: EXIFTag.Kind) throws(FactsError) -> FactValue? {
    switch kind {
    case .plain: return try value(of: entry)
    case .characters: return try text(of: entry).map { .text($0) }
    case .encodedText: return try encodedText(of: entry).map { .text($0) }
    case .wideText:
      return try bytes(of: entry).flatMap { MetadataText.utf16($0, .littleEndian) }
        .map { .text($0) }
    case .numbers:
      guard entry.count <= 8, let bytes = try bytes(of: entry) else { return nil }
      return FactValue(bytes.prefix(entry.count).map { .integer(Int($0)) })
    case .angle:
      return try sexagesimal(entry).flatMap { FactValue(Self.degrees($0)) }
    case .time: return try sexagesimal(entry).map { .text(Self.time($0)) }
    }
  }

  /// To seven decimals, which is about a centimetre: more of them are errors of the division.
  private static func degrees(_ parts: [Double]) -> Double {
    ((parts[0] + parts[1] / 60 + parts[2] / 3_600) * 1e7).rounded() / 1e7
  }

  private func bytes(of entry: TIFFEntry) throws(FactsError) -> [UInt8]? {
    guard entry.type?.byteCount == 1 else { return nil }
    let count = min(entry.count, Self.maximumTextByteCount)
    return try fields(of: entry, upTo: count).map { Array($0.bytes.prefix(count)) }
  }

  /// Text behind the name of its encoding (CIPA DC-008, "UserComment").
  private func encodedText(of entry: TIFFEntry) throws(FactsError) -> String? {
    guard let bytes = try bytes(of: entry) else { return nil }
    // Some programs write plain text.
    guard bytes.count >= 8, entry.type == .undefined else { return MetadataText.text(bytes) }
    let text = Array(bytes.dropFirst(8))
    switch MetadataText.text(bytes.prefix(8)) {
    case "UNICODE":
      // A mark of the byte order is allowed, but rare.
      let hasMark = [[0xFE, 0xFF], [0xFF, 0xFE]].contains(Array(text.prefix(2)))
      let order = hasMark ? (text[0] == 0xFE ? .bigEndian : .littleEndian) : file.order
      return MetadataText.utf16(Array(text.dropFirst(hasMark ? 2 : 0)), order)
    case "ASCII", nil: return MetadataText.text(text)
    default: return nil
    }
  }

  /// Three fractions; some programs leave out the last ones, or write 0/0 in their place.
  private func sexagesimal(_ entry: TIFFEntry) throws(FactsError) -> [Double]? {
    guard entry.type == .rational, (1...3).contains(entry.count),
      let fields = try fields(of: entry, upTo: 3)
    else { return nil }
    var parts = (0..<entry.count).map { index in
      let denominator = fields.u32(index * 8 + 4)
      return denominator == 0 ? nil : Double(fields.u32(index * 8)) / Double(denominator)
    }
    guard parts[0] != nil else { return nil }
    parts += Array(repeating: nil, count: 3 - parts.count)
    return parts.map { $0 ?? 0 }
  }

  private static func time(_ parts: [Double]) -> String {
    let parts = parts.map { min($0, 1_000_000) }
    let seconds = parts[2]
    let whole = Int(seconds)
    let thousandths = Int(((seconds - Double(whole)) * 1_000).rounded(.down))
    let two = { (value: Int) in value < 10 ? "0\(value)" : "\(value)" }
    let start = "\(two(Int(parts[0]))):\(two(Int(parts[1]))):\(two(whole))"
    guard thousandths > 0 else { return start }
    let digits = String(String(1_000 + thousandths).dropFirst())
    return start + "." + digits.prefix { _ in true }.trimmingZeros
  }
}

extension Substring {
  /// Without zeros at the end.
  fileprivate var trimmingZeros: Substring {
    var rest = self
    while rest.last == "0" { rest.removeLast() }
    return rest
  }
}

extension TIFFDirectory {
  /// Longer texts are cut.
  static let maximumTextByteCount = 4_096
  /// Longer lists are left out: they are tables.
  private static let maximumListCount = 64

  /// The values of an entry by its type; `nil` for bytes of no type, long lists, and fractions
  /// without a denominator.
  func value(of entry: TIFFEntry) throws(FactsError) -> FactValue? {
    guard let type = entry.type, entry.count > 0 else { return nil }
    switch type {
    case .ascii, .utf8: return try text(of: entry).map { .text($0) }
    case .undefined: return nil
    default: break
    }
    guard entry.count <= Self.maximumListCount,
      let fields = try fields(of: entry, upTo: entry.count)
    else { return nil }
    let values = (0..<entry.count).compactMap { Self.value(of: type, in: fields, at: $0) }
    return values.count == entry.count ? FactValue(values) : nil
  }

  /// The numbers of an entry; `nil` if it has none, or more than a list may have.
  func numbers(_ tag: Int) throws(FactsError) -> [Double]? {
    guard let entry = entry(tag), let value = try value(of: entry) else { return nil }
    let numbers = (value.list ?? [value]).compactMap(\.number)
    return numbers.isEmpty ? nil : numbers
  }

  /// The text of an entry of characters, whatever its type is.
  func text(of entry: TIFFEntry) throws(FactsError) -> String? {
    guard entry.type?.byteCount == 1 else { return nil }
    let count = min(entry.count, Self.maximumTextByteCount)
    return try fields(of: entry, upTo: count).flatMap {
      MetadataText.text($0.bytes.prefix(count), isCut: count < entry.count)
    }
  }

  private static func value(
    of type: TIFFType, in fields: BinaryFields, at index: Int
  ) -> FactValue? {
    let size = type.byteCount
    let bits = fields.number(at: index * size, count: size)
    switch type {
    case .byte, .short, .long, .directory, .long8, .directory8:
      return .integer(Int(clamping: bits))
    case .signedByte: return .integer(Int(Int8(truncatingIfNeeded: bits)))
    case .signedShort: return .integer(Int(Int16(truncatingIfNeeded: bits)))
    case .signedLong: return .integer(Int(Int32(truncatingIfNeeded: bits)))
    case .signedLong8: return .integer(Int(Int64(truncatingIfNeeded: bits)))
    case .rational:
      return fraction(Double(fields.u32(index * 8)), Double(fields.u32(index * 8 + 4)))
    case .signedRational:
      let part = { Double(Int32(truncatingIfNeeded: fields.u32(index * 8 + $0))) }
      return fraction(part(0), part(4))
    case .float:
      return FactValue(Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))))
    case .double: return FactValue(Double(bitPattern: bits))
    case .ascii, .undefined, .utf8: return nil
    }
  }

  private static func fraction(_ numerator: Double, _ denominator: Double) -> FactValue? {
    denominator == 0 ? nil : FactValue(numerator / denominator)
  }
}

/// Reads the first directory of a TIFF, and counts the others.
struct TIFFFacts {
  private enum Tag {
    static let width = 256
    static let height = 257
    static let bitsPerSample = 258
    static let compression = 259
    static let photometricInterpretation = 262
    static let samplesPerPixel = 277
    static let extraSamples = 338
    static let xmp = 700
    static let iptc = 33_723
    static let photoshop = 34_377
    static let profile = 34_675
  }

  private static let compressions: [Int: String] = [
    1: "uncompressed", 2: "ccitt rle", 3: "ccitt group 3", 4: "ccitt group 4", 5: "lzw",
    6: "old jpeg", 7: "jpeg", 8: "deflate", 32_773: "packbits", 32_946: "deflate",
    34_712: "jpeg 2000", 34_925: "lzma", 50_000: "zstd", 50_001: "webp", 50_002: "jpeg xl",
  ]
  private static let models: [Int: PictureFacts.ColourModel] = [
    0: .gray, 1: .gray, 2: .rgb, 3: .palette, 4: .gray, 5: .cmyk, 6: .ycbcr, 8: .lab, 9: .lab,
    10: .lab,
  ]

  private let file: TIFFFile
  private let first: TIFFDirectory

  static func facts(
    in window: ByteWindow, _ extent: FactsExtent
  ) throws(FactsError) -> PictureFacts {
    guard let file = try TIFFFile(window),
      let first = try file.directory(at: file.firstDirectoryOffset)
    else { throw .invalid("no directory") }
    let reader = TIFFFacts(file: file, first: first)
    var facts = try reader.header()
    if extent > .header { try reader.addMetadata(to: &facts) }
    if extent == .all { facts.frameCount = try file.directoryOffsets().count }
    return facts
  }

  private init(file: TIFFFile, first: TIFFDirectory) {
    (self.file, self.first) = (file, first)
  }

  private func header() throws(FactsError) -> PictureFacts {
    guard let width = try first.firstNumber(Tag.width), width > 0,
      let height = try first.firstNumber(Tag.height), height > 0
    else { throw .invalid("the first directory has no size") }
    var facts = PictureFacts(format: .tiff, width: width, height: height)
    facts.setOrientation(try EXIFBlock(file, first).orientation())
    // Defaults of TIFF 6.0 section 8.
    let bands = try first.firstNumber(Tag.samplesPerPixel) ?? 1
    facts.bands = bands
    facts.bitsPerSample = try first.firstNumber(Tag.bitsPerSample) ?? 1
    let compression = try first.firstNumber(Tag.compression) ?? 1
    facts.encoding = Self.compressions[compression] ?? "compression \(compression)"
    let interpretation = try first.firstNumber(Tag.photometricInterpretation)
    facts.colourModel = interpretation.flatMap { Self.models[$0] }
    // 1 and 2 are transparency, 0 is unknown (section 18).
    let extra = try first.numbers(Tag.extraSamples) ?? []
    facts.hasAlpha = extra.contains { $0 == 1 || $0 == 2 }
    facts.isAnimated = false
    return facts
  }

  private func addMetadata(to facts: inout PictureFacts) throws(FactsError) {
    let block = EXIFBlock(file, first)
    try block.read(into: &facts)
    facts.thumbnail = try block.thumbnail()
    if let window = window(of: Tag.profile) {
      facts.profileDescription = try ICCDescription.text(in: window)
    }
    if let window = window(of: Tag.xmp) { facts.xmp = try XMPFacts(in: window) }
    if let window = window(of: Tag.iptc) { facts.iptc = try IPTCRecord.datasets(in: window) }
    if facts.iptc == nil, let window = window(of: Tag.photoshop),
      let record = try PhotoshopResources.iptcRecord(in: window)
    {
      facts.iptc = try IPTCRecord.datasets(in: record)
    }
  }

  private func window(of tag: Int) -> ByteWindow? {
    first.entry(tag).flatMap { first.window(of: $0) }
  }
}
