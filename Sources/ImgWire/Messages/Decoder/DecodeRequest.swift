package import ImgModel

/// One picture for a decoder.
package struct DecodeRequest: Hashable, Sendable {
  /// What becomes of the picture.
  package enum Output: CaseIterable, Sendable {
    /// Its thumbnails, encoded.
    case thumbnails
    /// The bytes are the beginning of a picture, which is shown as far as it is there.
    case preview
    /// The pixels of one frame in the first variant, see ``UploadRequest/wantsPixels``. They are announced
    /// as a thumbnail with the format of the picture.
    case pixels
  }

  /// Counts the pictures of this decoder from 1. The answer repeats it, so that no answer is taken for
  /// that to another picture.
  package let picture: UInt64
  /// One to ``Variant/maximumCount``.
  package let variants: [Variant]
  /// Whether a damaged picture is decoded as far as possible.
  package let isLenient: Bool
  package let output: Output
  /// The size of the picture, which begins at the start of the input memory.
  package let byteCount: Int

  package init(
    picture: UInt64, variants: [Variant], isLenient: Bool,
    output: Output = .thumbnails, byteCount: Int
  ) {
    self.picture = picture
    self.variants = variants
    self.isLenient = isLenient
    self.output = output
    self.byteCount = byteCount
  }

  /// How many bytes ``Output/pixels`` of a size have.
  package static func byteCount(width: Int, height: Int) -> Int { width * height * 4 }
}
