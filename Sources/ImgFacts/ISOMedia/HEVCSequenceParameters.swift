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
