import CVips

/// From the levels of a file to those that are scaled: the mean of two should look like the mean of what they
/// show.
extension Image {
  /// In samples that are ready to be scaled. Most have 8 bits then. Of linear light, as a profile or
  /// floating point may have it, come the levels of sRGB. Light brighter than white needs 16 bits.
  consuming func preparedForScaling() throws(VipsError) -> Image {
    guard hasUnsignedSamples else { return try fromFloatingPoint() }
    guard brightLight == nil, let profile = usableProfile else { return try inUpperBytes() }
    if let light = profile.codePoints.flatMap({ BrightLight($0) }) {
      return try inExtendedLevels(light)
    }
    if let (curve, evenProfile) = profile.evened {
      return try evened(by: curve, evenProfile)
    }
    return try inUpperBytes()
  }

  /// In 8 bits: of 16 bits the upper half is kept.
  consuming func inUpperBytes() throws(VipsError) -> Image {
    guard hasWideSamples, brightLight == nil else { return self }
    return try unsafe Self.result(of: "cast") { unsafe img_vips_upper_byte(pointer, &$0) }
  }

  /// From linear light in floating point. The profile says that it is linear, and is not obeyed a second
  /// time.
  private consuming func fromFloatingPoint() throws(VipsError) -> Image {
    let image = try inStandardBytes().withOwnMetadata()
    image.removeProfile()
    return image
  }

  /// Transparency in floating point goes from 0 to 1 (vips_premultiply), which the conversion of colours
  /// leaves as it is.
  private consuming func inStandardBytes() throws(VipsError) -> Image {
    guard hasAlpha else { return try standardColours().cast(to: VIPS_FORMAT_UCHAR) }
    let colourCount = bandCount - 1
    let alpha = try bands(from: colourCount, count: 1)
    let opacity = try unsafe Self.result(of: "alpha") {
      unsafe img_vips_linear(alpha.pointer, &$0, 255, 0)
    }.cast(to: VIPS_FORMAT_UCHAR)
    return try bands(from: 0, count: colourCount).standardColours().cast(to: VIPS_FORMAT_UCHAR)
      .joined(withAlpha: opacity)
  }

  // MARK: - By a table

  /// How many levels the samples have, and which of them is the greatest: libvips puts 10 bits of HEIF into
  /// the upper ones of 16.
  private var levels: (count: Int, maximum: Int) {
    guard hasWideSamples else { return (256, 255) }
    let unused = 16 - min(max(integer(named: "heif-bitdepth") ?? 16, 8), 16)
    return (65_536, (65_535 >> unused) << unused)
  }

  private consuming func evened(
    by curve: ToneCurve, _ profile: [UInt8]
  ) throws(VipsError) -> Image {
    let (count, maximum) = levels
    let table = (0..<count).map { index in
      let light = curve.light(at: min(Double(index) / Double(maximum), 1))
      return UInt8(min(BrightLight.level(ofLight: light), 1) * 255 + 0.5)
    }
    let isGray = bandCount < 3
    let image = try mappingColours(
      { (colours) throws(VipsError) in
        try unsafe Self.result(of: "levels") {
          unsafe img_vips_map_to_bytes(
            colours.pointer, &$0, table, Int32(count),
            isGray ? VIPS_INTERPRETATION_B_W : VIPS_INTERPRETATION_sRGB)
        }
      },
      alpha: { (alpha) throws(VipsError) in try alpha.retained().inUpperBytes() })
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
        try unsafe Self.result(of: "levels") {
          unsafe img_vips_map_to_shorts(
            colours.pointer, &$0, table, Int32(count),
            isGray ? VIPS_INTERPRETATION_GREY16 : VIPS_INTERPRETATION_RGB16)
        }
      },
      alpha: { (alpha) throws(VipsError) in
        alpha.hasWideSamples
          ? alpha.retained() : try alpha.scaled(by: 257).cast(to: VIPS_FORMAT_USHORT)
      })
    image.setInteger(1, named: Self.extendedLevelsName)
    return image
  }

  private func scaled(by factor: Double) throws(VipsError) -> Image {
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

  /// Extended levels as a screen shows them, in 8-bit sRGB.
  consuming func shown(by light: BrightLight) throws(VipsError) -> Image {
    let image = try inMemory()
    let interpretation =
      image.bandCount < 3 ? VIPS_INTERPRETATION_B_W : VIPS_INTERPRETATION_sRGB
    guard
      let pointer = unsafe img_vips_new_pixels(
        Int32(image.width), Int32(image.height), image.bandCount, interpretation)
    else { throw VipsError(operation: "colour") }
    let result = unsafe Image(owning: pointer)
    let count = image.width * image.height * Int(image.bandCount)
    let pixels = unsafe UnsafeRawPointer(img_vips_pixels(image.pointer))
      .assumingMemoryBound(to: UInt16.self)
    let levels = unsafe Span(
      _unsafeElements: UnsafeBufferPointer(start: pixels, count: count))
    var shown = unsafe MutableSpan<UInt8>(
      _unsafeStart: img_vips_pixels(result.pointer), count: count)
    light.show(levels, bandCount: Int(image.bandCount), in: &shown)
    return image.bandCount < 3 ? try result.standardColours() : result
  }
}
