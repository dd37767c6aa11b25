/// A placeholder of 28 characters (BlurHash by Wolt): 4 × 3 frequencies of each colour. Checked as far
/// as its form goes, because it may come from a decoder that a picture controls.
package struct BlurHash: Hashable, Sendable {
  package static let columnCount = 4
  package static let rowCount = 3
  package static let digits = Array(
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~")
  /// The size, the greatest frequency, the average, and two digits for each other frequency.
  private static let digitCount = 2 + averageDigitCount + 2 * (columnCount * rowCount - 1)
  private static let averageDigitCount = 4
  /// Of a frequency: 19 steps for each colour.
  private static let frequencyCount = 19 * 19 * 19

  package let text: String

  /// - Returns: `nil` if no BlurHash of that size is such a text.
  package init?(_ text: String) {
    // Longer texts are not even split into digits.
    guard text.utf8.count == Self.digitCount else { return nil }
    let numbers = text.compactMap { Self.digits.firstIndex(of: $0) }
    guard numbers.count == Self.digitCount,
      numbers[0] == Self.columnCount - 1 + (Self.rowCount - 1) * 9
    else { return nil }
    let number = { (digits: ArraySlice<Int>) in digits.reduce(0) { $0 * Self.digits.count + $1 } }
    let details = 2 + Self.averageDigitCount
    guard number(numbers[2..<details]) <= 0xFF_FFFF,
      stride(from: details, to: numbers.count, by: 2).allSatisfy({
        number(numbers[$0...$0 + 1]) < Self.frequencyCount
      })
    else { return nil }
    self.text = text
  }
}

extension BlurHash: Codable {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let hash = BlurHash(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a BlurHash")
    }
    self = hash
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}
