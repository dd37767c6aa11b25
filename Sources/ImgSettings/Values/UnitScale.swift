/// A kind of quantity as people write it: a whole number and one unit, such as `30s` or `64K`.
///
/// Every value has one shortest exact text, and reading that text gives the value back.
package struct UnitScale: Sendable {
  private struct Unit: Sendable {
    let suffix: String
    let factor: Int64
  }

  /// The kind with its article, for the sentences of errors.
  private let kind: String
  /// How to write one, for the sentences of errors.
  private let advice: String
  /// From the largest unit to the one of factor 1.
  private let units: [Unit]

  private init(kind: String, advice: String, units: KeyValuePairs<String, Int64>) {
    self.kind = kind
    self.advice = advice
    self.units = units.map { Unit(suffix: $0.key, factor: $0.value) }
  }

  /// Milliseconds. A unit is always written, because a bare number could mean several.
  package static let duration = UnitScale(
    kind: "a duration",
    advice: "a whole number with ms, s, m, h or d, such as 500ms or 10m",
    units: ["d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1])

  /// Bytes, in binary units: 1K is 1,024 bytes.
  package static let size = UnitScale(
    kind: "a size",
    advice: "a whole number of bytes, or one with K, M, G or T, such as 64K or 2G",
    units: ["T": 1 << 40, "G": 1 << 30, "M": 1 << 20, "K": 1 << 10, "": 1])

  /// Pixels, where MP is a million as on a camera.
  package static let pixels = UnitScale(
    kind: "a number of pixels",
    advice: "a whole number, or one with MP for megapixels, such as 100MP",
    units: ["MP": 1_000_000, "": 1])

  /// Things that are counted.
  package static let count = UnitScale(
    kind: "a whole number", advice: "digits alone, such as 8", units: ["": 1])

  /// Reads a text; upper and lower case are the same, as no two units differ by it.
  package func value(parsing text: String) throws(InvalidValue) -> Int64 {
    let digits = text.utf8.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    let suffix = text.utf8.dropFirst(digits.count).map { $0 | 0x20 }
    guard !digits.isEmpty,
      let unit = units.first(where: { $0.suffix.utf8.map { $0 | 0x20 } == suffix })
    else {
      throw InvalidValue("\(Spelling.quoted(text)) is not \(kind); write \(advice)")
    }
    guard let number = Int64(Substring(digits)) else { throw tooLarge(text) }
    let (value, overflow) = number.multipliedReportingOverflow(by: unit.factor)
    guard !overflow else { throw tooLarge(text) }
    return value
  }

  /// Reads a text whose value must lie in `range`.
  package func value(
    parsing text: String, in range: ClosedRange<Int64>
  ) throws(InvalidValue) -> Int64 {
    let value = try value(parsing: text)
    guard range.contains(value) else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) is not from \(self.text(range.lowerBound)) "
          + "to \(self.text(range.upperBound))")
    }
    return value
  }

  /// The shortest text that reads as exactly `value`.
  package func text(_ value: Int64) -> String {
    precondition(value >= 0, "a quantity is not negative")
    if value == 0 { return "0" + zeroSuffix }
    for unit in units where value.isMultiple(of: unit.factor) {
      return "\(value / unit.factor)\(unit.suffix)"
    }
    preconditionFailure("the last unit divides every value")
  }

  /// No unit of a duration is better than another for nothing at all; seconds read best.
  private var zeroSuffix: String {
    units.contains { $0.suffix.isEmpty } ? "" : "s"
  }

  private func tooLarge(_ text: String) -> InvalidValue {
    InvalidValue("\(Spelling.quoted(text)) is too large")
  }
}
