/// The items of a HEIF or AVIF file as its `meta` box tells them (ISO/IEC 14496-12 section 8.11,
/// ISO/IEC 23008-12 section 9).
struct HEIFItems {
  struct Reference {
    let type: String
    let source: Int
    let targets: [Int]
  }

  /// Longer tables are not read.
  private static let maximumTableByteCount = 1 << 20
  /// Pictures of very many tiles have hundreds of items.
  private static let maximumItemCount = 4_096
  /// Of a reference: the first tile is enough to know the others.
  private static let maximumTargetCount = 256

  let primary: Int
  /// Types of four letters; that of metadata in XML has its media type instead.
  private(set) var types: [Int: String] = [:]
  private(set) var references: [Reference] = []
  private let properties: [ISOMediaBox]
  /// Places in the list of properties, beginning with 1; 0 is none.
  private var associations: [Int: [Int]] = [:]
  private let locations: ISOMediaBox?
  private let data: ISOMediaBox?
  private let file: ByteWindow

  /// - Returns: `nil` when there is no primary item.
  init?(meta: ISOMediaBox, in file: ByteWindow) throws(FactsError) {
    let boxes = try ISOMediaBoxes(meta.content).all()
    let box = { (type: String) in boxes.first { $0.type == type } }
    guard let primary = box("pitm") else { return nil }
    let isLong = try primary.version() > 0
    self.primary = try primary.content.fields(at: 0, count: isLong ? 4 : 2)
      .unsigned(0, count: isLong ? 4 : 2)
    self.file = file
    (locations, data) = (box("iloc"), box("idat"))
    var parts: [ISOMediaBox] = []
    if let box = box("iprp") { parts = try ISOMediaBoxes(box.payload).all() }
    let container = parts.first { $0.type == "ipco" }
    properties = try container?.children() ?? []
    for part in parts where part.type == "ipma" { try readAssociations(part) }
    if let entries = box("iinf") { try readEntries(entries) }
    if let references = box("iref") { try readReferences(references) }
  }

  /// The properties of an item in their order.
  func properties(of item: Int) -> [ISOMediaBox] {
    (associations[item] ?? []).compactMap { place in
      properties.indices.contains(place - 1) ? properties[place - 1] : nil
    }
  }

  /// Items that refer to another one.
  func items(_ type: String, referringTo target: Int) -> [Int] {
    references.filter { $0.type == type && $0.targets.contains(target) }.map(\.source)
  }

  /// Items that an item refers to.
  func items(_ type: String, referredBy source: Int) -> [Int] {
    references.first { $0.type == type && $0.source == source }?.targets ?? []
  }

  // MARK: - Tables

  private static func table(_ window: ByteWindow) throws(FactsError) -> BinaryFields? {
    guard window.byteCount <= maximumTableByteCount else { return nil }
    return try window.fieldsIfInside(at: 0, count: window.byteCount)
  }

  /// ISO/IEC 23008-12 section 9.3.1.
  private mutating func readAssociations(_ box: ISOMediaBox) throws(FactsError) {
    guard let table = try Self.table(box.payload), table.count >= 8 else { return }
    let itemSize = table.u8(0) == 0 ? 2 : 4
    let placeSize = table.u8(3) & 1 == 0 ? 1 : 2
    var offset = 8
    for _ in 0..<min(table.u32(4), Self.maximumItemCount) {
      guard offset + itemSize + 1 <= table.count else { return }
      let item = table.unsigned(offset, count: itemSize)
      let count = table.u8(offset + itemSize)
      offset += itemSize + 1
      // The highest bit says that a reader must know the property.
      let mask = placeSize == 1 ? 0x7F : 0x7FFF
      let places = (0..<count).map {
        table.unsigned(offset + $0 * placeSize, count: placeSize) & mask
      }
      offset += count * placeSize
      if associations[item] == nil { associations[item] = places }
    }
  }

  /// ISO/IEC 14496-12 section 8.11.6.
  private mutating func readEntries(_ box: ISOMediaBox) throws(FactsError) {
    let countSize = try box.version() == 0 ? 2 : 4
    var entries = ISOMediaBoxes(box.content.part(from: countSize))
    while let entry = try entries.next() {
      guard entry.type == "infe", let head = try entry.payload.fieldsIfInside(at: 0, count: 4),
        head.u8(0) >= 2
      else { continue }
      let itemSize = head.u8(0) == 2 ? 2 : 4
      guard
        let fields = try entry.payload.fieldsIfInside(at: 4, count: itemSize + 6)
      else { continue }
      let type = fields.name(itemSize + 2)
      let item = fields.unsigned(0, count: itemSize)
      guard types[item] == nil else { continue }
      types[item] = type
      if type == "mime" {
        // The name of the item, then its media type, each ended by NUL.
        let texts = try entry.payload.bytes(at: itemSize + 10, upTo: 256)
          .split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
        if texts.count > 1 { types[item] = String(decoding: texts[1], as: UTF8.self) }
      }
    }
  }

  /// Section 8.11.12.
  private mutating func readReferences(_ box: ISOMediaBox) throws(FactsError) {
    let itemSize = try box.version() == 0 ? 2 : 4
    var boxes = ISOMediaBoxes(box.content)
    while references.count < Self.maximumItemCount, let box = try boxes.next() {
      let window = box.payload
      guard let head = try window.fieldsIfInside(at: 0, count: itemSize + 2) else { continue }
      let count = min(head.u16(itemSize), Self.maximumTargetCount)
      guard let list = try window.fieldsIfInside(at: itemSize + 2, count: count * itemSize) else {
        continue
      }
      let targets = (0..<count).map { list.unsigned($0 * itemSize, count: itemSize) }
      references.append(
        Reference(type: box.type, source: head.unsigned(0, count: itemSize), targets: targets))
    }
  }

  // MARK: - Locations

  /// The bytes of an item (section 8.11.3); `nil` when they are not in this file.
  func window(of item: Int) throws(FactsError) -> ByteWindow? {
    guard let locations, let table = try Self.table(locations.payload), table.count >= 8 else {
      return nil
    }
    var reader = HEIFLocations(table)
    while let location = reader.next() {
      guard location.item == item else { continue }
      let source: ByteWindow?
      switch location.method {
      case 0: source = file
      case 1: source = data?.payload
      default: source = nil
      }
      guard let source else { return nil }
      let extents = location.extents.map { source.part(at: $0.offset, count: $0.byteCount) }
      return extents.count == 1 ? extents.first : ByteWindow(joining: extents)
    }
    return nil
  }
}

/// The entries of an `iloc` box.
struct HEIFLocations {
  struct Location {
    let item: Int
    /// 0 for offsets into the file, 1 into the box `idat`, 2 into another item.
    let method: Int
    let extents: [(offset: Int, byteCount: Int)]
  }

  private static let maximumExtentCount = 256

  private let table: BinaryFields
  private let version: Int
  private let offsetSize, lengthSize, baseSize, indexSize: Int
  private var rest: Int
  private var position: Int

  /// - Parameter table: with version and flags.
  init(_ table: BinaryFields) {
    self.table = table
    version = table.u8(0)
    (offsetSize, lengthSize) = (table.u8(4) >> 4, table.u8(4) & 15)
    (baseSize, indexSize) = (table.u8(5) >> 4, version > 0 ? table.u8(5) & 15 : 0)
    rest = version < 2 ? table.u16(6) : table.u32(6)
    position = version < 2 ? 8 : 10
  }

  mutating func next() -> Location? {
    guard rest > 0, [offsetSize, lengthSize, baseSize, indexSize].allSatisfy({ $0 <= 8 }) else {
      return nil
    }
    rest -= 1
    let item = number(version < 2 ? 2 : 4)
    let method = version > 0 ? number(2) & 15 : 0
    // Which file the bytes are in; 0 is this one.
    let isElsewhere = number(2) != 0
    let base = number(baseSize)
    let count = number(2)
    guard count <= Self.maximumExtentCount, position <= table.count else { return nil }
    let extents = (0..<count).map { _ in
      _ = number(indexSize)
      let offset = base.addingReportingOverflow(number(offsetSize))
      return (offset: offset.overflow ? .max : offset.partialValue, byteCount: number(lengthSize))
    }
    guard position <= table.count else { return nil }
    return Location(item: item, method: isElsewhere ? -1 : method, extents: extents)
  }

  private mutating func number(_ byteCount: Int) -> Int {
    defer { position += byteCount }
    return table.unsigned(position, count: byteCount)
  }
}
