/// Writes a GIF of one frame whose rows come in four passes (GIF89a appendix E). libvips writes none. The
/// pixels are not compressed.
package enum InterlacedGIF {
  /// Codes that fit between two clear codes, so that none is longer than 9 bits.
  private static let runCount = 250
  private static let passes = [(0, 8), (4, 8), (2, 4), (1, 2)]

  /// Pixels that are not opaque are left out.
  package static func file(_ raster: Raster) -> [UInt8] {
    let size = number(raster.width) + number(raster.height)
    var file = Array("GIF89a".utf8)
    file += size + [0xF7, 0, 0]
    file += palette
    file += control
    file += [0x2C, 0, 0, 0, 0]
    file += size + [interlaced, 8]
    file += subBlocks(of: data(of: raster))
    return file + [0, 0x3B]
  }

  /// 3 bits of red and green and 2 of blue.
  private static var palette: [UInt8] {
    var palette: [UInt8] = []
    for index in 0..<256 {
      palette.append(UInt8(index >> 5) * 36)
      palette.append(UInt8(index >> 2 & 7) * 36)
      palette.append(UInt8(index & 3) * 85)
    }
    return palette
  }

  private static let transparentIndex = 255
  private static let interlaced: UInt8 = 0x40
  /// The last colour is not shown.
  private static let control: [UInt8] = [0x21, 0xF9, 4, 1, 0, 0, 255, 0]

  private static func data(of raster: Raster) -> [UInt8] {
    var writer = BitWriter()
    var count = 0
    for (first, step) in passes {
      for y in stride(from: first, to: raster.height, by: step) {
        for x in 0..<raster.width {
          if count % runCount == 0 { writer.write(256) }
          writer.write(index(of: raster[x, y]))
          count += 1
        }
      }
    }
    writer.write(257)
    return writer.finished()
  }

  private static func index(of pixel: Raster.Pixel) -> Int {
    guard pixel.alpha == 255 else { return transparentIndex }
    let green = Int(pixel.green >> 5) << 2
    let index = Int(pixel.red & 0xE0) | green | Int(pixel.blue >> 6)
    return min(index, transparentIndex - 1)
  }

  private static func subBlocks(of data: [UInt8]) -> [UInt8] {
    var blocks: [UInt8] = []
    for start in stride(from: 0, to: data.count, by: 255) {
      let part = data[start..<min(start + 255, data.count)]
      blocks.append(UInt8(part.count))
      blocks += part
    }
    return blocks
  }

  private static func number(_ value: Int) -> [UInt8] { [UInt8(value & 0xFF), UInt8(value >> 8)] }

  /// Codes of 9 bits, the lowest bit first.
  private struct BitWriter {
    private var bytes: [UInt8] = []
    private var bits = 0
    private var bitCount = 0

    mutating func write(_ code: Int) {
      bits |= code << bitCount
      bitCount += 9
      while bitCount >= 8 {
        bytes.append(UInt8(bits & 0xFF))
        bits >>= 8
        bitCount -= 8
      }
    }

    func finished() -> [UInt8] { bitCount > 0 ? bytes + [UInt8(bits & 0xFF)] : bytes }
  }
}
