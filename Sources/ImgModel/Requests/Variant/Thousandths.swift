/// A number of at least 0 with three decimals. Unlike floating point, equal texts are equal numbers,
/// which keys of the store rely on.
package struct Thousandths: Hashable, Sendable, Comparable {
  package let count: Int

  package static let zero = Thousandths(count: 0)
  package static let one = Thousandths(count: 1_000)

  /// - Precondition: `count` is at least 0.
  package init(count: Int) {
    precondition(count >= 0, "a number of thousandths is not negative")
    self.count = count
  }

  package var value: Double { Double(count) / 1_000 }

  package static func < (left: Thousandths, right: Thousandths) -> Bool {
    left.count < right.count
  }
}

extension Thousandths: LosslessStringConvertible {
  /// Digits before the decimal point that ``init(_:)`` reads.
  private static let maximumWholeDigitCount = 6

  /// Reads a decimal number such as `2`, `0.25` or `.5`, with at most three decimals.
  package init?(_ text: String) {
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count <= 2, text.utf8.count > (parts.count == 2 ? 1 : 0),
      parts.allSatisfy({ $0.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) }),
      parts[0].count <= Self.maximumWholeDigitCount
    else { return nil }
    let decimals = parts.count == 2 ? Array(parts[1]) : []
    guard decimals.count <= 3 else { return nil }
    let zeros = Array(repeating: UInt8(ascii: "0"), count: 3 - decimals.count)
    let digits = Array(parts[0]) + decimals + zeros
    self.init(count: digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) })
  }

  /// Without zeros at the end.
  package var description: String {
    let (whole, rest) = count.quotientAndRemainder(dividingBy: 1_000)
    guard rest != 0 else { return "\(whole)" }
    var decimals = String(1_000 + rest).dropFirst()
    while decimals.last == "0" { decimals.removeLast() }
    return "\(whole).\(decimals)"
  }
}
