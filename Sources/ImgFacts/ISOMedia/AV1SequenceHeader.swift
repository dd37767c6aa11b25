/// The sequence header of an AV1 stream (AV1 Bitstream & Decoding Process Specification section 5.5).
package enum AV1SequenceHeader {
  private static let unspecified = ColourCodePoints.unspecified
  private static let professional = 2
  private static let high = 1

  /// How the samples stand for colours.
  ///
  /// - Parameter units: open bitstream units, the sequence header first.
  /// - Returns: `nil` where that cannot be told.
  package static func codePoints(in units: [UInt8]) -> ColourCodePoints? {
    guard let first = units.first, first >> 3 & 0x0F == 1 else { return nil }
    // A byte of extension and a length of one byte may come before the header itself.
    let hasExtension = first & 0x04 != 0
    let hasLength = first & 0x02 != 0
    var bits = MostBitsFirst(
      Array(units.dropFirst(1 + (hasExtension ? 1 : 0) + (hasLength ? 1 : 0))))
    let profile = bits.bits(3)
    bits.skip(1)
    let isReduced = bits.flag()
    guard skipOperatingPoints(&bits, isReduced: isReduced) else { return nil }
    skipTools(&bits, isReduced: isReduced)
    let codePoints = colours(&bits, profile: profile)
    return bits.isWithin ? codePoints : nil
  }

  /// - Returns: `false` for a stream that says when its frames are decoded.
  private static func skipOperatingPoints(_ bits: inout MostBitsFirst, isReduced: Bool) -> Bool {
    guard !isReduced else {
      bits.skip(5)
      return true
    }
    guard !bits.flag() else { return false }
    let hasDelay = bits.flag()
    for _ in 0...bits.bits(5) {
      bits.skip(12)
      // Levels above 7 have a tier.
      if bits.bits(5) > 7 { bits.skip(1) }
      if hasDelay, bits.flag() { bits.skip(4) }
    }
    return true
  }

  /// The size, and which tools of prediction and which filters are used.
  private static func skipTools(_ bits: inout MostBitsFirst, isReduced: Bool) {
    let (width, height) = (bits.bits(4), bits.bits(4))
    bits.skip(width + height + 2)
    if !isReduced, bits.flag() { bits.skip(7) }
    bits.skip(3)
    if !isReduced { skipToolsOfFilms(&bits) }
    bits.skip(3)
  }

  private static func skipToolsOfFilms(_ bits: inout MostBitsFirst) {
    bits.skip(4)
    let hasOrder = bits.flag()
    if hasOrder { bits.skip(2) }
    let usesScreenTools = bits.flag() || bits.flag()
    if usesScreenTools, !bits.flag() { bits.skip(1) }
    if hasOrder { bits.skip(3) }
  }

  /// Section 5.5.2.
  private static func colours(_ bits: inout MostBitsFirst, profile: Int) -> ColourCodePoints {
    let isDeep = bits.flag()
    if profile == professional, isDeep { bits.skip(1) }
    let isGray = profile != high && bits.flag()
    let isDescribed = bits.flag()
    let primaries = isDescribed ? bits.bits(8) : unspecified
    let transfer = isDescribed ? bits.bits(8) : unspecified
    let matrix = isDescribed ? bits.bits(8) : unspecified
    let described = ColourCodePoints(
      primaries: primaries, transfer: transfer, matrix: matrix, isFullRange: true)
    if !isGray, described == .sRGB { return .sRGB }
    return ColourCodePoints(
      primaries: primaries, transfer: transfer, matrix: matrix, isFullRange: bits.flag())
  }
}
