import ImgClient

/// The places of pictures, side by side in rows.
struct Grid {
  /// A picture and its gap, in characters.
  static let tile = (columns: 24, rows: 10)
  private static let gap = 2

  /// Pictures in a row.
  let columnCount: Int
  /// What a character stands for.
  private let cell: (width: Int, height: Int)

  init(of terminal: Terminal, drawnBy output: Output) {
    columnCount = max(1, (terminal.columnCount + Self.gap) / (Self.tile.columns + Self.gap))
    cell = output.pixelsPerCell(of: terminal)
  }

  /// A row in characters.
  var size: (columns: Int, rows: Int) {
    (columnCount * (Self.tile.columns + Self.gap) - Self.gap, Self.tile.rows)
  }

  /// The box of a picture.
  var pictureWidth: Int { Self.tile.columns * cell.width }
  var pictureHeight: Int { Self.tile.rows * cell.height }

  /// The pictures of a row on a transparent ground.
  func row(of tiles: some Collection<Tile>) -> ImagePixels? {
    let (width, height) = (size.columns * cell.width, size.rows * cell.height)
    var bytes = [UInt8](repeating: 0, count: width * height * ImagePixels.samplesPerPixel)
    for (index, tile) in tiles.enumerated() {
      guard let pixels = tile.pixels(width: pictureWidth, height: pictureHeight) else { continue }
      let left =
        index * (Self.tile.columns + Self.gap) * cell.width + (pictureWidth - pixels.width) / 2
      let top = (pictureHeight - pixels.height) / 2
      for y in 0..<pixels.height {
        let start = ((top + y) * width + left) * ImagePixels.samplesPerPixel
        let row = pixels.row(y)
        bytes.replaceSubrange(start..<(start + row.count), with: row)
      }
    }
    return ImagePixels(width: width, height: height, bytes: bytes)
  }

  /// Texts in the middle below the pictures.
  func line(of texts: some Sequence<String>) -> String {
    texts.map { Caption.centred($0, columns: Self.tile.columns) }
      .joined(separator: String(repeating: " ", count: Self.gap)) + "\n"
  }
}
