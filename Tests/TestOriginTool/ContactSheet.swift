import FoundationEssentials
import ImgDecode
import TestPictures

/// All pictures of a directory on one sheet, in the order of their names, so that a person sees at
/// one look what came out.
struct ContactSheet {
  private static let margin = 4
  private static let pictureLimit = 5_000

  private let pictures: [Raster]
  private let cellWidth: Int
  private let cellHeight: Int
  private let columnCount: Int

  /// Files that are no pictures, such as a manifest, are skipped.
  init(directory: String) throws {
    let reader = PictureReader(runtime: try VipsRuntime.start())
    let names = try FileManager.default.subpathsOfDirectory(atPath: directory).sorted()
    pictures = names.prefix(Self.pictureLimit).compactMap { name in
      FileManager.default.contents(atPath: directory + "/" + name).flatMap { content in
        // A file that libvips cannot read is not a picture, whatever the reason it gives.
        try? reader.raster(of: Array(content))
      }
    }
    guard let widest = pictures.map(\.width).max(), let highest = pictures.map(\.height).max()
    else { throw UsageError(message: "there is no picture in \(directory)") }
    cellWidth = widest + Self.margin
    cellHeight = highest + Self.margin
    // About two to one, which suits a screen.
    let ideal = (2 * Double(pictures.count * cellHeight) / Double(cellWidth)).squareRoot()
    columnCount = min(pictures.count, max(1, Int(ideal.rounded())))
  }

  /// The sheet as PNG.
  func encoded() throws -> [UInt8] {
    let rowCount = (pictures.count + columnCount - 1) / columnCount
    let background = Raster.Pixel(48, 48, 48)
    let sheet = Raster(width: columnCount * cellWidth, height: rowCount * cellHeight) { x, y in
      let index = y / cellHeight * columnCount + x / cellWidth
      guard index < pictures.count else { return background }
      let picture = pictures[index]
      let left = (cellWidth - picture.width) / 2
      let top = (cellHeight - picture.height) / 2
      let (column, row) = (x % cellWidth - left, y % cellHeight - top)
      guard (0..<picture.width).contains(column), (0..<picture.height).contains(row) else {
        return background
      }
      return picture[column, row]
    }
    return try PictureMaker.start().encode(sheet, as: .png)
  }
}
