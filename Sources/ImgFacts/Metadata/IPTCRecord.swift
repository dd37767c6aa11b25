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
