import CVips

/// From the colours of a file to those of a screen.
extension Image {
  /// In the colours of a thumbnail: sRGB or, if the file's profile is kept and is one for pixels of
  /// light, the file's own. The image then carries that profile, and no other.
  ///
  /// The samples have 8 bits.
  consuming func inThumbnailColours(keepingProfile: Bool) throws(VipsError) -> Image {
    guard keepingProfile else { return try inEightBitSRGB() }
    if interpretation != VIPS_INTERPRETATION_CMYK, hasByteSamples, usableProfile != nil {
      return self
    }
    let converted = try inEightBitSRGB().withOwnMetadata()
    converted.removeProfile()
    return converted
  }

  /// In 8-bit sRGB, with or without transparency. Obeys the profile that the picture carries, if
  /// that is one for such pixels; one that is not is no reason to refuse the picture.
  consuming func inEightBitSRGB() throws(VipsError) -> Image {
    if let light = brightLight { return try shown(by: light) }
    guard interpretation == VIPS_INTERPRETATION_CMYK, bandCount > Self.inkCount else {
      return try withColoursInSRGB()
    }
    // libvips takes a fifth channel for one more ink.
    let alpha = try bands(from: Self.inkCount, count: 1)
    let colours = try bands(from: 0, count: Self.inkCount).withColoursInSRGB()
    return try colours.joined(withAlpha: alpha)
  }

  private static let inkCount: Int32 = 4

  private consuming func withColoursInSRGB() throws(VipsError) -> Image {
    if isPlainSRGB { return self }
    var image = if let profiled = profiled() { profiled } else { try standardColours() }
    // Some TIFF files have channels beyond the fourth.
    if image.bandCount > 4 { image = try image.bands(from: 0, count: 4) }
    return try image.cast(to: VIPS_FORMAT_UCHAR)
  }

  /// Whether the samples are those of sRGB already. Those of most pictures are.
  private var isPlainSRGB: Bool {
    guard interpretation == VIPS_INTERPRETATION_sRGB, hasByteSamples, (3...4).contains(bandCount)
    else {
      return false
    }
    return profile?.isSRGB ?? true
  }

  /// By the profile; `nil` where there is none that can be used.
  private borrowing func profiled() -> Image? {
    guard let profile = usableProfile, !profile.isSRGB else { return nil }
    let intent =
      switch profile.intent {
      case .perceptual: VIPS_INTENT_PERCEPTUAL
      case .relativeColorimetric: VIPS_INTENT_RELATIVE
      case .saturation: VIPS_INTENT_SATURATION
      }
    return try? unsafe Self.result(of: "profile") {
      unsafe img_vips_icc_transform_to_srgb(pointer, &$0, intent)
    }
  }

  borrowing func standardColours() throws(VipsError) -> Image {
    try unsafe Self.result(of: "colourspace") {
      unsafe img_vips_colourspace(pointer, &$0, VIPS_INTERPRETATION_sRGB)
    }
  }

  /// With colours that went from 16 to 235 going from 0 to 255.
  consuming func withRangeWidened() throws(VipsError) -> Image {
    let colourCount = hasAlpha ? bandCount - 1 : bandCount
    let factor = 255.0 / (235 - 16)
    let colours = try bands(from: 0, count: colourCount)
    let widened = try unsafe Self.result(of: "range") {
      unsafe img_vips_linear(colours.pointer, &$0, factor, -16 * factor)
    }.cast(to: VIPS_FORMAT_UCHAR)
    guard hasAlpha else { return widened }
    let alpha = try bands(from: colourCount, count: 1)
    return try widened.joined(withAlpha: alpha)
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

  private var profile: ICCProfile? { profileBytes.flatMap(ICCProfile.init) }

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
