/// How much of a picture a request needs. Requests for one picture share a transfer if this is equal.
package enum PicturePart: CaseIterable, Hashable, Sendable {
  /// All bytes.
  case whole
  /// All bytes, also where the format is not decoded and only has facts.
  case wholeOfAnyFormat
  /// What tells the facts in front of the pixels.
  case facts
  /// What tells all facts.
  case allFacts

  /// Whether it is all bytes.
  package var isWhole: Bool { self == .whole || self == .wholeOfAnyFormat }
}
