/// The layout of the samples that a bitmap is decoded to: rows from the upper one, without gaps.
struct BitmapCanvas {
  let width: Int
  let height: Int
  /// 3, or 4 with the opacity.
  let bandCount: Int
  /// Whether the first stored row is the upper one.
  let isTopDown: Bool

  var byteCount: Int { width * height * bandCount }

  /// The offset of a row's first sample.
  ///
  /// - Parameter stored: its place in the file.
  func offset(ofRow stored: Int) -> Int {
    (isTopDown ? stored : height - 1 - stored) * width * bandCount
  }

  // MARK: - The opacity, the last of four bands

  private static let alphaBand = 3

  /// Whether nothing is shown anywhere.
  func isTransparent(_ samples: borrowing MutableSpan<UInt8>) -> Bool {
    for offset in stride(from: Self.alphaBand, to: byteCount, by: bandCount)
    where samples[offset] != 0 {
      return false
    }
    return true
  }

  /// Shows all pixels of some rows.
  func makeOpaque(_ rows: Range<Int>, of samples: inout MutableSpan<UInt8>) {
    for row in rows {
      let first = offset(ofRow: row)
      for x in 0..<width { samples[first + x * bandCount + Self.alphaBand] = 255 }
    }
  }

  /// Hides pixels of a row.
  ///
  /// - Parameter mask: a bit for each, 1 for those to hide, the first in the highest bit of a byte.
  func hide(_ mask: Span<UInt8>, ofRow row: Int, in samples: inout MutableSpan<UInt8>) {
    let first = offset(ofRow: row)
    for x in 0..<width where mask[x / 8] & 0x80 >> UInt8(x % 8) != 0 {
      samples[first + x * bandCount + Self.alphaBand] = 0
    }
  }
}
