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
