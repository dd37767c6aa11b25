package import ImgModel
import ImgSystem

/// Suggestions for mistyped words.
package enum Spelling {
  /// A longer word is not a mistyped one but, for example, a pasted URL. It is not compared, which
  /// bounds the cost.
  private static let maximumLength = 40

  /// The most likely candidate for `word`: the only one that begins with it, or the shortest of those
  /// if the others continue it, or one with a typing error, or with two if it is long. A short word with two
  /// errors is more often another word, such as `--port` and `--host`.
  package static func nearest(to word: String, among candidates: [String]) -> String? {
    guard (1...maximumLength).contains(word.utf8.count) else { return nil }
    let completions = candidates.filter { $0.hasPrefix(word) }
    if let shortest = completions.min(by: { $0.utf8.count < $1.utf8.count }),
      completions.allSatisfy({ $0.hasPrefix(shortest) })
    {
      return shortest
    }
    let ranked = candidates.map { ($0, distance(Array(word.utf8), Array($0.utf8))) }
    guard let best = ranked.min(by: { $0.1 < $1.1 }) else { return nil }
    let length = best.0.drop { $0 == "-" }.utf8.count
    return best.1 <= (length < 2 ? 0 : length < 6 ? 1 : 2) ? best.0 : nil
  }

  /// A question to append to an error; empty if no candidate is near.
  package static func suggestion(for word: String, among candidates: [String]) -> String {
    nearest(to: word, among: candidates).map { "; did you mean \($0)?" } ?? ""
  }

  /// `text` for a sentence: in quotes, truncated, and without what could control a terminal.
  package static func quoted(_ text: String) -> String {
    let shown = String(text.unicodeScalars.prefix(maximumLength)).printable
    let isShortened = text.unicodeScalars.count > maximumLength
    return "\"\(shown)\(isShortened ? "…" : "")\""
  }

  /// The same for a text whose end matters, such as the path of a file: it is not truncated.
  package static func quotedWhole(_ text: String) -> String {
    "\"\(text.printable)\""
  }

  /// The number of insertions, deletions, replacements and swaps of neighbours between two words
  /// (optimal string alignment).
  private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
    var beforePrevious: [Int] = []
    var previous = Array(0...right.count)
    for row in left.indices {
      var current = [row + 1]
      for column in right.indices {
        let isSame = left[row] == right[column]
        var cost = min(
          previous[column + 1] + 1, current[column] + 1, previous[column] + (isSame ? 0 : 1))
        if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
          cost = min(cost, beforePrevious[column - 1] + 1)
        }
        current.append(cost)
      }
      beforePrevious = previous
      previous = current
    }
    return previous[right.count]
  }
}

/// Why a text is not a valid value: the end of a sentence that begins with the name of the flag or
/// variable.
package struct InvalidValue: Error, Hashable, Sendable {
  package let reason: String

  package init(_ reason: String) {
    self.reason = reason
  }

  /// The reason of ImgModel.
  package init(_ error: InvalidFetchOption) {
    reason = error.description
  }
}

/// Whether a setting is on, as text.
package enum YesOrNo {
  /// Reads `yes` and `no`, and what other programs take for them. Case does not matter.
  package static func value(parsing text: String) throws(InvalidValue) -> Bool {
    switch text.lowercased() {
    case "yes", "on", "true", "1": return true
    case "no", "off", "false", "0": return false
    default: throw InvalidValue("\(Spelling.quoted(text)) is not one of yes, no")
    }
  }

  package static func text(_ isOn: Bool) -> String { isOn ? "yes" : "no" }
}

/// A host name as text.
package enum HostText {
  /// Reads a host as a URL does, so that both have one spelling.
  ///
  /// - Returns: in ASCII and lower case.
  package static func host(parsing text: String) throws(InvalidValue) -> String {
    // The reason of a URL would not fit a host.
    guard let url = try? ImageURL(parsing: "http://\(text)/"), url.text == "http://\(url.host)/"
    else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) is not a host; write only its name, such as example.org")
    }
    return url.host
  }
}

extension Contact {
  package init(parsing text: String) throws(InvalidValue) {
    self = try rethrowing(try Contact(text)) { (error: InvalidFetchOption) in
      InvalidValue("\(error)")
    }
  }
}

/// The text of a rate of transfer starts at one host: `5/s`, `30/m`, `120/h`, or `none` for no
/// limit. Internally a rate is a whole number a minute, and 0 means `none`.
package enum HostRate {
  private static let none = "none"
  private static let minutesInHour = 60

  /// Reads a rate.
  ///
  /// - Returns: in ``LimitChange/hostRateRange``.
  package static func perMinute(parsing text: String) throws(InvalidValue) -> Int {
    guard text != none else { return 0 }
    try refuseTooLow(text)
    let most = LimitChange.hostRateRange.upperBound * minutesInHour
    let hourly = try UnitScale.rate.value(parsing: text, in: Int64(minutesInHour)...Int64(most))
    let (rate, rest) = Int(hourly).quotientAndRemainder(dividingBy: minutesInHour)
    guard rest == 0 else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) is not a whole number a minute; write "
          + "\(Self.text(perMinute: rate)) or \(Self.text(perMinute: rate + 1))")
    }
    return rate
  }

  /// Refuses a rate below the range with advice, which is clearer than the bounds.
  private static func refuseTooLow(_ text: String) throws(InvalidValue) {
    let hourly = text == "0" ? 0 : try UnitScale.rate.value(parsing: text)
    let lowest = Self.text(perMinute: 1)
    guard hourly > 0 else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) would allow no transfer; write \"\(none)\" for no limit, or "
          + "\(lowest), the lowest rate")
    }
    guard hourly >= minutesInHour else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) is too low; rates are whole numbers a minute, and the lowest is "
          + "\(lowest)")
    }
  }

  /// The shortest exact text of a rate.
  package static func text(perMinute: Int) -> String {
    perMinute == 0 ? none : UnitScale.rate.text(Int64(perMinute * minutesInHour))
  }
}

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
  /// Units that are read, and never written.
  private let synonyms: [Unit]
  /// The text of 0, which fits every unit.
  private let zero: String
  /// Whether decimals are allowed, if they give a whole number of the smallest unit.
  private let readsDecimals: Bool

  private init(
    kind: String, advice: String, units: KeyValuePairs<String, Int64>,
    synonyms: KeyValuePairs<String, Int64> = [:], zero: String = "0", readsDecimals: Bool = false
  ) {
    self.kind = kind
    self.advice = advice
    self.units = units.map { Unit(suffix: $0.key, factor: $0.value) }
    self.synonyms = synonyms.map { Unit(suffix: $0.key, factor: $0.value) }
    self.zero = zero
    self.readsDecimals = readsDecimals
  }

  /// Milliseconds. As in sleep(1), decimals are allowed, and a number without a unit is seconds.
  /// The text always has a unit.
  package static let duration = UnitScale(
    kind: "a duration",
    advice: "a number of seconds, or one with ms, s, m, h, d or w, such as 0.25, 500ms or 10m",
    units: ["d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "": 1_000, "ms": 1],
    synonyms: ["w": 604_800_000], zero: "0s", readsDecimals: true)

  /// Bytes in binary units: 1K is 1,024 bytes, and so are 1KB and 1KiB.
  package static let size = UnitScale(
    kind: "a size",
    advice: "a whole number of bytes, or one with K, M, G or T, such as 64K or 2G",
    units: ["T": 1 << 40, "G": 1 << 30, "M": 1 << 20, "K": 1 << 10, "": 1],
    synonyms: [
      "TB": 1 << 40, "TiB": 1 << 40, "GB": 1 << 30, "GiB": 1 << 30, "MB": 1 << 20, "MiB": 1 << 20,
      "KB": 1 << 10, "KiB": 1 << 10, "B": 1,
    ])

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
      let unit = (units + synonyms).first(where: { $0.suffix.utf8.map { $0 | 0x20 } == suffix })
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

extension NetworkRange {
  /// Reads CIDR notation. An address without a prefix length is a block of one address.
  ///
  /// A block with bits beyond its prefix is refused, because either the address or the prefix
  /// length is a mistake. A block of IPv4-mapped IPv6 addresses (RFC 4291 section 2.5.5.2) is
  /// refused, because addresses are unmapped before they are compared.
  package init(parsing text: String) throws(InvalidValue) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let bytes = IPAddress.bytes(parsing: String(parts[0])) else {
      throw Self.notARange(text)
    }
    var prefixLength = bytes.count * 8
    if parts.count == 2 {
      guard parts[1].utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
        let number = Int(parts[1])
      else {
        throw Self.notARange(text)
      }
      prefixLength = number
    }
    guard let range = NetworkRange(bytes: bytes, prefixLength: prefixLength) else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) has a prefix longer than its \(bytes.count * 8) bits of address")
    }
    guard range.bytes == bytes else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) has bits beyond its prefix; the block is \(range.text)")
    }
    let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]
    guard prefixLength < 96 || bytes.count == 4 || !bytes.starts(with: mapped) else {
      throw InvalidValue("\(Spelling.quoted(text)) maps IPv4 addresses; write the IPv4 block")
    }
    self = range
  }

  /// CIDR notation, always with the prefix length.
  package var text: String {
    guard let address = IPAddress.text(bytes) else {
      preconditionFailure("a block has an address of 4 or 16 bytes")
    }
    return "\(address)/\(prefixLength)"
  }

  private static func notARange(_ text: String) -> InvalidValue {
    InvalidValue(
      "\(Spelling.quoted(text)) is not a network; write an address or a block such as 10.0.0.0/8")
  }
}

extension RawRepresentable<String> where Self: CaseIterable {
  /// Reads one of the type's words.
  package init(parsing text: String) throws(InvalidValue) {
    try self.init(parsing: text, among: Array(Self.allCases))
  }

  /// Reads one of some of the type's words. Case does not matter.
  package init(parsing text: String, among choices: [Self]) throws(InvalidValue) {
    let words = choices.map(\.rawValue)
    let word = text.lowercased()
    guard words.contains(word), let choice = Self(rawValue: word) else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) is not one of \(words.joined(separator: ", "))"
          + Spelling.suggestion(for: text, among: words))
    }
    self = choice
  }
}
