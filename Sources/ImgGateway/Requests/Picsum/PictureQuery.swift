package import ImgClient

/// What a client asks for below `/id/{id}`: a picture that a list names, in its own size or in another.
package struct PictureQuery: Hashable, Sendable {
  /// A box that a picture is cropped to.
  package struct Size: Hashable, Sendable {
    /// In pixels.
    package let width: Int
    /// In pixels.
    package let height: Int

    package init(width: Int, height: Int) {
      self.width = width
      self.height = height
    }
  }

  package let id: PictureID
  /// `nil` for the size of the thumbnail in the list.
  package let size: Size?
  package let isGrayscale: Bool
  /// The standard deviation in pixels; 0 for none.
  package let blur: Double
  /// `nil` without an extension in the path.
  package let format: ImageVariant.Format?

  package init(
    _ id: PictureID, size: Size? = nil, isGrayscale: Bool = false, blur: Double = 0,
    format: ImageVariant.Format? = nil
  ) {
    self.id = id
    self.size = size
    self.isGrayscale = isGrayscale
    self.blur = blur
    self.format = format
  }

  /// Whether the thumbnail is asked for as the list has it.
  package var isAsListed: Bool { self == PictureQuery(id) }

  /// The variant that is asked for.
  ///
  /// - Parameter listed: that of the thumbnail in the list.
  package func variant(of listed: ImageVariant) -> ImageVariant {
    var variant = listed
    if let size {
      (variant.width, variant.height) = (size.width, size.height)
      (variant.mode, variant.crop, variant.enlarges) = (.fill, .centre, true)
    }
    if isGrayscale { variant.isGrayscale = true }
    if blur > 0 { variant.blur = blur }
    if let format { variant.format = format }
    // JPEG, which an extension may ask for, holds one frame.
    if format == .jpeg, variant.frames == .all { variant.frames = .first }
    return variant
  }
}
