package import ImgModel
import ImgStore

/// What the store has of a thumbnail, for a command that makes none.
package enum CachedThumbnail: Sendable {
  case found(StoredResult)
  /// The store has the thumbnail of a damaged picture, which the command does not accept.
  case damaged
  /// The store has the picture in this size only in other formats, possibly in none.
  case absent(otherFormats: [ImageFormat])
}

extension LocalStore {
  /// The thumbnail of a picture in the variant of a choice, or in one that serves as well.
  package func thumbnail(
    of name: PictureName, _ choice: VariantChoice
  ) throws -> CachedThumbnail {
    guard let reader = try reader() else { return .absent(otherFormats: []) }
    let stored = try choice.stored(of: name, in: reader)
    let found = try reader.thumbnail(
      for: name, variant: stored.variant ?? choice.variant, isLenient: choice.isLenient)
    if let found { return .found(StoredResult(found)) }
    let damaged = try reader.thumbnail(
      for: name, variant: choice.variant, isLenient: true, recordingAccess: .none)
    return damaged == nil ? .absent(otherFormats: stored.formats) : .damaged
  }
}
