package import ImgModel

/// How large a picture becomes: a pure function of its upright size and the variant. No side becomes
/// 0.
package struct ThumbnailGeometry: Hashable, Sendable {
  /// A width and a height in pixels.
  package struct Size: Hashable, Sendable {
    package let width: Int
    package let height: Int

    /// A square is none.
    var isPortrait: Bool { width < height }

    var pixelCount: Int64 { Int64(width) * Int64(height) }

    package init(width: Int, height: Int) {
      self.width = width
      self.height = height
    }

    /// Whether the shapes differ by less than a pixel of the smaller size.
    func hasShape(of larger: Size) -> Bool {
      abs(width * larger.height - height * larger.width) <= larger.width
    }
  }

  /// What the picture is scaled to.
  package let scaled: Size
  /// What is kept of the scaled picture.
  package let kept: Size
  /// What is kept, with its padding: the size of the thumbnail.
  package let padded: Size
  /// The left edge and the top edge of what is kept; `nil` if the pixels decide that.
  package let keptOrigin: Point?

  /// A place in an image, in pixels from its left edge and its top edge.
  package struct Point: Hashable, Sendable {
    package let left: Int
    package let top: Int
  }

  /// What the picture would be scaled to, if the request refuses it as too large.
  package let refused: Size?

  /// - Parameters:
  ///   - source: the size as seen, that is after the orientation was obeyed.
  ///   - isDrawing: whether it is a drawing (SVG), whose size is no limit of its detail.
  package init(source: Size, isDrawing: Bool = false, variant: Variant) {
    precondition(source.width > 0 && source.height > 0, "a picture has at least one pixel")
    let enlarging = variant.enlarges || Self.enlargesDrawing(source, isDrawing, variant)
    let box: Size
    if variant.sizing.density == .one, variant.mode != .stretchDown {
      box = Size(width: variant.width, height: variant.height)
      scaled = Self.scaled(source, to: box, as: variant, enlarging: enlarging)
    } else {
      let scale = BoxScale(source, variant, enlarging: enlarging)
      box = scale.box
      scaled = scale.scaled.fitted(into: scale.bound, enlarging: false)
    }
    refused = Self.refused(source, variant, enlarging: enlarging)
    kept = Self.part(of: scaled, in: box, as: variant)
    let padding = 2 * variant.effects.padding
    padded = Size(width: kept.width + padding, height: kept.height + padding)
    keptOrigin =
      kept == scaled ? Point(left: 0, top: 0) : variant.crop?.origin(of: kept, in: scaled)
  }

  /// The most pixels to which a drawing is enlarged without being asked.
  private static let maximumDrawingPixelCount: Int64 = 4_096 * 4_096

  /// A box as large as thumbnails can be means that a picture keeps its size. So does one for a drawing.
  private static func enlargesDrawing(
    _ source: Size, _ isDrawing: Bool, _ variant: Variant
  ) -> Bool {
    guard isDrawing, !variant.sizing.keepsDrawingSize else { return false }
    let box = Size(width: variant.largestWidth, height: variant.largestHeight)
    return scaled(source, to: box, as: variant, enlarging: true).pixelCount
      <= maximumDrawingPixelCount
  }

  private static func scaled(
    _ source: Size, to box: Size, as variant: Variant, enlarging: Bool
  ) -> Size {
    switch variant.mode {
    case .fit: source.fitted(into: box, enlarging: enlarging)
    case .fill, .fillDown:
      source.encodable(over: box, enlarging: enlarging, upTo: variant.longestSide)
    case .auto:
      source.isPortrait == box.isPortrait
        ? source.encodable(over: box, enlarging: enlarging, upTo: variant.longestSide)
        : source.fitted(into: box, enlarging: enlarging)
    case .stretch, .stretchDown: enlarging ? box : source.intersection(box)
    case .ownSize: source.fitted(into: box, enlarging: false)
    }
  }

  /// What a crop keeps of a scaled picture.
  private static func part(of scaled: Size, in box: Size, as variant: Variant) -> Size {
    guard variant.crop != nil else { return scaled }
    return variant.mode == .fillDown
      ? box.fitted(into: scaled, enlarging: false) : scaled.intersection(box)
  }

  /// See ``Sizing/maximumPixelCount``.
  private static func refused(_ source: Size, _ variant: Variant, enlarging: Bool) -> Size? {
    guard let maximum = variant.sizing.maximumPixelCount else { return nil }
    let longest = ImageVariant.sideRange.upperBound
    let box = Size(width: variant.width, height: variant.height)
    let wanted =
      if variant.mode != .fit {
        source.covering(box, enlarging: enlarging)
      } else if box.width == longest {
        enlarging || source.height > box.height ? source.scaled(toHeight: box.height) : source
      } else {
        enlarging || source.width > box.width ? source.scaled(toWidth: box.width) : source
      }
    let isWithin =
      max(wanted.width, wanted.height) <= longest && wanted.pixelCount <= Int64(maximum)
    return isWithin ? nil : wanted
  }
}

extension ThumbnailGeometry.Size {
  /// The largest size of this shape inside the box.
  fileprivate func fitted(into box: Self, enlarging: Bool) -> Self {
    if !enlarging && width <= box.width && height <= box.height { return self }
    return isFlatter(than: box) ? scaled(toWidth: box.width) : scaled(toHeight: box.height)
  }

  /// The smallest size of this shape that covers the box, or as much of it as this size does without
  /// enlarging.
  fileprivate func covering(_ box: Self, enlarging: Bool) -> Self {
    if !enlarging && (width <= box.width || height <= box.height) { return self }
    return isFlatter(than: box) ? scaled(toHeight: box.height) : scaled(toWidth: box.width)
  }

  /// The same for a thumbnail: a shape so long that no encoder could hold it is made to fit the largest box.
  ///
  /// - Parameter longest: the side of that box.
  fileprivate func encodable(over box: Self, enlarging: Bool, upTo longest: Int) -> Self {
    covering(box, enlarging: enlarging).fitted(
      into: Self(width: longest, height: longest), enlarging: false)
  }

  private func isFlatter(than box: Self) -> Bool {
    width * box.height >= height * box.width
  }

  fileprivate func scaled(toWidth width: Int) -> Self {
    Self(width: width, height: max(1, Self.dividing(height * width, by: self.width)))
  }

  fileprivate func scaled(toHeight height: Int) -> Self {
    Self(width: max(1, Self.dividing(width * height, by: self.height)), height: height)
  }

  /// Division rounded to the nearest integer, halves up.
  private static func dividing(_ dividend: Int, by divisor: Int) -> Int {
    (2 * dividend + divisor) / (2 * divisor)
  }

  fileprivate func intersection(_ other: Self) -> Self {
    Self(width: min(width, other.width), height: min(height, other.height))
  }
}

extension ImageVariant.Crop {
  /// Where a part begins; `nil` if the pixels decide that.
  fileprivate func origin(
    of part: ThumbnailGeometry.Size, in whole: ThumbnailGeometry.Size
  ) -> ThumbnailGeometry.Point? {
    let free = (width: whole.width - part.width, height: whole.height - part.height)
    switch self {
    case .centre: return .init(left: free.width / 2, top: free.height / 2)
    case .point(let x, let y):
      return .init(
        left: Self.start(around: x, of: part.width, in: whole.width),
        top: Self.start(around: y, of: part.height, in: whole.height))
    case .attention, .entropy: return nil
    }
  }

  /// The start of a part of a side whose middle is as near to a place as the side allows.
  private static func start(around place: Thousandths, of part: Int, in whole: Int) -> Int {
    let start = (whole * place.count / 1_000) - part / 2
    return min(max(start, 0), whole - part)
  }
}

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
    bound =
      variant.mode == .ownSize
      ? .init(width: variant.width, height: variant.height)
      : .init(width: variant.longestSide, height: variant.longestSide)
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
