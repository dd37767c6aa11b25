/// Writes bitmaps of Windows and OS/2 (BMP), in every way that their headers know.
package struct BitmapWriter: Sendable {
  /// A header, by its number of bytes.
  package enum Header: Int, CaseIterable, Sendable {
    case core = 12
    case shortOS2 = 16
    case info = 40
    case colourMasks = 52
    case alphaMask = 56
    case os2 = 64
    case version4 = 108
    case version5 = 124

    /// Whether it has fields for masks.
    var hasMasks: Bool { ![.core, .shortOS2, .info, .os2].contains(self) }
  }

  package enum Pixels: Hashable, Sendable {
    /// Indexes of 1, 2, 4 or 8 bits into a table of the picture's colours, in the order of their first
    /// pixels.
    case indexes(Int)
    /// Indexes of 4 or 8 bits in runs.
    case runs(Int)
    /// 5 bits a channel in 16.
    case sixteenBits
    case blueGreenRed
    /// Blue, green, red, and a byte that is the opacity.
    case blueGreenRedAlpha
    /// Numbers of 16 or 32 bits: the masks of red, green, blue and the opacity, 0 for no opacity.
    case masks(Int, [UInt32])
  }

  package var header: Header
  package var pixels: Pixels
  package var isTopDown = false
  /// A colour profile in the file, behind the pixels. Needs ``Header/version5``.
  package var profile: [UInt8] = []
  /// Bytes between the colours and the pixels.
  package var gap = 0

  package init(_ header: Header, _ pixels: Pixels) {
    self.header = header
    self.pixels = pixels
  }

  /// A file.
  package func file(_ raster: Raster) -> [UInt8] {
    let colours = colours(of: raster)
    let stored = stored(raster, colours)
    let offset = 14 + header.rawValue + followingMasks.count + table(of: colours).count + gap
    let bitmap = head(raster, colours, storedByteCount: stored.count, rowCount: raster.height)
    let body = bitmap + [UInt8](repeating: 0, count: gap) + stored + profile
    return Array("BM".utf8) + long(14 + body.count) + [0, 0, 0, 0] + long(offset) + body
  }

  /// What an icon holds: no file header, twice the height, and the mask of what is transparent.
  package func iconPart(_ raster: Raster) -> [UInt8] {
    let colours = colours(of: raster)
    let stored = stored(raster, colours)
    let mask = rows(of: raster, bitCount: 1) { $0.alpha == 0 ? 1 : 0 }
    return head(raster, colours, storedByteCount: stored.count, rowCount: 2 * raster.height)
      + stored + mask
  }

  // MARK: - Before the pixels

  private func head(
    _ raster: Raster, _ colours: [Raster.Pixel], storedByteCount: Int, rowCount: Int
  ) -> [UInt8] {
    let height = isTopDown ? -rowCount : rowCount
    let planes = short(1) + short(bitCount)
    guard header != .core else {
      return long(12) + short(raster.width) + short(height) + planes + table(of: colours)
    }
    var fields = long(header.rawValue) + long(raster.width) + long(height) + planes
    fields += long(compression) + long(storedByteCount) + long(2_835) + long(2_835)
    fields += long(colours.count) + long(0)
    if header.hasMasks { fields += masks.flatMap { long(Int($0)) } }
    fields += [UInt8](repeating: 0, count: 124 - fields.count)
    if !profile.isEmpty {
      // "MBED", then where it is and how long.
      fields.replaceSubrange(56..<60, with: [0x44, 0x45, 0x42, 0x4D])
      let offset = header.rawValue + table(of: colours).count + gap + storedByteCount
      fields.replaceSubrange(112..<120, with: long(offset) + long(profile.count))
    }
    return fields.prefix(header.rawValue) + followingMasks + table(of: colours)
  }

  private var bitCount: Int {
    switch pixels {
    case .indexes(let bitCount), .runs(let bitCount), .masks(let bitCount, _): bitCount
    case .sixteenBits: 16
    case .blueGreenRed: 24
    case .blueGreenRedAlpha: 32
    }
  }

  private var compression: Int {
    switch pixels {
    case .runs(let bitCount): bitCount == 8 ? 1 : 2
    case .masks: header == .info && masks[3] != 0 ? 6 : 3
    default: 0
    }
  }

  private var masks: [UInt32] {
    if case .masks(_, let masks) = pixels { masks } else { [0, 0, 0, 0] }
  }

  /// A header without fields for masks is followed by them.
  private var followingMasks: [UInt8] {
    guard !header.hasMasks, case .masks = pixels else { return [] }
    return masks.prefix(compression == 6 ? 4 : 3).flatMap { long(Int($0)) }
  }

  /// - Returns: none for pixels that are colours themselves.
  private func colours(of raster: Raster) -> [Raster.Pixel] {
    switch pixels {
    case .indexes, .runs: break
    default: return []
    }
    var colours: [Raster.Pixel] = []
    for y in 0..<raster.height {
      for x in 0..<raster.width where raster[x, y].alpha != 0 && !colours.contains(raster[x, y]) {
        colours.append(raster[x, y])
      }
    }
    precondition(colours.count <= 1 << bitCount, "there are not so many indexes")
    return colours
  }

  /// The oldest header does not say how many there are.
  private func table(of colours: [Raster.Pixel]) -> [UInt8] {
    guard !colours.isEmpty else { return [] }
    let isCore = header == .core
    let absent = isCore ? (1 << bitCount) - colours.count : 0
    return (colours + [Raster.Pixel](repeating: Raster.Pixel(0, 0, 0), count: absent)).flatMap {
      [$0.blue, $0.green, $0.red] + (isCore ? [] : [0])
    }
  }

  // MARK: - Pixels

  private func stored(_ raster: Raster, _ colours: [Raster.Pixel]) -> [UInt8] {
    let index = { (pixel: Raster.Pixel) in UInt32(colours.firstIndex(of: pixel) ?? 0) }
    switch pixels {
    case .indexes(let bitCount): return rows(of: raster, bitCount: bitCount, index)
    case .runs: return runs(of: raster, index)
    case .sixteenBits:
      return rows(of: raster, bitCount: 16) { number($0, [0x7C00, 0x3E0, 0x1F, 0]) }
    case .blueGreenRed: return rows(of: raster, bitCount: 24) { number($0, Self.eightBits) }
    case .blueGreenRedAlpha: return rows(of: raster, bitCount: 32) { number($0, Self.eightBits) }
    case .masks(let bitCount, let masks):
      return rows(of: raster, bitCount: bitCount) { number($0, masks) }
    }
  }

  private static let eightBits: [UInt32] = [0xFF0000, 0xFF00, 0xFF, 0xFF00_0000]

  /// The channels in the bits of their masks.
  private func number(_ pixel: Raster.Pixel, _ masks: [UInt32]) -> UInt32 {
    zip([pixel.red, pixel.green, pixel.blue, pixel.alpha], masks).reduce(0) { number, channel in
      guard channel.1 != 0 else { return number }
      let shift = channel.1.trailingZeroBitCount
      let greatest = Double(channel.1 >> shift)
      let value = (Double(channel.0) * greatest / 255).rounded()
      return number | UInt32(value) << shift
    }
  }

  /// The rows from the last to the first, or from the first on, each filled up to four bytes. Numbers
  /// of fewer bits than a byte begin in its highest bit, others with their lowest byte.
  private func rows(
    of raster: Raster, bitCount: Int, _ number: (Raster.Pixel) -> UInt32
  ) -> [UInt8] {
    storedRows(of: raster).flatMap { y in
      var row = [UInt8](repeating: 0, count: (raster.width * bitCount + 31) / 32 * 4)
      for x in 0..<raster.width {
        let value = number(raster[x, y])
        let bit = x * bitCount
        if bitCount < 8 {
          row[bit / 8] |= UInt8(value) << (8 - bitCount - bit % 8)
        } else {
          for byte in 0..<bitCount / 8 {
            row[bit / 8 + byte] = UInt8(truncatingIfNeeded: value >> (8 * byte))
          }
        }
      }
      return row
    }
  }

  private func storedRows(of raster: Raster) -> [Int] {
    isTopDown ? Array(0..<raster.height) : (0..<raster.height).reversed()
  }

  /// Runs of up to 255 pixels, three of other lengths and up as indexes one behind the other. What is
  /// transparent is left out.
  private func runs(of raster: Raster, _ index: (Raster.Pixel) -> UInt32) -> [UInt8] {
    storedRows(of: raster).flatMap { y in
      var row: [UInt8] = []
      var x = 0
      while x < raster.width {
        let pixel = raster[x, y]
        let rest = x..<raster.width
        if pixel.alpha == 0 {
          let count = rest.prefix { raster[$0, y].alpha == 0 }.count
          row += [0, 2, UInt8(min(count, 255)), 0]
          x += min(count, 255)
          continue
        }
        let equal = min(rest.prefix { raster[$0, y] == pixel }.count, 255)
        let opaque = min(rest.prefix { raster[$0, y].alpha != 0 }.count, 255)
        if equal < 3, opaque >= 3 {
          row += [0, UInt8(opaque)] + literal((x..<x + opaque).map { index(raster[$0, y]) })
          x += opaque
        } else {
          let value = UInt8(index(pixel))
          row += [UInt8(equal), bitCount == 8 ? value : value << 4 | value]
          x += equal
        }
      }
      return row + [0, 0]
    } + [0, 1]
  }

  private func literal(_ indexes: [UInt32]) -> [UInt8] {
    let padded = indexes + [UInt32](repeating: 0, count: 3)
    let byteCount = (indexes.count * bitCount + 15) / 16 * 2
    return (0..<byteCount).map { byte in
      bitCount == 8
        ? UInt8(byte < indexes.count ? indexes[byte] : 0)
        : UInt8(
          (padded.dropFirst(2 * byte).first ?? 0) << 4 | (padded.dropFirst(2 * byte + 1).first ?? 0)
        )
    }
  }

  // MARK: - Numbers

  private func long(_ value: Int) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }

  private func short(_ value: Int) -> [UInt8] {
    (0..<2).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }
}

/// Puts pictures together to an icon or a cursor of Windows.
package struct IconWriter: Sendable {
  package struct Part: Sendable {
    let width: Int
    let height: Int
    package let bytes: [UInt8]

    /// - Parameter bytes: a PNG, or a bitmap as ``BitmapWriter/iconPart(_:)`` makes it.
    package init(width: Int, height: Int, _ bytes: [UInt8]) {
      (self.width, self.height, self.bytes) = (width, height, bytes)
    }

    package init(_ raster: Raster, _ writer: BitmapWriter) {
      self.init(width: raster.width, height: raster.height, writer.iconPart(raster))
    }
  }

  private let parts: [Part]
  private let type: UInt8

  /// - Parameter isCursor: whether the fields of the colours hold the place of the tip.
  package init(_ parts: [Part], isCursor: Bool = false) {
    self.parts = parts
    type = isCursor ? 2 : 1
  }

  package var bytes: [UInt8] {
    var directory: [UInt8] = [0, 0, type, 0] + number(parts.count, 2)
    var offset = directory.count + 16 * parts.count
    for part in parts {
      // A side of 256 pixels has the number 0.
      directory += [UInt8(part.width & 0xFF), UInt8(part.height & 0xFF), 0, 0]
      directory += [7, 0, 9, 0] + number(part.bytes.count, 4) + number(offset, 4)
      offset += part.bytes.count
    }
    return directory + parts.flatMap(\.bytes)
  }

  private func number(_ value: Int, _ byteCount: Int) -> [UInt8] {
    (0..<byteCount).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }
}
