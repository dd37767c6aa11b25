/// What of a picture is kept in the store once it was fetched and decoded.
package enum Keep: String, CaseIterable, Hashable, Sendable, Codable {
  /// Nothing: who asked is served, and the next one fetches again.
  case none
  case thumbnail
  /// The body as the origin sent it, of which any thumbnail can be made without another fetch.
  case original
  /// Both.
  case all

  package var includesThumbnail: Bool { self == .thumbnail || self == .all }
  package var includesOriginal: Bool { self == .original || self == .all }

  /// The same but for the original.
  package var withoutOriginal: Keep { includesThumbnail ? .thumbnail : .none }
}
