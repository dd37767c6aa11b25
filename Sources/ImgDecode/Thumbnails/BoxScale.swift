import ImgModel

/// The scale of a picture for a box whose pixels have a density, as imgproxy has it: a picture that is too
/// small lowers the density, so that box and thumbnail keep their shape.
struct BoxScale {
  /// What the picture is scaled to; a side may be longer than thumbnails can have.
  let scaled: ThumbnailGeometry.Size
  /// What a crop keeps at most.
  let box: ThumbnailGeometry.Size
  /// The largest size of a thumbnail: for a picture in its own size, the box.
  let bound: ThumbnailGeometry.Size

  init(_ source: ThumbnailGeometry.Size, _ variant: Variant, enlarging: Bool) {
    let density = variant.sizing.density.value
    let shrink = Self.shrink(source, variant)
    // The density for which the picture has just enough pixels; below 1, it is smaller than the box.
    let sufficient = min(shrink.width, shrink.height)
    let used = enlarging ? density : min(density, sufficient)
    scaled = Self.rounded(
      Double(source.width) * used / shrink.width, Double(source.height) * used / shrink.height)
    let boxDensity = enlarging || sufficient >= 1 ? used : min(density / sufficient, 1)
    box = Self.rounded(Double(variant.width) * boxDensity, Double(variant.height) * boxDensity)
    let longest = Variant.sideRange.upperBound
    bound =
      variant.mode == .ownSize
      ? .init(width: variant.width, height: variant.height)
      : .init(width: longest, height: longest)
  }

  /// How many times as long as the sides of the thumbnail those of the picture are, with a density of 1.
  private static func shrink(
    _ source: ThumbnailGeometry.Size, _ variant: Variant
  ) -> (width: Double, height: Double) {
    let width = Double(source.width) / Double(variant.width)
    let height = Double(source.height) / Double(variant.height)
    let (inside, over) = (max(width, height), min(width, height))
    let box = ThumbnailGeometry.Size(width: variant.width, height: variant.height)
    switch variant.mode {
    case .fit: return (inside, inside)
    case .fill, .fillDown: return (over, over)
    case .auto:
      return source.isPortrait == box.isPortrait ? (over, over) : (inside, inside)
    case .stretch, .stretchDown: return (width, height)
    case .ownSize: return (1, 1)
    }
  }

  private static func rounded(_ width: Double, _ height: Double) -> ThumbnailGeometry.Size {
    .init(width: max(1, Int(width.rounded())), height: max(1, Int(height.rounded())))
  }
}
