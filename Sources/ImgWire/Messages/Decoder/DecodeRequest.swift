package import ImgModel

/// One picture for a decoder.
package struct DecodeRequest: Hashable, Sendable {
  /// Counts the pictures of this decoder from 1. The answer repeats it, so that no answer is taken for
  /// that to another picture.
  package let picture: UInt64
  /// One to ``Variant/maximumCount``.
  package let variants: [Variant]
  /// Whether a damaged picture is decoded as far as possible.
  package let isLenient: Bool
  /// Whether the bytes are the beginning of a picture, which is shown as far as it is there.
  package let isPreview: Bool
  /// The size of the picture, which begins at the start of the input memory.
  package let byteCount: Int

  package init(
    picture: UInt64, variants: [Variant], isLenient: Bool, isPreview: Bool = false,
    byteCount: Int
  ) {
    self.picture = picture
    self.variants = variants
    self.isLenient = isLenient
    self.isPreview = isPreview
    self.byteCount = byteCount
  }
}
