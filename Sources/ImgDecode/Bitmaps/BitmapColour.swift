/// A colour and its opacity, 8 bits each.
struct BitmapColour: Hashable {
  /// Red in the lowest bits, then green, blue and the opacity.
  private let bits: UInt32

  static let black = BitmapColour(red: 0, green: 0, blue: 0, alpha: 255)

  @inline(__always)
  init(red: UInt32, green: UInt32, blue: UInt32, alpha: UInt32) {
    bits = red | green << 8 | blue << 16 | alpha << 24
  }

  /// Writes it to the bands of a pixel.
  ///
  /// - Parameters:
  ///   - offset: of the pixel's first sample.
  ///   - bandCount: 3, or 4 with the opacity.
  @inline(__always)
  func put(_ bandCount: Int, to samples: inout MutableSpan<UInt8>, at offset: Int) {
    samples[offset] = UInt8(truncatingIfNeeded: bits)
    samples[offset + 1] = UInt8(truncatingIfNeeded: bits >> 8)
    samples[offset + 2] = UInt8(truncatingIfNeeded: bits >> 16)
    if bandCount == 4 { samples[offset + 3] = UInt8(truncatingIfNeeded: bits >> 24) }
  }
}
