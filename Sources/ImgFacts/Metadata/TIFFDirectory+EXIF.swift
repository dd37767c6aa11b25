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
