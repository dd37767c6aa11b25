/// The field `Content-Range` (RFC 9110 section 14.4): which part of a body a response holds.
struct ContentRange: Equatable {
  /// First and last position; `nil` in a response without a part, because the requested range does
  /// not exist.
  let range: ClosedRange<Int>?
  /// The length of the whole; `nil` where the origin does not know it.
  let completeLength: Int?
}

extension ContentRange {
  /// - Parameter text: the field's value without white space around it.
  /// - Returns: `nil` for another unit than bytes, and for text that contradicts itself or the
  ///   grammar.
  init?(parsing text: String) {
    let parts = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].lowercased() == "bytes" else { return nil }
    let halves = parts[1].split(separator: "/", omittingEmptySubsequences: false)
    guard halves.count == 2 else { return nil }
    let length = Self.number(halves[1])
    guard length != nil || halves[1] == "*" else { return nil }
    if halves[0] == "*" {
      guard let length else { return nil }
      self.init(range: nil, completeLength: length)
      return
    }
    let positions = halves[0].split(separator: "-", omittingEmptySubsequences: false)
    guard positions.count == 2, let first = Self.number(positions[0]),
      let last = Self.number(positions[1]), first <= last, last < length ?? .max
    else { return nil }
    self.init(range: first...last, completeLength: length)
  }

  private static func number(_ text: Substring) -> Int? { text.isDigits ? Int(text) : nil }
}
