/// How much of a picture a request needs. Requests for one picture share a transfer if this is equal.
package enum PicturePart: Hashable, Sendable {
  /// All bytes.
  case whole
  /// What tells the facts in front of the pixels.
  case facts
  /// What tells all facts.
  case allFacts
}
