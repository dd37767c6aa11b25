import CVips
import ImgFacts
import ImgModel

/// From the colours of a file to those of a screen.
extension Image {
  /// In the colours of a thumbnail: sRGB or, if the file's profile is kept and is one for pixels of
  /// light, the file's own. The image then carries that profile, and no other.
  ///
  /// - Parameter depth: of the samples of the result, and of those of the image unless they are extended levels.
  consuming func inThumbnailColours(
    keepingProfile: Bool, _ depth: ImageVariant.Depth
  ) throws(VipsError) -> Image {
    guard keepingProfile else { return try inSRGB(depth) }
    if interpretation != VIPS_INTERPRETATION_CMYK, sampleFormat == depth.sampleFormat,
      brightLight == nil, usableProfile != nil
    {
      return self
    }
    let converted = try inSRGB(depth).withOwnMetadata()
    converted.removeProfile()
    return converted
  }

  /// In sRGB, with or without transparency. Obeys the profile that the picture carries, if
  /// that is one for such pixels; one that is not is no reason to refuse the picture.
  ///
  /// - Parameter depth: as of ``inThumbnailColours(keepingProfile:_:)``.
  consuming func inSRGB(_ depth: ImageVariant.Depth) throws(VipsError) -> Image {
    if let light = brightLight {
      return depth == .eight
        ? try shown(by: light, in: UInt8.self) : try shown(by: light, in: UInt16.self)
    }
    guard interpretation == VIPS_INTERPRETATION_CMYK, bandCount > Self.inkCount else {
      return try withColoursInSRGB(depth)
    }
    // libvips takes a fifth channel for one more ink.
    let alpha = try bands(from: Self.inkCount, count: 1)
    let colours = try bands(from: 0, count: Self.inkCount).withColoursInSRGB(depth)
    return try colours.joined(withAlpha: alpha)
  }

  private static let inkCount: Int32 = 4

  private consuming func withColoursInSRGB(_ depth: ImageVariant.Depth) throws(VipsError) -> Image {
    if isPlainSRGB(depth) { return self }
    if interpretation == depth.colourSpace, sampleFormat == depth.sampleFormat,
      (3...4).contains(bandCount), let conversion = profile?.conversion
    {
      return try converted(by: conversion)
    }
    var image =
      if let profiled = profiled(depth) { profiled } else { try standardColours(depth) }
    // Some TIFF files have channels beyond the fourth.
    if image.bandCount > 4 { image = try image.bands(from: 0, count: 4) }
    return try image.cast(to: depth.sampleFormat)
  }

  /// Whether the samples are those of sRGB already. Those of most pictures are.
  private func isPlainSRGB(_ depth: ImageVariant.Depth) -> Bool {
    guard interpretation == depth.colourSpace, sampleFormat == depth.sampleFormat,
      (3...4).contains(bandCount)
    else {
      return false
    }
    return profile?.isSRGB ?? true
  }

  private consuming func converted(by conversion: ColourConversion) throws(VipsError) -> Image {
    let source = try inMemory()
    let (width, height) = (Int32(source.width), Int32(source.height))
    guard let pointer = unsafe img_vips_new_like(source.pointer, width, height) else {
      throw VipsError(operation: "colour")
    }
    let result = unsafe Image(owning: pointer)
    let (count, bandCount) = (source.width * source.height, Int(source.bandCount))
    if source.hasWideSamples {
      let samples: UnsafeMutablePointer<UInt16> = unsafe source.pixels()
      unsafe conversion.convert(samples, count: count, bandCount: bandCount, to: result.pixels())
    } else {
      let samples: UnsafeMutablePointer<UInt8> = unsafe source.pixels()
      unsafe conversion.convert(samples, count: count, bandCount: bandCount, to: result.pixels())
    }
    result.removeProfile()
    return result
  }

  /// By the profile; `nil` where there is none that can be used.
  private borrowing func profiled(_ depth: ImageVariant.Depth) -> Image? {
    guard let profile = usableProfile, !profile.isSRGB else { return nil }
    let intent =
      switch profile.intent {
      case .perceptual: VIPS_INTENT_PERCEPTUAL
      case .relativeColorimetric: VIPS_INTENT_RELATIVE
      case .saturation: VIPS_INTENT_SATURATION
      }
    return try? unsafe Self.result(of: "profile") {
      unsafe img_vips_icc_transform_to_srgb(pointer, &$0, intent, Int32(depth.rawValue))
    }
  }

  borrowing func standardColours(_ depth: ImageVariant.Depth) throws(VipsError) -> Image {
    try unsafe Self.result(of: "colourspace") {
      unsafe img_vips_colourspace(pointer, &$0, depth.colourSpace)
    }
  }

  /// With colours that went from 16 to 235 going from 0 to 255. Those of more than 8 bits lie in the upper ones of
  /// 16, and get the full range of 16 bits.
  consuming func withRangeWidened() throws(VipsError) -> Image {
    let step = Double(1 << (8 * (depth.byteCount - 1)))
    let factor = depth.maximum / ((235 - 16) * step)
    let image = try mappingColours(
      { (colours) throws(VipsError) in
        try unsafe Self.result(of: "range") {
          unsafe img_vips_linear(colours.pointer, &$0, factor, -16 * step * factor)
        }.cast(to: depth.sampleFormat)
      },
      alpha: { (alpha) throws(VipsError) in try alpha.retained().inFullRange() })
    image.forgetBitCount()
    return image
  }

  /// What kind of profile the samples go with; `nil` where they are none of ink, light or gray, or
  /// were computed from linear light, which no loader's profile is about.
  private var colourSpace: ICCProfile.ColourSpace? {
    switch interpretation {
    case VIPS_INTERPRETATION_B_W, VIPS_INTERPRETATION_GREY16: .gray
    case VIPS_INTERPRETATION_sRGB, VIPS_INTERPRETATION_RGB, VIPS_INTERPRETATION_RGB16: .rgb
    case VIPS_INTERPRETATION_CMYK: .cmyk
    default: nil
    }
  }

  /// The profile, if it is one for such pixels.
  var usableProfile: ICCProfile? {
    profile.flatMap { $0.colourSpace == colourSpace ? $0 : nil }
  }

  private var profile: ICCProfile? { profileBytes.flatMap(ICCProfile.known) }

  private var profileBytes: [UInt8]? { blob(named: VIPS_META_ICC_NAME) }

  /// Gives the image the profile of another, if that has one.
  func setProfile(of other: borrowing Image) {
    if let bytes = other.profileBytes { setProfile(bytes) }
  }

  /// Gives the image a copy of a profile.
  func setProfile(_ bytes: [UInt8]) {
    unsafe vips_image_set_blob_copy(pointer, VIPS_META_ICC_NAME, bytes, bytes.count)
  }
}

/// What is done to the pixels of a thumbnail: 8 or 16 bits a sample, in a colour space of light.
extension Image {
  consuming func with(_ effects: ImageVariant.Effects) throws(VipsError) -> Image {
    var image = self
    if effects.isGrayscale { image = try image.withoutColours() }
    if effects.blur > .zero { image = try image.blurred(sigma: effects.blur.value) }
    if effects.sharpen > .zero { image = try image.sharpened(effects) }
    if effects.radius > 0 { image = try image.withRoundCorners(radius: effects.radius) }
    if effects.padding > 0 { image = try image.withBorder(width: effects.padding) }
    if let background = effects.background, image.hasAlpha {
      image = try image.flattened(on: background)
    }
    return image
  }

  /// In gray, with as many bands as before.
  private func withoutColours() throws(VipsError) -> Image {
    let gray = try unsafe Self.result(of: "grayscale") {
      unsafe img_vips_colourspace(pointer, &$0, depth.graySpace)
    }
    return try unsafe Self.result(of: "grayscale") {
      unsafe img_vips_colourspace(gray.pointer, &$0, depth.colourSpace)
    }.cast(to: depth.sampleFormat)
  }

  private consuming func blurred(sigma: Double) throws(VipsError) -> Image {
    try weighingTransparency { (image) throws(VipsError) in
      try unsafe Self.result(of: "blur") { unsafe img_vips_gaussblur(image.pointer, &$0, sigma) }
    }
  }

  /// The pixels must be in memory, with an alpha channel, and no other image's.
  private func multiplyAlpha(by factor: Double, x: Int, y: Int) {
    if hasWideSamples {
      multiplyAlpha(of: UInt16.self, by: factor, x: x, y: y)
    } else {
      multiplyAlpha(of: UInt8.self, by: factor, x: x, y: y)
    }
  }

  private func multiplyAlpha<Sample: UnsignedSample>(
    of _: Sample.Type, by factor: Double, x: Int, y: Int
  ) {
    let bandCount = Int(self.bandCount)
    let samples: UnsafeMutablePointer<Sample> = unsafe pixels()
    let alpha = unsafe samples + (y * width + x) * bandCount + bandCount - 1
    unsafe alpha.pointee = Sample((Double(alpha.pointee) * factor).rounded())
  }

  /// By the lightness alone, so that no edge gets another colour.
  private func sharpened(_ effects: ImageVariant.Effects) throws(VipsError) -> Image {
    let (sigma, amounts) = (effects.sharpen.value, effects.sharpenAmounts)
    // The operation is done in LabS, and comes back in the image's own colours.
    return try unsafe Self.result(of: "sharpen") {
      unsafe img_vips_sharpen(pointer, &$0, sigma, amounts.flat.value, amounts.edges.value)
    }.cast(to: depth.sampleFormat)
  }

  /// The border is transparent.
  private consuming func withBorder(width border: Int) throws(VipsError) -> Image {
    let image = try withAlpha()
    let (width, height) = (image.width + 2 * border, image.height + 2 * border)
    return try unsafe Self.result(of: "padding") {
      unsafe img_vips_embed(
        image.pointer, &$0, Int32(border), Int32(border), Int32(width), Int32(height))
    }
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

/// From the levels of a file to those that are scaled: the mean of two should look like the mean of what they
/// show.
extension Image {
  /// In samples that are ready to be scaled. Of linear light, as a profile or
  /// floating point may have it, come the levels of sRGB. Light brighter than white needs 16 bits.
  ///
  /// - Parameter depth: of all other samples; 16 bits are for an image that has more than 8.
  consuming func preparedForScaling(
    _ depth: ImageVariant.Depth = .eight
  ) throws(VipsError) -> Image {
    guard hasUnsignedSamples else { return try fromFloatingPoint(depth) }
    guard brightLight == nil, let profile = usableProfile else {
      return try inUnsignedSamples(depth)
    }
    if let light = profile.codePoints.flatMap({ BrightLight($0) }) {
      return try inExtendedLevels(light)
    }
    if let (curve, evenProfile) = profile.evened {
      return try evened(by: curve, evenProfile, depth)
    }
    return try inUnsignedSamples(depth)
  }

  private consuming func inUnsignedSamples(
    _ depth: ImageVariant.Depth
  ) throws(VipsError) -> Image {
    depth == .eight ? try inUpperBytes() : try inFullRange()
  }

  /// In 8 bits: of 16 bits the upper half is kept.
  consuming func inUpperBytes() throws(VipsError) -> Image {
    guard hasWideSamples, brightLight == nil else { return self }
    return try unsafe Self.result(of: "cast") { unsafe img_vips_upper_byte(pointer, &$0) }
  }

  /// From linear light in floating point. The profile says that it is linear, and is not obeyed a second
  /// time.
  private consuming func fromFloatingPoint(
    _ depth: ImageVariant.Depth
  ) throws(VipsError) -> Image {
    let image = try inStandardSamples(depth).withOwnMetadata()
    image.removeProfile()
    return image
  }

  /// Transparency in floating point goes from 0 to 1 (vips_premultiply), which the conversion of colours
  /// leaves as it is.
  private consuming func inStandardSamples(
    _ depth: ImageVariant.Depth
  ) throws(VipsError) -> Image {
    guard hasAlpha else { return try standardColours(depth).cast(to: depth.sampleFormat) }
    let colourCount = bandCount - 1
    let alpha = try bands(from: colourCount, count: 1)
    let opacity = try alpha.scaled(by: depth.maximum).cast(to: depth.sampleFormat)
    return try bands(from: 0, count: colourCount).standardColours(depth)
      .cast(to: depth.sampleFormat).joined(withAlpha: opacity)
  }

  // MARK: - By a table

  private consuming func evened(
    by curve: ToneCurve, _ profile: [UInt8], _ depth: ImageVariant.Depth
  ) throws(VipsError) -> Image {
    let (count, maximum) = levels
    let levels = (0..<count).map { index in
      let light = curve.light(at: min(Double(index) / Double(maximum), 1))
      return UInt16(min(BrightLight.level(ofLight: light), 1) * depth.maximum + 0.5)
    }
    let isGray = bandCount < 3
    let image = try mappingColours(
      { (colours) throws(VipsError) in
        try colours.mapped(by: levels, to: depth, isGray ? depth.graySpace : depth.colourSpace)
      },
      alpha: { (alpha) throws(VipsError) in try alpha.retained().inUnsignedSamples(depth) })
    image.forgetBitCount()
    // Gray in the levels of sRGB needs none.
    if isGray { image.removeProfile() } else { image.setProfile(profile) }
    return image
  }

  private consuming func inExtendedLevels(_ light: BrightLight) throws(VipsError) -> Image {
    let (count, maximum) = levels
    let table = light.extendedLevels(upTo: maximum, count: count)
    let isGray = bandCount < 3
    let image = try mappingColours(
      { (colours) throws(VipsError) in
        try colours.mapped(
          by: table, to: .sixteen,
          isGray ? VIPS_INTERPRETATION_GREY16 : VIPS_INTERPRETATION_RGB16)
      },
      alpha: { (alpha) throws(VipsError) in
        alpha.hasWideSamples
          ? alpha.retained() : try alpha.scaled(by: 257).cast(to: VIPS_FORMAT_USHORT)
      })
    image.setInteger(1, named: Self.extendedLevelsName)
    return image
  }

  func scaled(by factor: Double) throws(VipsError) -> Image {
    try unsafe Self.result(of: "levels") { unsafe img_vips_linear(pointer, &$0, factor, 0) }
  }

  private borrowing func mappingColours(
    _ map: (borrowing Image) throws(VipsError) -> Image,
    alpha convert: (borrowing Image) throws(VipsError) -> Image
  ) throws(VipsError) -> Image {
    guard hasAlpha else { return try map(self).withOwnMetadata() }
    let colours = try map(bands(from: 0, count: bandCount - 1))
    let alpha = try convert(bands(from: bandCount - 1, count: 1))
    return try colours.joined(withAlpha: alpha).withOwnMetadata()
  }

  // MARK: - Light brighter than white

  /// Says that the samples are extended levels, whose light the profile tells.
  private static let extendedLevelsName = "imgctl-extended-levels"

  /// For samples that are extended levels; see ``BrightLight``.
  var brightLight: BrightLight? {
    guard integer(named: Self.extendedLevelsName) != nil else { return nil }
    return usableProfile?.codePoints.flatMap { BrightLight($0) }
  }

  /// Extended levels as a screen shows them, in sRGB.
  ///
  /// - Parameter sample: of the result.
  private consuming func shown<Sample: UnsignedSample>(
    by light: BrightLight, in sample: Sample.Type
  ) throws(VipsError) -> Image {
    let image = try inMemory()
    let depth = Sample.depth
    let interpretation = image.bandCount < 3 ? depth.graySpace : depth.colourSpace
    guard
      let pointer = unsafe img_vips_new_pixels(
        Int32(image.width), Int32(image.height), image.bandCount, depth.sampleFormat,
        interpretation)
    else { throw VipsError(operation: "colour") }
    let result = unsafe Image(owning: pointer)
    let count = image.width * image.height * Int(image.bandCount)
    let pixels: UnsafeMutablePointer<UInt16> = unsafe image.pixels()
    let levels = unsafe Span(
      _unsafeElements: UnsafeBufferPointer(start: pixels, count: count))
    var shown = unsafe MutableSpan<Sample>(_unsafeStart: result.pixels(), count: count)
    light.show(levels, bandCount: Int(image.bandCount), in: &shown)
    return image.bandCount < 3 ? try result.standardColours(depth) : result
  }
}
