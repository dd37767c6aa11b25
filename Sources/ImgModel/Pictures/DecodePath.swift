/// How a picture became a thumbnail. Its header and the variant decide it.
package enum DecodePath: String, CaseIterable, Hashable, Sendable, Codable {
  /// The luma and the chroma of a JPEG were resized and encoded as they were stored.
  case planar
  /// Pixels were converted to sRGB and resized.
  case general
  /// The same, from a smaller picture that the file holds beside its own.
  case embedded
}
