import ImgClient
import ImgHTTP
import ImgModel

/// The longest side of thumbnails that requests may ask for.
///
/// A side that the proportions of a picture decide can be longer: one that a request leaves open, and that of a
/// picture that covers its box without a crop (weserv's `fit=outside`). Such a thumbnail has at most as many pixels
/// as a square of the longest side. A picture that would become larger is refused by its decoder, because another
/// size would not be the one that was asked for.
package struct SideLimit: Hashable, Sendable {
  /// In pixels; `nil` for that of thumbnails.
  private let maximum: Int?

  package static let none = SideLimit(nil)

  package init(_ maximum: Int?) {
    self.maximum = maximum
  }

  /// - Parameter side: in pixels of the thumbnail; 0 for one that the request leaves open.
  /// - Throws: 422.
  func require(_ side: Int) throws(RequestRejection) {
    guard let maximum, side > maximum else { return }
    throw RequestRejection(
      .unprocessableContent, code: "too_large_side",
      "a side of \(side) pixels is longer than \(maximum), the limit of this server; ask for a "
        + "smaller picture")
  }

  /// The variant within the limit. A picture whose size the request does not name is made to fit.
  ///
  /// - Parameters:
  ///   - variant: of sides that ``require(_:)`` accepts.
  ///   - box: that of the request.
  func bounding(_ variant: ImageVariant, of box: RequestedBox) -> ImageVariant {
    let longest = maximum ?? Variant.sideRange.upperBound
    var bounded = variant
    if box.isOpen {
      (bounded.width, bounded.height) = (min(variant.width, longest), min(variant.height, longest))
    } else if !box.isWhole || variant.mode == .fill && variant.crop == nil {
      bounded.sizing = Sizing(
        density: variant.sizing.density, maximumPixelCount: longest * longest,
        keepsDrawingSize: variant.sizing.keepsDrawingSize)
    }
    return bounded
  }
}
