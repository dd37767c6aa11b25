/// How much an unsharp mask adds to the difference of a pixel's lightness from that of its surroundings.
package struct SharpenAmounts: Hashable, Sendable {
  /// In flat areas, where such differences are noise.
  package let flat: Thousandths
  /// At edges.
  package let edges: Thousandths

  /// Those of libvips: flat areas stay as they are.
  package static let standard = SharpenAmounts(flat: .zero, edges: Thousandths(count: 3_000))
  package static let range = Thousandths.zero...Thousandths(count: 10_000_000)

  package init(flat: Thousandths, edges: Thousandths) {
    self.flat = flat
    self.edges = edges
  }

  var isInRange: Bool { Self.range.contains(flat) && Self.range.contains(edges) }
}

/// What is done to the pixels of a thumbnail after they have their size, in the order of the
/// properties.
package struct Effects: Hashable, Sendable {
  package let isGrayscale: Bool
  /// The standard deviation of a Gaussian blur, in pixels of the thumbnail; 0 for none.
  package let blur: Thousandths
  /// The standard deviation of an unsharp mask, in pixels of the thumbnail; 0 for none.
  package let sharpen: Thousandths
  /// Those of the unsharp mask; the standard ones without a mask.
  package let sharpenAmounts: SharpenAmounts
  /// The radius of the corners, in pixels of the thumbnail; 0 for none, and at most half of the
  /// shorter side counts.
  package let radius: Int
  /// What is behind transparent pixels; `nil` leaves them transparent where the format can.
  package let background: RGBColour?

  package static let sigmaRange = Thousandths.zero...Thousandths(count: 100_000)
  package static let radiusRange = 0...Variant.sideRange.upperBound

  package static let none = Effects()

  package init(
    isGrayscale: Bool = false, blur: Thousandths = .zero, sharpen: Thousandths = .zero,
    sharpenAmounts: SharpenAmounts = .standard, radius: Int = 0, background: RGBColour? = nil
  ) {
    self.isGrayscale = isGrayscale
    self.blur = blur
    self.sharpen = sharpen
    self.sharpenAmounts = sharpen == .zero ? .standard : sharpenAmounts
    self.radius = radius
    self.background = background
  }

  var isInRange: Bool {
    Self.sigmaRange.contains(blur) && Self.sigmaRange.contains(sharpen)
      && sharpenAmounts.isInRange && Self.radiusRange.contains(radius)
  }

  /// See ``Variant/canonicalText``; what is not the default.
  var canonicalTexts: [String] {
    // Most variants have none, and each look-up in the store hashes the text.
    guard self != .none else { return [] }
    return [
      isGrayscale ? "grayscale" : nil,
      blur == .zero ? nil : "blur=\(blur)",
      sharpen == .zero ? nil : "sharpen=\(sharpen)",
      sharpenAmounts == .standard
        ? nil : "amounts=\(sharpenAmounts.flat):\(sharpenAmounts.edges)",
      radius == 0 ? nil : "radius=\(radius)",
      background.map { "background=\($0)" },
    ].compactMap(\.self)
  }
}
