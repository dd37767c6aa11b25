import CVips
import ImgModel

/// Makes the pixels of a thumbnail from those of a frame.
struct FrameRenderer {
  let geometry: ThumbnailGeometry
  let variant: Variant
  /// Of the stored pixels: 1…8 as in EXIF.
  let orientation: Int

  init(of header: PictureHeader, to geometry: ThumbnailGeometry, as variant: Variant) {
    self.geometry = geometry
    self.variant = variant
    orientation = header.orientation
  }

  /// The frame in its size, upright, cropped and with its effects; 8 bits a sample, in memory.
  ///
  /// - Parameters:
  ///   - frame: as it is stored; not yet decoded, perhaps.
  ///   - size: what it is scaled to, as stored.
  func rendered(
    _ frame: consuming Image, scaledTo size: ThumbnailGeometry.Size
  ) throws(VipsError) -> Image {
    let scaled = try frame.inEightBits().scaled(to: size)
    let whole = try scaled.inThumbnailColours(keepingProfile: variant.keptData.profile).inMemory()
      .upright(from: orientation)
    return try cropped(whole).with(variant.effects).inMemory()
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
