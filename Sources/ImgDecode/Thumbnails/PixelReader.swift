import ImgModel

/// The way of one open picture to what its pixels tell: that to a thumbnail, but for its encoding. Its
/// first frame counts, or its first page.
struct PixelReader {
  let picture: any OpenPicture
  private let geometry: ThumbnailGeometry
  private let renderer: FrameRenderer

  /// - Parameter variant: as which the frame is scaled, and not cropped.
  init(_ picture: any OpenPicture, as variant: Variant) {
    self.picture = picture
    geometry = ThumbnailGeometry(of: picture.header, as: variant)
    renderer = FrameRenderer(of: picture.header, to: geometry, as: variant)
  }

  /// - Throws: also when the pixels show damage.
  func facts() throws(DecodeError) -> PixelFacts {
    let (header, size) = (picture.header, picture.header.oriented(geometry.scaled))
    let frame = try picture.firstFrame(for: size)
    do throws(VipsError) {
      let scaled = try renderer.scaled(frame, to: size)
      let picture = SmallPicture(
        scaled, showing: header.upright, orientation: header.orientation,
        side: SmallPicture.maximumSide)
      return PixelFacts(picture, thumbHash: try renderer.thumbHash(of: scaled))
    } catch {
      throw picture.reason(for: error)
    }
  }
}
