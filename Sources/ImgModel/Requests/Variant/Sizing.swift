/// How a picture and the box of a variant become a size, beside the mode. The servers that the gateway
/// replaces differ in it.
package struct Sizing: Hashable, Sendable {
  /// Pixels of the thumbnail for a pixel of the box. A picture that is too small for it lowers it, so that
  /// the thumbnail keeps the shape that it has with a density of 1.
  package let density: Thousandths
  /// The most pixels of a thumbnail whose size is not bounded by the box: a side of 16,383 is open then, and
  /// follows from the proportions of the picture. A picture that would become larger fails. `nil` cuts
  /// nothing off and refuses nothing: what is larger is made to fit.
  package let maximumPixelCount: Int?
  /// Whether a drawing (SVG) that is smaller than the box stays small, as pictures of pixels do.
  package let keepsDrawingSize: Bool

  package static let standard = Sizing()
  package static let densityRange = Thousandths(count: 1)...Thousandths(count: 16_383_000)

  package init(
    density: Thousandths = .one, maximumPixelCount: Int? = nil, keepsDrawingSize: Bool = false
  ) {
    self.density = density
    self.maximumPixelCount = maximumPixelCount
    self.keepsDrawingSize = keepsDrawingSize
  }

  var isInRange: Bool {
    Self.densityRange.contains(density) && maximumPixelCount.map { $0 > 0 } ?? true
  }

  /// See ``Variant/canonicalText``; what is not the default.
  var canonicalTexts: [String] {
    guard self != .standard else { return [] }
    return [
      density == .one ? nil : "density=\(density)",
      maximumPixelCount.map { "pixels=\($0)" },
      keepsDrawingSize ? "drawing=own" : nil,
    ].compactMap(\.self)
  }
}
