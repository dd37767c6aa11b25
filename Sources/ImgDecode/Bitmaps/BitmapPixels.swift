/// How the pixels of a bitmap are stored that lie in rows.
enum BitmapPixels {
  /// Indexes of 1, 2, 4 or 8 bits, the first of a byte in its highest bits.
  case indexes(bitCount: Int, BitmapColours)
  /// A byte for each.
  case blueGreenRed
  /// Numbers of 2 or 4 bytes.
  case masks(ChannelMasks, byteCount: Int)

  /// Decodes a row.
  ///
  /// - Parameter offset: where its first sample is written.
  func decode(
    _ row: Span<UInt8>, to samples: inout MutableSpan<UInt8>, at offset: Int,
    on canvas: BitmapCanvas
  ) {
    switch self {
    case .indexes(let bitCount, let colours):
      Self.decode(row, bitCount, colours, to: &samples, at: offset, on: canvas)
    case .blueGreenRed:
      Self.decode(row, to: &samples, at: offset, on: canvas) { row, x in
        BitmapColour(
          red: UInt32(row[3 * x + 2]), green: UInt32(row[3 * x + 1]), blue: UInt32(row[3 * x]),
          alpha: 255)
      }
    case .masks(let masks, byteCount: 2):
      Self.decode(row, to: &samples, at: offset, on: canvas) { row, x in
        masks.colour(of: UInt32(row[2 * x]) | UInt32(row[2 * x + 1]) << 8)
      }
    case .masks(let masks, _):
      Self.decode(row, to: &samples, at: offset, on: canvas) { row, x in
        masks.colour(
          of: UInt32(row[4 * x]) | UInt32(row[4 * x + 1]) << 8 | UInt32(row[4 * x + 2]) << 16
            | UInt32(row[4 * x + 3]) << 24)
      }
    }
  }

  @inline(__always)
  private static func decode(
    _ row: Span<UInt8>, to samples: inout MutableSpan<UInt8>, at offset: Int,
    on canvas: BitmapCanvas, _ colour: (Span<UInt8>, _ x: Int) -> BitmapColour
  ) {
    var place = offset
    for x in 0..<canvas.width {
      colour(row, x).put(canvas.bandCount, to: &samples, at: place)
      place += canvas.bandCount
    }
  }

  private static func decode(
    _ row: Span<UInt8>, _ bitCount: Int, _ colours: BitmapColours,
    to samples: inout MutableSpan<UInt8>, at offset: Int, on canvas: BitmapCanvas
  ) {
    let table = colours.values.span
    let mask = (1 << bitCount) - 1
    decode(row, to: &samples, at: offset, on: canvas) { row, x in
      let bit = x * bitCount
      return table[Int(row[bit >> 3]) >> (8 - bitCount - bit & 7) & mask]
    }
  }
}
