/// Reads and writes one kind of quantity: a number with a unit, such as `30s` or `64K`.
///
/// Every value has one shortest exact text, and reading that text returns the value.
package struct UnitScale: Sendable {
  private struct Unit: Sendable {
    let suffix: String
    let factor: Int64
  }

  /// The kind with its article, for errors.
  private let kind: String
  /// How to write a value, for errors.
  private let advice: String
  /// From the largest unit to factor 1. Of two equal units, the first one is written.
  private let units: [Unit]
  /// The text of 0, which fits every unit.
  private let zero: String
  /// Whether decimals are allowed, if they give a whole number of the smallest unit.
  private let readsDecimals: Bool

  private init(
    kind: String, advice: String, units: KeyValuePairs<String, Int64>, zero: String = "0",
    readsDecimals: Bool = false
  ) {
    self.kind = kind
    self.advice = advice
    self.units = units.map { Unit(suffix: $0.key, factor: $0.value) }
    self.zero = zero
    self.readsDecimals = readsDecimals
  }

  /// Milliseconds. As in sleep(1), decimals are allowed, and a number without a unit is seconds.
  /// The text always has a unit.
  package static let duration = UnitScale(
    kind: "a duration",
    advice: "a number of seconds, or one with ms, s, m, h or d, such as 0.25, 500ms or 10m",
    units: ["d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "": 1_000, "ms": 1],
    zero: "0s", readsDecimals: true)

  /// Bytes in binary units: 1K is 1,024 bytes.
  package static let size = UnitScale(
    kind: "a size",
    advice: "a whole number of bytes, or one with K, M, G or T, such as 64K or 2G",
    units: ["T": 1 << 40, "G": 1 << 30, "M": 1 << 20, "K": 1 << 10, "": 1])

  /// Pixels. MP is a million, as for cameras.
  package static let pixels = UnitScale(
    kind: "a number of pixels",
    advice: "a whole number, or one with MP for megapixels, such as 100MP",
    units: ["MP": 1_000_000, "": 1])

  /// Counts.
  package static let count = UnitScale(
    kind: "a whole number", advice: "only digits, such as 8", units: ["": 1])

  /// A number an hour; settings read it through ``HostRate``.
  static let rate = UnitScale(
    kind: "a rate", advice: "a whole number with /s, /m or /h, such as 5/s or 30/m, or \"none\"",
    units: ["/s": 3_600, "/m": 60, "/h": 1], zero: "0/s")

  /// Reads a text. Case does not matter, because no two units differ only in case.
  package func value(parsing text: String) throws(InvalidValue) -> Int64 {
    let digits = text.utf8.prefix(while: Self.isDigit)
    var rest = text.utf8.dropFirst(digits.count)
    var decimals: Substring.UTF8View?
    if readsDecimals, rest.first == UInt8(ascii: ".") {
      decimals = rest.dropFirst().prefix(while: Self.isDigit)
      rest = rest.dropFirst(1 + (decimals?.count ?? 0))
    }
    let suffix = rest.map { $0 | 0x20 }
    guard !digits.isEmpty, decimals?.isEmpty != true,
      let unit = units.first(where: { $0.suffix.utf8.map { $0 | 0x20 } == suffix })
    else {
      throw InvalidValue("\(Spelling.quoted(text)) is not \(kind); write \(advice)")
    }
    guard let number = Int64(Substring(digits)) else { throw tooLarge(text) }
    let (whole, overflow) = number.multipliedReportingOverflow(by: unit.factor)
    guard !overflow else { throw tooLarge(text) }
    guard let part = Self.part(of: unit, decimals: Substring(decimals ?? "".utf8[...])) else {
      throw InvalidValue("\(Spelling.quoted(text)) is not a multiple of \(self.text(1))")
    }
    let (value, sumOverflow) = whole.addingReportingOverflow(part)
    guard !sumOverflow else { throw tooLarge(text) }
    return value
  }

  /// The value of the digits after a decimal point; `nil` if it is not a whole number.
  private static func part(of unit: Unit, decimals: Substring) -> Int64? {
    let zeros = decimals.reversed().prefix { $0 == "0" }.count
    let digits = decimals.dropLast(zeros)
    guard !digits.isEmpty else { return 0 }
    // More digits than Int64 has give no whole number, because no unit has so many factors of ten.
    guard let number = Int64(digits) else { return nil }
    var (part, overflow) = number.multipliedReportingOverflow(by: unit.factor)
    guard !overflow else { return nil }
    for _ in digits {
      guard part.isMultiple(of: 10) else { return nil }
      part /= 10
    }
    return part
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  /// Reads a text with a value in `range`.
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

  /// The shortest exact text of `value`.
  package func text(_ value: Int64) -> String {
    precondition(value >= 0, "a quantity is not negative")
    if value == 0 { return zero }
    for unit in units where value.isMultiple(of: unit.factor) {
      return "\(value / unit.factor)\(unit.suffix)"
    }
    preconditionFailure("the last unit divides every value")
  }

  private func tooLarge(_ text: String) -> InvalidValue {
    InvalidValue("\(Spelling.quoted(text)) is too large")
  }
}
