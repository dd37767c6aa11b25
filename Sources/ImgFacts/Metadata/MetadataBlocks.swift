/// The description in a colour profile (ICC.1 section 9.2.41, the tag `desc`).
enum ICCDescription {
  private static let headerByteCount = 128
  private static let tagByteCount = 12
  /// Profiles have some twenty tags.
  private static let maximumTagCount = 256
  private static let maximumTextByteCount = 1_024
  private static let maximumTextCount = 64

  /// - Parameter window: the profile.
  /// - Returns: `nil` when the profile has none, or is none.
  static func text(in window: ByteWindow) throws(FactsError) -> String? {
    guard let head = try window.fieldsIfInside(at: headerByteCount, count: 4) else { return nil }
    let count = min(head.u32(0), maximumTagCount)
    let table = try window.bytes(at: headerByteCount + 4, upTo: count * tagByteCount)
    let fields = BinaryFields(table)
    for start in stride(from: 0, to: table.count, by: tagByteCount)
    where fields.name(start) == "desc" {
      return try text(ofTag: window.part(at: fields.u32(start + 4), count: fields.u32(start + 8)))
    }
    return nil
  }

  private static func text(ofTag tag: ByteWindow) throws(FactsError) -> String? {
    guard let head = try tag.fieldsIfInside(at: 0, count: 12) else { return nil }
    switch head.name(0) {
    // ICC.1:2001 section 6.5.17: the count of characters, then ASCII.
    case "desc":
      return MetadataText.text(
        try tag.bytes(at: 12, upTo: min(head.u32(8), maximumTextByteCount)))
    case "mluc": return try localizedText(in: tag, count: head.u32(8))
    default: return nil
    }
  }

  /// Section 10.15: records of language, country, length and offset. English goes first.
  private static func localizedText(
    in tag: ByteWindow, count: Int
  ) throws(FactsError) -> String? {
    let records = BinaryFields(try tag.bytes(at: 16, upTo: min(count, maximumTextCount) * 12))
    let starts = stride(from: 0, to: records.count - 11, by: 12)
    let english = starts.first { records.name($0).hasPrefix("en") }
    guard let start = english ?? starts.first(where: { _ in true }) else { return nil }
    let bytes = try tag.bytes(
      at: records.u32(start + 8), upTo: min(records.u32(start + 4), maximumTextByteCount))
    return MetadataText.utf16(bytes, .bigEndian)
  }
}

/// Datasets of the application record of IPTC-IIM (version 4.2, chapter 6).
enum IPTCRecord {
  private static let names: [Int: String] = [
    5: "title", 7: "edit_status", 10: "urgency", 15: "category", 20: "supplemental_categories",
    22: "fixture_identifier", 25: "keywords", 26: "location_code", 27: "location_name",
    30: "release_date", 35: "release_time", 40: "special_instructions", 55: "date", 60: "time",
    62: "digital_creation_date", 63: "digital_creation_time", 65: "originating_program",
    70: "program_version", 75: "object_cycle", 80: "byline", 85: "byline_title", 90: "city",
    92: "sublocation", 95: "state", 100: "country_code", 101: "country",
    103: "transmission_reference", 105: "headline", 110: "credit", 115: "source",
    116: "copyright", 118: "contact", 120: "caption", 122: "caption_writer",
    130: "image_type", 131: "image_orientation", 135: "language",
  ]
  private static let maximumDatasetCount = 1_000
  private static let maximumTextByteCount = 4_096
  private static let maximumValueCount = 256
  /// The value of the dataset 1:90 that announces UTF-8 (ISO 2022).
  private static let utf8Announcement: [UInt8] = [0x1B, 0x25, 0x47]

  /// - Returns: `nil` when it holds no dataset that has a name.
  static func datasets(in window: ByteWindow) throws(FactsError) -> [String: FactValue]? {
    var values: [String: [FactValue]] = [:]
    var (offset, count) = (0, 0)
    var isUTF8 = false
    while count < maximumDatasetCount, let head = try window.fieldsIfInside(at: offset, count: 5),
      head.u8(0) == 0x1C, let length = try valueByteCount(head, in: window, at: offset + 5)
    {
      let start = offset + 5 + length.extraByteCount
      let bytes = try window.bytes(at: start, upTo: min(length.byteCount, maximumTextByteCount))
      if head.u8(1) == 1, head.u8(2) == 90 { isUTF8 = bytes == utf8Announcement }
      if head.u8(1) == 2, let name = names[head.u8(2)],
        values[name, default: []].count < maximumValueCount,
        let text = isUTF8
          ? MetadataText.repairedUTF8(bytes)
          : MetadataText.text(bytes, isCut: bytes.count < length.byteCount)
      {
        values[name, default: []].append(.text(text))
      }
      offset = start + length.byteCount
      count += 1
    }
    return values.isEmpty ? nil : values.compactMapValues { FactValue($0) }
  }

  /// With the highest bit, the length says how many bytes of a longer length follow (section 1.5).
  private static func valueByteCount(
    _ head: BinaryFields, in window: ByteWindow, at offset: Int
  ) throws(FactsError) -> (byteCount: Int, extraByteCount: Int)? {
    let length = head.u16(3)
    guard length & 0x8000 != 0 else { return (length, 0) }
    let count = length & 0x7FFF
    guard (1...4).contains(count),
      let extra = try window.fieldsIfInside(at: offset, count: count)
    else { return nil }
    return (extra.unsigned(0, count: count), count)
  }
}

/// Text of metadata, whose encoding is often not the one that the standard asks for.
enum MetadataText {
  /// Text up to the first NUL, without white space around it. It is UTF-8, else Latin-1, as most
  /// programs write what the standards call ASCII.
  ///
  /// - Parameter isCut: whether a character may end behind the bytes.
  /// - Returns: `nil` if nothing is left.
  static func text(_ bytes: some Sequence<UInt8>, isCut: Bool = false) -> String? {
    var bytes = Array(bytes.prefix { $0 != 0 })
    if isCut, let last = bytes.suffix(3).lastIndex(where: { $0 >= 0xC2 }) {
      bytes.removeSubrange(last...)
    }
    return trimmed(String(validating: bytes, as: UTF8.self) ?? latin1(bytes))
  }

  /// Text that is declared to be UTF-8; what is not becomes U+FFFD.
  static func repairedUTF8(_ bytes: some Sequence<UInt8>) -> String? {
    trimmed(String(decoding: Array(bytes.prefix { $0 != 0 }), as: UTF8.self))
  }

  /// Text of 16-bit units up to the first NUL.
  static func utf16(_ bytes: [UInt8], _ order: ByteOrder) -> String? {
    let fields = BinaryFields(bytes, order)
    let units = (0..<bytes.count / 2).map { UInt16(truncatingIfNeeded: fields.u16($0 * 2)) }
    return trimmed(String(decoding: units.prefix { $0 != 0 }, as: UTF16.self))
  }

  private static func latin1(_ bytes: [UInt8]) -> String {
    String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }

  private static func trimmed(_ text: String) -> String? {
    let isSpace = { (character: Unicode.Scalar) in character.properties.isWhitespace }
    let scalars = text.unicodeScalars
    guard let first = scalars.firstIndex(where: { !isSpace($0) }),
      let last = scalars.lastIndex(where: { !isSpace($0) })
    else { return nil }
    return String(scalars[first...last])
  }
}

/// The resources of a Photoshop file, of which a JPEG or TIFF carries some (Adobe Photoshop File
/// Formats Specification, "Image Resources Section").
enum PhotoshopResources {
  private static let iptcIdentifier = 0x0404
  private static let maximumResourceCount = 1_000

  /// The IPTC-IIM record among them.
  static func iptcRecord(in window: ByteWindow) throws(FactsError) -> ByteWindow? {
    var offset = 0
    for _ in 0..<maximumResourceCount {
      guard let head = try window.fieldsIfInside(at: offset, count: 7), head.name(0) == "8BIM"
      else { return nil }
      // The name has a byte of length, and ends at an even offset.
      let sizeOffset = offset + 6 + (head.u8(6) + 2) / 2 * 2
      guard let size = try window.fieldsIfInside(at: sizeOffset, count: 4)?.u32(0) else {
        return nil
      }
      if head.u16(4) == iptcIdentifier { return window.part(at: sizeOffset + 4, count: size) }
      offset = sizeOffset + 4 + size + size % 2
    }
    return nil
  }
}

/// Who made a picture, and who has the rights in it. EXIF, IPTC and XMP have a field for each, which programs
/// keep equal (Metadata Working Group, Guidelines for Handling Image Metadata 2.0, sections 5.4 and 5.5).
package struct CopyrightNotice: Hashable, Sendable {
  package let creator: String?
  package let rights: String?

  /// - Returns: `nil` for a file that names neither.
  package init?(_ facts: PictureFacts) {
    creator =
      Self.text(facts.exif?.ifd0["Artist"]) ?? Self.text(facts.xmp?.creators)
      ?? Self.text(facts.iptc?["byline"])
    rights =
      Self.text(facts.exif?.ifd0["Copyright"]) ?? Self.text(facts.xmp?.rights.map { [$0] })
      ?? Self.text(facts.iptc?["copyright"])
    guard creator != nil || rights != nil else { return nil }
  }

  /// The notice as XMP (ISO 16684-1, section 8.3: the Dublin Core namespace).
  package var xmpPacket: String {
    let creator = creator.map { "<dc:creator><rdf:Seq>\(Self.item($0))</rdf:Seq></dc:creator>" }
    let rights = rights.map {
      "<dc:rights><rdf:Alt>\(Self.item($0, " xml:lang=\"x-default\""))</rdf:Alt></dc:rights>"
    }
    return "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\">"
      + "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">"
      + "<rdf:Description rdf:about=\"\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\">"
      + (creator ?? "") + (rights ?? "") + "</rdf:Description></rdf:RDF></x:xmpmeta>"
  }

  private static func item(_ text: String, _ attributes: String = "") -> String {
    let escapes: [Character: String] = ["&": "&amp;", "<": "&lt;", ">": "&gt;"]
    let escaped = text.map { escapes[$0] ?? String($0) }.joined()
    return "<rdf:li\(attributes)>\(escaped)</rdf:li>"
  }

  private static func text(_ value: FactValue?) -> String? {
    switch value {
    case .text(let text): self.text([text])
    case .list(let values): text(values.compactMap(\.text))
    case .integer, .number, nil: nil
    }
  }

  /// Several names have semicolons between them, as EXIF has it. XML has no control characters.
  private static func text(_ texts: [String]?) -> String? {
    let joined = (texts ?? []).filter { !$0.isEmpty }.joined(separator: "; ")
    let text = String(joined.unicodeScalars.map { $0.value < 0x20 ? " " : Character($0) })
    return text.allSatisfy(\.isWhitespace) ? nil : text
  }
}
