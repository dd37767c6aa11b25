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

extension Setting.Form<Int> {
  /// A number of transfers. What is below the minimum is raised later, see ``Settings/raiseLimits()``.
  static var transfers: Self {
    let (maximum, word) = (LimitChange.unlimitedTransfers, "unlimited")
    return .one(
      { (text) throws(InvalidValue) in
        if text == word { return maximum }
        if let number = Int(text), number < 1 { return number }
        return Int(try UnitScale.count.value(parsing: text, in: 1...Int64(maximum)))
      }, { $0 == maximum ? word : "\($0)" })
  }
}

extension Setting.Form<Int64> {
  /// Bytes in a second; 0 for no limit.
  static var bandwidth: Self {
    let none = "none"
    let range = LimitChange.bandwidthRange
    return .one(
      { (text) throws(InvalidValue) in
        if text == none { return 0 }
        guard text != "0" else {
          throw InvalidValue(
            "\(Spelling.quoted(text)) would let nothing through; write \"\(none)\" for no limit")
        }
        return try UnitScale.size.value(parsing: text, in: range)
      }, { $0 == 0 ? none : UnitScale.size.text($0) })
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

/// The names of colours in CSS (CSS Color Module Level 4, section 6.1).
private enum CSSColourName {
  /// 24 bits for a name in lower case, red uppermost.
  static let numbers: [String: UInt32] = [
    "aliceblue": 0xF0_F8FF, "antiquewhite": 0xFA_EBD7, "aqua": 0x00_FFFF, "aquamarine": 0x7F_FFD4,
    "azure": 0xF0_FFFF, "beige": 0xF5_F5DC, "bisque": 0xFF_E4C4, "black": 0x00_0000,
    "blanchedalmond": 0xFF_EBCD, "blue": 0x00_00FF, "blueviolet": 0x8A_2BE2, "brown": 0xA5_2A2A,
    "burlywood": 0xDE_B887, "cadetblue": 0x5F_9EA0, "chartreuse": 0x7F_FF00, "chocolate": 0xD2_691E,
    "coral": 0xFF_7F50, "cornflowerblue": 0x64_95ED, "cornsilk": 0xFF_F8DC, "crimson": 0xDC_143C,
    "cyan": 0x00_FFFF, "darkblue": 0x00_008B, "darkcyan": 0x00_8B8B, "darkgoldenrod": 0xB8_860B,
    "darkgray": 0xA9_A9A9, "darkgreen": 0x00_6400, "darkgrey": 0xA9_A9A9, "darkkhaki": 0xBD_B76B,
    "darkmagenta": 0x8B_008B, "darkolivegreen": 0x55_6B2F, "darkorange": 0xFF_8C00,
    "darkorchid": 0x99_32CC, "darkred": 0x8B_0000, "darksalmon": 0xE9_967A,
    "darkseagreen": 0x8F_BC8F, "darkslateblue": 0x48_3D8B, "darkslategray": 0x2F_4F4F,
    "darkslategrey": 0x2F_4F4F, "darkturquoise": 0x00_CED1, "darkviolet": 0x94_00D3,
    "deeppink": 0xFF_1493, "deepskyblue": 0x00_BFFF, "dimgray": 0x69_6969, "dimgrey": 0x69_6969,
    "dodgerblue": 0x1E_90FF, "firebrick": 0xB2_2222, "floralwhite": 0xFF_FAF0,
    "forestgreen": 0x22_8B22, "fuchsia": 0xFF_00FF, "gainsboro": 0xDC_DCDC, "ghostwhite": 0xF8_F8FF,
    "gold": 0xFF_D700, "goldenrod": 0xDA_A520, "gray": 0x80_8080, "green": 0x00_8000,
    "greenyellow": 0xAD_FF2F, "grey": 0x80_8080, "honeydew": 0xF0_FFF0, "hotpink": 0xFF_69B4,
    "indianred": 0xCD_5C5C, "indigo": 0x4B_0082, "ivory": 0xFF_FFF0, "khaki": 0xF0_E68C,
    "lavender": 0xE6_E6FA, "lavenderblush": 0xFF_F0F5, "lawngreen": 0x7C_FC00,
    "lemonchiffon": 0xFF_FACD, "lightblue": 0xAD_D8E6, "lightcoral": 0xF0_8080,
    "lightcyan": 0xE0_FFFF, "lightgoldenrodyellow": 0xFA_FAD2, "lightgray": 0xD3_D3D3,
    "lightgreen": 0x90_EE90, "lightgrey": 0xD3_D3D3, "lightpink": 0xFF_B6C1,
    "lightsalmon": 0xFF_A07A, "lightseagreen": 0x20_B2AA, "lightskyblue": 0x87_CEFA,
    "lightslategray": 0x77_8899, "lightslategrey": 0x77_8899, "lightsteelblue": 0xB0_C4DE,
    "lightyellow": 0xFF_FFE0, "lime": 0x00_FF00, "limegreen": 0x32_CD32, "linen": 0xFA_F0E6,
    "magenta": 0xFF_00FF, "maroon": 0x80_0000, "mediumaquamarine": 0x66_CDAA,
    "mediumblue": 0x00_00CD, "mediumorchid": 0xBA_55D3, "mediumpurple": 0x93_70DB,
    "mediumseagreen": 0x3C_B371, "mediumslateblue": 0x7B_68EE, "mediumspringgreen": 0x00_FA9A,
    "mediumturquoise": 0x48_D1CC, "mediumvioletred": 0xC7_1585, "midnightblue": 0x19_1970,
    "mintcream": 0xF5_FFFA, "mistyrose": 0xFF_E4E1, "moccasin": 0xFF_E4B5, "navajowhite": 0xFF_DEAD,
    "navy": 0x00_0080, "oldlace": 0xFD_F5E6, "olive": 0x80_8000, "olivedrab": 0x6B_8E23,
    "orange": 0xFF_A500, "orangered": 0xFF_4500, "orchid": 0xDA_70D6, "palegoldenrod": 0xEE_E8AA,
    "palegreen": 0x98_FB98, "paleturquoise": 0xAF_EEEE, "palevioletred": 0xDB_7093,
    "papayawhip": 0xFF_EFD5, "peachpuff": 0xFF_DAB9, "peru": 0xCD_853F, "pink": 0xFF_C0CB,
    "plum": 0xDD_A0DD, "powderblue": 0xB0_E0E6, "purple": 0x80_0080, "rebeccapurple": 0x66_3399,
    "red": 0xFF_0000, "rosybrown": 0xBC_8F8F, "royalblue": 0x41_69E1, "saddlebrown": 0x8B_4513,
    "salmon": 0xFA_8072, "sandybrown": 0xF4_A460, "seagreen": 0x2E_8B57, "seashell": 0xFF_F5EE,
    "sienna": 0xA0_522D, "silver": 0xC0_C0C0, "skyblue": 0x87_CEEB, "slateblue": 0x6A_5ACD,
    "slategray": 0x70_8090, "slategrey": 0x70_8090, "snow": 0xFF_FAFA, "springgreen": 0x00_FF7F,
    "steelblue": 0x46_82B4, "tan": 0xD2_B48C, "teal": 0x00_8080, "thistle": 0xD8_BFD8,
    "tomato": 0xFF_6347, "turquoise": 0x40_E0D0, "violet": 0xEE_82EE, "wheat": 0xF5_DEB3,
    "white": 0xFF_FFFF, "whitesmoke": 0xF5_F5F5, "yellow": 0xFF_FF00, "yellowgreen": 0x9A_CD32,
  ]
}

extension RGBColour {
  /// Reads what ``init(_:)`` reads, and names of CSS in any case.
  package init?(named text: String) {
    let number = CSSColourName.numbers[text.lowercased()]
    guard let colour = number.flatMap({ RGBColour(number: UInt64($0)) }) ?? RGBColour(text) else {
      return nil
    }
    self = colour
  }
}
