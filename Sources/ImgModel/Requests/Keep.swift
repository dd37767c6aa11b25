/// The retention policy of a request: what the store keeps of a picture. ``Retention`` says for how
/// long.
package enum Keep: String, CaseIterable, Hashable, Sendable, Codable {
  /// Nothing. The next request fetches again.
  case none
  case thumbnail
  /// The body as the origin sent it. Any thumbnail can be made from it without another fetch.
  case original
  /// The thumbnail and the original.
  case all
  /// The facts of the picture, such as its size and its metadata, as JSON. They are read from as few
  /// bytes as they take, and are the result in place of a thumbnail.
  case facts
  /// The same with the facts for which the whole file is walked through.
  case allFacts = "all-facts"
  /// The same with those for which the pixels are decoded: placeholders and colours.
  case pixelFacts = "pixel-facts"

  /// Whether the result is the facts of the picture.
  package var isFacts: Bool { [.facts, .allFacts, .pixelFacts].contains(self) }
  package var includesThumbnail: Bool { self == .thumbnail || self == .all }
  /// Whether what is made from the picture is stored.
  package var includesResult: Bool { includesThumbnail || isFacts }
  package var includesOriginal: Bool { self == .original || self == .all }

  /// The policy without the original.
  package var withoutOriginal: Keep {
    switch self {
    case .none, .original: .none
    case .thumbnail, .all: .thumbnail
    case .facts, .allFacts, .pixelFacts: self
    }
  }

  /// How much of the picture is needed.
  package var part: PicturePart {
    switch self {
    case .none, .thumbnail, .original, .all: .whole
    case .facts: .facts
    case .allFacts: .allFacts
    case .pixelFacts: .wholeOfAnyFormat
    }
  }
}
