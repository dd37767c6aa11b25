/// Which bits of a pixel hold a channel ([MS-WMF] section 2.2.2.3, "RedMask").
struct ChannelMask {
  private let mask: UInt32
  /// Of a channel of more than 8 bits, the lower ones are shifted out, too.
  private let shift: UInt32
  /// What brings the channel's greatest value to 255, in units of 1/2²⁴.
  private let multiplier: UInt32

  private static let half: UInt32 = 1 << 23

  /// - Parameter mask: 0 for a channel that is 0 everywhere.
  /// - Returns: `nil` if there is a gap between its bits.
  init?(_ mask: UInt32) {
    self.mask = mask
    guard mask != 0 else {
      (shift, multiplier) = (0, 0)
      return
    }
    let start = UInt32(mask.trailingZeroBitCount)
    let bitCount = UInt32(mask.nonzeroBitCount)
    guard start + bitCount + UInt32(mask.leadingZeroBitCount) == 32 else { return nil }
    let keptCount = min(bitCount, 8)
    shift = start + bitCount - keptCount
    multiplier = (255 << 24) / ((1 << keptCount) - 1)
  }

  /// The channel's value in 8 bits: 255 for all bits, and the nearest number in between.
  @inline(__always)
  func value(in pixel: UInt32) -> UInt32 {
    (((pixel & mask) >> shift) &* multiplier &+ Self.half) >> 24
  }
}

/// Which bits of a pixel are red, green, blue and its opacity.
struct ChannelMasks {
  private let red: ChannelMask
  private let green: ChannelMask
  private let blue: ChannelMask
  private let alpha: ChannelMask?

  var hasAlpha: Bool { alpha != nil }

  /// - Parameter alpha: 0 for pixels that are all opaque.
  /// - Returns: `nil` if there is a gap between the bits of a channel, or no bit is a colour's.
  init?(red: UInt32, green: UInt32, blue: UInt32, alpha: UInt32 = 0) {
    guard red | green | blue != 0, let redMask = ChannelMask(red),
      let greenMask = ChannelMask(green), let blueMask = ChannelMask(blue),
      let alphaMask = ChannelMask(alpha)
    else { return nil }
    (self.red, self.green, self.blue) = (redMask, greenMask, blueMask)
    self.alpha = alpha == 0 ? nil : alphaMask
  }

  @inline(__always)
  func colour(of pixel: UInt32) -> BitmapColour {
    BitmapColour(
      red: red.value(in: pixel), green: green.value(in: pixel), blue: blue.value(in: pixel),
      alpha: alpha?.value(in: pixel) ?? 255)
  }
}
