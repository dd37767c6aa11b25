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

/// The table of a bitmap's colours.
struct BitmapColours {
  /// One for every index of 8 bits. An index without a colour is black.
  let values: [BitmapColour]

  /// No index is greater.
  static let count = 256

  /// - Parameters:
  ///   - bytes: of at most ``count`` colours: blue, green, red, and in most files a byte without meaning.
  ///   - colourByteCount: 3 or 4.
  init(_ bytes: [UInt8], colourByteCount: Int) {
    let starts = stride(from: 0, through: bytes.count - colourByteCount, by: colourByteCount)
    let read = starts.map { start in
      BitmapColour(
        red: UInt32(bytes[start + 2]), green: UInt32(bytes[start + 1]), blue: UInt32(bytes[start]),
        alpha: 255)
    }
    values = read + [BitmapColour](repeating: .black, count: Self.count - read.count)
  }
}

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

/// Runs of pixels with the same index ([MS-WMF] sections 3.1.6.2 and 3.1.6.3): RLE8 and RLE4.
///
/// Runs that go on behind the right edge are cut there, as in other readers: encoders make them. Data
/// that go on behind the last row do not count.
struct BitmapRuns {
  private enum Escape {
    static let endOfRow: UInt8 = 0
    static let endOfBitmap: UInt8 = 1
    static let delta: UInt8 = 2
  }

  private let bitCount: Int
  private let colours: BitmapColours
  private let canvas: BitmapCanvas
  /// The next byte.
  private var offset: Int
  /// The next pixel, its row as stored.
  private var x = 0
  private var row = 0

  /// - Parameters:
  ///   - start: of the runs in the file.
  ///   - bitCount: of an index: 4 or 8.
  init(at start: Int, bitCount: Int, _ colours: BitmapColours, on canvas: BitmapCanvas) {
    offset = start
    self.bitCount = bitCount
    self.colours = colours
    self.canvas = canvas
  }

  /// Whether a pixel or the end of a row was read.
  var hasContent: Bool { row > 0 || x > 0 }

  /// Decodes all runs. Pixels that they leave out stay as they are.
  ///
  /// - Returns: whether the bitmap ended before the file did.
  mutating func decode(_ file: Span<UInt8>, to samples: inout MutableSpan<UInt8>) -> Bool {
    while row < canvas.height {
      // A missing mark of the end does not matter behind the last pixel.
      guard offset + 2 <= file.count else { return row == canvas.height - 1 && x == canvas.width }
      let (count, value) = (Int(file[offset]), file[offset + 1])
      offset += 2
      if count > 0 {
        decodeRun(of: value, count, to: &samples)
        continue
      }
      switch value {
      case Escape.endOfRow: (x, row) = (0, row + 1)
      case Escape.endOfBitmap: return true
      case Escape.delta:
        guard offset + 2 <= file.count else { return false }
        (x, row) = (min(x + Int(file[offset]), canvas.width), row + Int(file[offset + 1]))
        offset += 2
      default:
        guard decodeIndexes(Int(value), file, to: &samples) else { return false }
      }
    }
    return true
  }

  /// A run of one index, or of two by turns where a byte holds two.
  private mutating func decodeRun(
    of value: UInt8, _ count: Int, to samples: inout MutableSpan<UInt8>
  ) {
    for index in 0..<min(count, canvas.width - x) {
      put(self.index(index, in: value), to: &samples)
    }
  }

  /// Indexes that stand one behind the other, filled up to an even number of bytes.
  private mutating func decodeIndexes(
    _ count: Int, _ file: Span<UInt8>, to samples: inout MutableSpan<UInt8>
  ) -> Bool {
    let byteCount = (count * bitCount + 7) / 8
    let present = min(byteCount, file.count - offset)
    let shown = min(count, present * 8 / bitCount, canvas.width - x)
    for index in 0..<shown {
      put(self.index(index, in: file[offset + index * bitCount / 8]), to: &samples)
    }
    offset += byteCount + byteCount % 2
    return present == byteCount
  }

  /// One of a byte's indexes.
  private func index(_ place: Int, in byte: UInt8) -> Int {
    guard bitCount == 4 else { return Int(byte) }
    return Int(place % 2 == 0 ? byte >> 4 : byte & 0x0F)
  }

  private mutating func put(_ index: Int, to samples: inout MutableSpan<UInt8>) {
    let place = canvas.offset(ofRow: row) + x * canvas.bandCount
    colours.values[index].put(canvas.bandCount, to: &samples, at: place)
    x += 1
  }
}

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
