import CVips
import ImgModel

/// Makes the pixels of a thumbnail from those of a frame.
struct FrameRenderer {
  let geometry: ThumbnailGeometry
  let variant: Variant
  /// Of the stored pixels: 1…8 as in EXIF.
  let orientation: Int
  /// The size of the picture as seen.
  private let shape: ThumbnailGeometry.Size

  init(of header: PictureHeader, to geometry: ThumbnailGeometry, as variant: Variant) {
    self.geometry = geometry
    self.variant = variant
    orientation = header.orientation
    shape = header.upright
  }

  /// The whole frame in its size and in the colours of the thumbnail, as it is stored; 8 bits a sample, in
  /// memory.
  ///
  /// - Parameters:
  ///   - frame: as it is stored; not yet decoded, perhaps.
  ///   - size: what it is scaled to, as stored.
  func scaled(
    _ frame: consuming Image, to size: ThumbnailGeometry.Size
  ) throws(VipsError) -> Image {
    try frame.preparedForScaling().scaled(to: size)
      .inThumbnailColours(keepingProfile: variant.keptData.profile).inMemory()
  }

  /// What ``scaled(_:to:)`` gives as the thumbnail shows it: upright, cropped and with its effects.
  func finished(_ scaled: borrowing Image) throws(VipsError) -> Image {
    let whole = try scaled.retained().upright(from: orientation)
    return try cropped(whole).with(variant.effects).inMemory()
  }

  /// Of what ``scaled(_:to:)`` gives.
  func thumbHash(of scaled: borrowing Image) throws(VipsError) -> ThumbHash {
    let frame =
      variant.keptData.profile
      ? try scaled.retained().inEightBitSRGB().inMemory() : scaled.retained()
    return ThumbHash(of: SmallPicture(frame, showing: shape, orientation: orientation))
  }

  /// Cut only now: a decoder that is asked for the middle alone overlooks that the end is missing.
  private func cropped(_ whole: consuming Image) throws(VipsError) -> Image {
    guard geometry.kept != geometry.scaled else { return whole }
    if let origin = geometry.keptOrigin {
      return try whole.cropped(
        left: origin.left, top: origin.top, width: geometry.kept.width,
        height: geometry.kept.height)
    }
    let interest =
      variant.crop == .entropy ? VIPS_INTERESTING_ENTROPY : VIPS_INTERESTING_ATTENTION
    return try whole.inMemory().cropped(to: geometry.kept, by: interest)
  }
}
