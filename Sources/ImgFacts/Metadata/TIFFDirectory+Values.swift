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
