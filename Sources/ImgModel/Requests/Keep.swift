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

  package var includesThumbnail: Bool { self == .thumbnail || self == .all }
  package var includesOriginal: Bool { self == .original || self == .all }

  /// The policy without the original.
  package var withoutOriginal: Keep { includesThumbnail ? .thumbnail : .none }
}
