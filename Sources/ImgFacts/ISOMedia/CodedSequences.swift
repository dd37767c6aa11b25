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

/// The sequence parameter set of an HEVC stream (ITU-T H.265 section 7.3.2.2), as far as its colours.
package enum HEVCSequenceParameters {
  private static let unitType = 33
  private static let extendedShape = 255
  /// More than the specification allows.
  private static let maximumCount = 64

  /// How the samples stand for colours.
  ///
  /// - Parameter unit: with its header of two bytes.
  /// - Returns: `nil` for another unit, and for one that does not say it.
  package static func codePoints(in unit: [UInt8]) -> ColourCodePoints? {
    guard unit.count > 2, Int(unit[0]) >> 1 & 0x3F == unitType else { return nil }
    var bits = MostBitsFirst(withoutEmulationPrevention(unit.dropFirst(2)))
    guard skipCoding(&bits) else { return nil }
    guard bits.flag() else { return nil }
    let codePoints = colours(&bits)
    return bits.isWithin ? codePoints : nil
  }

  /// Section 7.4.2: a 3 behind two zeros is no part of the data.
  private static func withoutEmulationPrevention(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    var (result, zeros) = ([UInt8](), 0)
    for byte in bytes {
      if zeros >= 2, byte == 3 {
        zeros = 0
        continue
      }
      zeros = byte == 0 ? zeros + 1 : 0
      result.append(byte)
    }
    return result
  }

  /// All before what is said of the use of the pictures (VUI).
  ///
  /// - Returns: `false` for what no stream has.
  private static func skipCoding(_ bits: inout MostBitsFirst) -> Bool {
    bits.skip(4)
    let layers = bits.bits(3)
    bits.skip(1)
    skipLevels(&bits, layers: layers)
    _ = bits.exponential()
    if bits.exponential() == 3 { bits.skip(1) }
    _ = (bits.exponential(), bits.exponential())
    if bits.flag() { for _ in 0..<4 { _ = bits.exponential() } }
    _ = (bits.exponential(), bits.exponential())
    let orderBitCount = bits.exponential() + 4
    for _ in (bits.flag() ? 0 : layers)...layers {
      for _ in 0..<3 { _ = bits.exponential() }
    }
    for _ in 0..<6 { _ = bits.exponential() }
    if bits.flag(), bits.flag() { skipScalingLists(&bits) }
    bits.skip(2)
    if bits.flag() {
      bits.skip(8)
      _ = (bits.exponential(), bits.exponential())
      bits.skip(1)
    }
    guard skipReferences(&bits, orderBitCount: orderBitCount) else { return false }
    bits.skip(2)
    return bits.isWithin
  }

  /// Section 7.3.3.
  private static func skipLevels(_ bits: inout MostBitsFirst, layers: Int) {
    bits.skip(88 + 8)
    let present = (0..<layers).map { _ in (bits.flag(), bits.flag()) }
    if layers > 0 { bits.skip(2 * (8 - layers)) }
    for (hasProfile, hasLevel) in present {
      bits.skip((hasProfile ? 88 : 0) + (hasLevel ? 8 : 0))
    }
  }

  /// Section 7.3.4.
  private static func skipScalingLists(_ bits: inout MostBitsFirst) {
    for size in 0..<4 {
      for _ in stride(from: 0, to: 6, by: size == 3 ? 3 : 1) {
        guard bits.flag() else {
          _ = bits.exponential()
          continue
        }
        if size > 1 { _ = bits.exponential() }
        for _ in 0..<min(64, 1 << (4 + size << 1)) { _ = bits.exponential() }
      }
    }
  }

  /// Sets of pictures that others are predicted from (section 7.3.7).
  private static func skipReferences(_ bits: inout MostBitsFirst, orderBitCount: Int) -> Bool {
    let count = bits.exponential()
    guard count <= maximumCount, orderBitCount <= 16 else { return false }
    var previous = 0
    for index in 0..<count {
      guard index == 0 || !bits.flag() else {
        bits.skip(1)
        _ = bits.exponential()
        var kept = 0
        for _ in 0...previous where bits.flag() || bits.flag() { kept += 1 }
        previous = kept
        continue
      }
      previous = bits.exponential() + bits.exponential()
      guard previous <= maximumCount else { return false }
      for _ in 0..<previous {
        _ = bits.exponential()
        bits.skip(1)
      }
    }
    guard bits.flag() else { return true }
    let longTermCount = bits.exponential()
    guard longTermCount <= maximumCount else { return false }
    bits.skip(longTermCount * (orderBitCount + 1))
    return true
  }

  /// Annex E.2.1.
  private static func colours(_ bits: inout MostBitsFirst) -> ColourCodePoints? {
    if bits.flag(), bits.bits(8) == extendedShape { bits.skip(32) }
    if bits.flag() { bits.skip(1) }
    guard bits.flag() else { return nil }
    bits.skip(3)
    let isFullRange = bits.flag()
    let isDescribed = bits.flag()
    let number = { (bits: inout MostBitsFirst) in
      isDescribed ? bits.bits(8) : ColourCodePoints.unspecified
    }
    return ColourCodePoints(
      primaries: number(&bits), transfer: number(&bits), matrix: number(&bits),
      isFullRange: isFullRange)
  }
}

/// Bits of a video stream: the most significant bit of a byte comes first. Behind the end every bit is 0,
/// and ``isWithin`` tells it.
struct MostBitsFirst {
  private let bytes: [UInt8]
  /// In bits.
  private var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Whether all bits that were read are there.
  var isWithin: Bool { position <= bytes.count * 8 }

  /// A number of up to 32 bits.
  mutating func bits(_ count: Int) -> Int {
    var value = 0
    for _ in 0..<count {
      let byte = position / 8 < bytes.count ? Int(bytes[position / 8]) : 0
      value = value << 1 | byte >> (7 - position % 8) & 1
      position += 1
    }
    return value
  }

  mutating func flag() -> Bool { bits(1) == 1 }

  mutating func skip(_ count: Int) { position += count }

  /// ue(v): as many zeros as bits follow behind a one (ITU-T H.265 section 9.2).
  mutating func exponential() -> Int {
    var zeros = 0
    while zeros < 32, isWithin, !flag() { zeros += 1 }
    return 1 << zeros - 1 + bits(zeros)
  }
}
