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
