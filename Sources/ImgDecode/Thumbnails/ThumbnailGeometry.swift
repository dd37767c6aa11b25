package import ImgModel

/// How large a picture becomes: a pure function of its upright size and the variant.
///
/// A picture is never enlarged, and no side becomes 0.
package struct ThumbnailGeometry: Hashable, Sendable {
  /// A width and a height in pixels.
  package struct Size: Hashable, Sendable {
    package let width: Int
    package let height: Int

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
  /// What is kept of the scaled picture, from its middle.
  package let kept: Size

  /// - Parameter source: the size as seen, that is after the orientation was obeyed.
  package init(source: Size, variant: Variant) {
    precondition(source.width > 0 && source.height > 0, "a picture has at least one pixel")
    let box = Size(width: variant.width, height: variant.height)
    switch variant.mode {
    case .fit:
      scaled = Self.scaling(source, into: box)
    case .fill:
      scaled = Self.scaling(source, over: box)
    case .stretch:
      scaled = Self.intersection(source, box)
    }
    kept = variant.isCropped ? Self.intersection(scaled, box) : scaled
  }

  /// The left edge and the top edge of what is kept.
  package var keptOrigin: (left: Int, top: Int) {
    ((scaled.width - kept.width) / 2, (scaled.height - kept.height) / 2)
  }

  /// The largest size of the source's shape inside the box.
  private static func scaling(_ source: Size, into box: Size) -> Size {
    if source.width <= box.width && source.height <= box.height { return source }
    return isFlatter(source, than: box)
      ? scaling(source, toWidth: box.width) : scaling(source, toHeight: box.height)
  }

  /// The smallest size of the source's shape that covers the box, as far as it does so without
  /// enlarging. A shape so long that no encoder could hold it is made to fit the largest box.
  private static func scaling(_ source: Size, over box: Size) -> Size {
    let covering =
      if source.width <= box.width || source.height <= box.height {
        source
      } else if isFlatter(source, than: box) {
        scaling(source, toHeight: box.height)
      } else {
        scaling(source, toWidth: box.width)
      }
    let longest = Variant.sideRange.upperBound
    return scaling(covering, into: Size(width: longest, height: longest))
  }

  private static func isFlatter(_ source: Size, than box: Size) -> Bool {
    source.width * box.height >= source.height * box.width
  }

  private static func scaling(_ source: Size, toWidth width: Int) -> Size {
    Size(width: width, height: max(1, dividing(source.height * width, by: source.width)))
  }

  private static func scaling(_ source: Size, toHeight height: Int) -> Size {
    Size(width: max(1, dividing(source.width * height, by: source.height)), height: height)
  }

  /// Division rounded to the nearest integer, halves up.
  private static func dividing(_ dividend: Int, by divisor: Int) -> Int {
    (2 * dividend + divisor) / (2 * divisor)
  }

  private static func intersection(_ one: Size, _ other: Size) -> Size {
    Size(width: min(one.width, other.width), height: min(one.height, other.height))
  }
}
