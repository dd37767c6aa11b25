import ImgClient
import ImgModel

/// The box that a picture is scaled to, as weserv, imgproxy and Picsum describe it.
struct RequestedBox: Hashable {
  /// In pixels; 0 leaves the side to the proportions of the picture.
  var width = 0
  /// In pixels; 0 leaves the side to the proportions of the picture.
  var height = 0
  /// Pixels of the thumbnail for a pixel of the box.
  var density = 1.0

  /// Whether both sides are given.
  var isWhole: Bool { width > 0 && height > 0 }
  /// Whether neither side is given: the thumbnail has the size of its picture.
  var isOpen: Bool { width == 0 && height == 0 }

  /// The longest side that is given, in pixels of the thumbnail; 0 for none. Only of a box that has a variant.
  var longestSide: Int { pixels(max(width, height)) }

  /// The size of a drawing in pixels: an open side is as long as the other one. Only of a box that has a variant.
  var drawingSize: (width: Int, height: Int) {
    guard !isOpen else { return (256, 256) }
    return (pixels(width > 0 ? width : height), pixels(height > 0 ? height : width))
  }

  /// A variant that fits the box: an open side has the largest size there is, see
  /// ``SideLimit/bounding(_:)``.
  ///
  /// - Parameter density: the name of the option that ``density`` came from.
  /// - Throws: 422 if a side is too large with its density.
  func variant(density name: String) throws(RequestRejection) -> ImageVariant {
    ImageVariant(
      width: try scaled(width, density: name), height: try scaled(height, density: name))
  }

  /// A variant whose box has the sides as given, with the density beside them: a picture that is too small for
  /// it keeps the shape of the box, see ``Sizing``.
  ///
  /// - Throws: as ``variant(density:)``.
  func denseVariant(density name: String) throws(RequestRejection) -> ImageVariant {
    _ = try variant(density: name)
    let longest = Variant.sideRange.upperBound
    var variant = ImageVariant(
      width: width > 0 ? width : longest, height: height > 0 ? height : longest)
    let thousandths = Thousandths(count: Int((density * 1_000).rounded()))
    guard Sizing.densityRange.contains(thousandths) else {
      throw .invalidOption(name, "is less than a thousandth; write a larger number")
    }
    variant.sizing = Sizing(density: thousandths)
    return variant
  }

  private func scaled(_ side: Int, density name: String) throws(RequestRejection) -> Int {
    guard side > 0 else { return Variant.sideRange.upperBound }
    guard (Double(side) * density).rounded() <= Double(Variant.sideRange.upperBound) else {
      throw .invalidOption(
        name,
        "makes a side longer than \(Variant.sideRange.upperBound) pixels; ask for a smaller picture"
      )
    }
    return pixels(side)
  }

  /// A side in pixels of the thumbnail; 0 for an open one.
  private func pixels(_ side: Int) -> Int {
    side > 0 ? max(1, Int((Double(side) * density).rounded())) : 0
  }
}
