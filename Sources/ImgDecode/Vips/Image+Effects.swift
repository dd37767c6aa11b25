import CVips
import ImgModel

/// What is done to the pixels of a thumbnail: 8 bits a sample, in a colour space of light.
extension Image {
  consuming func with(_ effects: Effects) throws(VipsError) -> Image {
    var image = self
    if effects.isGrayscale { image = try image.withoutColours() }
    if effects.blur > .zero { image = try image.blurred(sigma: effects.blur.value) }
    if effects.sharpen > .zero { image = try image.sharpened(effects) }
    if effects.radius > 0 { image = try image.withRoundCorners(radius: effects.radius) }
    if let background = effects.background, image.hasAlpha {
      image = try image.flattened(on: background)
    }
    return image
  }

  /// In gray, with as many bands as before.
  private func withoutColours() throws(VipsError) -> Image {
    let gray = try unsafe Self.result(of: "grayscale") {
      unsafe img_vips_colourspace(pointer, &$0, VIPS_INTERPRETATION_B_W)
    }
    return try unsafe Self.result(of: "grayscale") {
      unsafe img_vips_colourspace(gray.pointer, &$0, VIPS_INTERPRETATION_sRGB)
    }.cast(to: VIPS_FORMAT_UCHAR)
  }

  private consuming func blurred(sigma: Double) throws(VipsError) -> Image {
    try weighingTransparency { (image) throws(VipsError) in
      try unsafe Self.result(of: "blur") { unsafe img_vips_gaussblur(image.pointer, &$0, sigma) }
    }
  }

  /// The pixels must be in memory, with an alpha channel, and no other image's.
  private func multiplyAlpha(by factor: Double, x: Int, y: Int) {
    let bandCount = Int(self.bandCount)
    let alpha = unsafe img_vips_pixels(pointer) + (y * width + x) * bandCount + bandCount - 1
    unsafe alpha.pointee = UInt8((Double(alpha.pointee) * factor).rounded())
  }

  /// By the lightness alone, so that no edge gets another colour.
  private func sharpened(_ effects: Effects) throws(VipsError) -> Image {
    let (sigma, amounts) = (effects.sharpen.value, effects.sharpenAmounts)
    // The operation is done in LabS, and comes back in the image's own colours.
    return try unsafe Self.result(of: "sharpen") {
      unsafe img_vips_sharpen(pointer, &$0, sigma, amounts.flat.value, amounts.edges.value)
    }.cast(to: VIPS_FORMAT_UCHAR)
  }

  /// The corners become transparent.
  private consuming func withRoundCorners(radius: Int) throws(VipsError) -> Image {
    let image = try withAlpha().inMemory().duplicate()
    let corner = RoundCorner(radius: min(radius, image.width / 2, image.height / 2))
    for row in 0..<corner.radius {
      for column in 0..<corner.radius {
        let coverage = corner.coverage(row: row, column: column)
        for y in [row, image.height - 1 - row] {
          for x in [column, image.width - 1 - column] {
            image.multiplyAlpha(by: coverage, x: x, y: y)
          }
        }
      }
    }
    return image
  }
}
