package import ImgClient
package import ImgModel
package import ImgSettings

/// Where the tiles of a contact sheet are: in rows from the upper left, with gaps between them and around them.
package struct SheetLayout: Hashable, Sendable {
  /// The size of a tile in pixels.
  package struct Tile: Hashable, Sendable {
    package let width: Int
    package let height: Int

    package init(width: Int, height: Int) {
      (self.width, self.height) = (width, height)
    }
  }

  package let count: Int
  package let columns: Int
  package let tile: Tile
  private let gap: Int

  /// The sides of a tile that may be asked for.
  package static let sideRange = 16...2_000
  /// The side of a tile without another one, where as many fit.
  package static let standardSide = 200

  /// - Parameters:
  ///   - columns: `nil` for a sheet that is about square.
  ///   - count: at least one.
  init(_ count: Int, of tile: Tile, columns: Int?) {
    self.count = count
    self.tile = tile
    gap = max(1, max(tile.width, tile.height) / 25)
    let ratio = Double(tile.height + gap) / Double(tile.width + gap)
    let square = Int((Double(count) * ratio).squareRoot().rounded(.up))
    self.columns = min(max(1, columns ?? square), count)
  }

  /// The largest tiles that fit, up to ``standardSide`` without `tile`.
  ///
  /// - Parameters:
  ///   - count: at least one.
  ///   - tile: the size that the user wants.
  ///   - columns: their number that the user wants.
  /// - Throws: if the sheet would be too large.
  package init(
    _ count: Int, of tile: Tile?, columns: Int?, within limits: SheetLimits
  ) throws(UsageError) {
    let fitting = stride(from: Self.standardSide, through: Self.sideRange.lowerBound, by: -1).lazy
      .map { SheetLayout(count, of: Tile(width: $0, height: $0), columns: columns) }
      .first { limits.permit($0) }
    if let tile {
      let layout = SheetLayout(count, of: tile, columns: columns)
      guard limits.permit(layout) else {
        let advice = fitting.map { "; --tile \($0.tile.width) fits" } ?? ""
        throw UsageError(
          "\(HumanText.count(count, of: "tile")) of \(tile.width)x\(tile.height) in "
            + "\(HumanText.count(layout.columns, of: "column")) make a sheet of \(layout.width)x\(layout.height) "
            + "pixels; \(limits)\(advice)")
      }
      self = layout
    } else if let fitting {
      self = fitting
    } else {
      throw UsageError(
        "\(HumanText.count(count, of: "tile")) do not fit a sheet, not even of \(Self.sideRange.lowerBound) pixels "
          + "each; \(limits)")
    }
  }

  package var rows: Int { (count + columns - 1) / columns }
  package var width: Int { columns * (tile.width + gap) + gap }
  package var height: Int { rows * (tile.height + gap) + gap }

  /// The upper left corner of a picture in the middle of its tile.
  ///
  /// - Parameter index: of the tile, from 0.
  func corner(of index: Int, width: Int, height: Int) -> (x: Int, y: Int) {
    let (row, column) = index.quotientAndRemainder(dividingBy: columns)
    return (
      gap + column * (tile.width + gap) + (tile.width - width) / 2,
      gap + row * (tile.height + gap) + (tile.height - height) / 2
    )
  }
}

/// How large a contact sheet may be.
package struct SheetLimits: Hashable, Sendable, CustomStringConvertible {
  private let pixelCount: Int

  private static let maximumSide = ImageVariant.sideRange.upperBound
  /// The sheet is in memory, with three bytes for each.
  private static let maximumPixelCount = 64_000_000

  /// - Parameter limits: of the cluster, which encodes the sheet as a picture.
  package init(_ limits: Limits) {
    let bodyPixelCount =
      (limits.maxBodyByteCount - Int64(SheetCanvas.maximumHeaderByteCount))
      / Int64(SheetCanvas.bytesPerPixel)
    pixelCount = min(
      Self.maximumPixelCount, Int(clamping: min(limits.maxPixels, bodyPixelCount)))
  }

  func permit(_ layout: SheetLayout) -> Bool {
    max(layout.width, layout.height) <= Self.maximumSide
      && layout.width * layout.height <= pixelCount
  }

  package var description: String {
    let millions = Double(pixelCount / 100_000) / 10
    return
      "a sheet has at most \(millions) megapixels (--max-body, --max-pixels) and \(Self.maximumSide) pixels a side"
  }
}

/// The pixels of a contact sheet: a portable pixmap, which the cluster reads as a picture.
package struct SheetCanvas: ~Copyable {
  static let bytesPerPixel = 3
  static let maximumHeaderByteCount = 32

  package let layout: SheetLayout
  package private(set) var file: [UInt8]
  private let headerByteCount: Int

  package init(_ layout: SheetLayout, on background: RGBColour) {
    self.layout = layout
    let header = Array("P6\n\(layout.width) \(layout.height)\n255\n".utf8)
    headerByteCount = header.count
    let pixelCount = layout.width * layout.height
    let samples = [background.red, background.green, background.blue]
    file = []
    file.reserveCapacity(header.count + Self.bytesPerPixel * pixelCount)
    file += header
    for _ in 0..<pixelCount { file += samples }
  }

  /// Draws a picture into the middle of a tile. What it shows through is what was there.
  ///
  /// - Parameters:
  ///   - picture: no larger than a tile.
  ///   - index: of the tile, from 0.
  package mutating func draw(_ picture: ImagePixels, in index: Int) {
    let (x, y) = layout.corner(of: index, width: picture.width, height: picture.height)
    for row in 0..<picture.height {
      var place = headerByteCount + Self.bytesPerPixel * ((y + row) * layout.width + x)
      let samples = picture.row(row)
      for start in stride(
        from: samples.startIndex, to: samples.endIndex, by: ImagePixels.samplesPerPixel)
      {
        let alpha = Int(samples[start + 3])
        for sample in 0..<Self.bytesPerPixel {
          let below = Int(file[place])
          file[place] = UInt8(
            (Int(samples[start + sample]) * alpha + below * (255 - alpha) + 127) / 255)
          place += 1
        }
      }
    }
  }
}
