/// A bitmap in a file of its own or in an icon: its header, and where its colours and pixels lie.
struct Bitmap {
  let input: PictureInput
  let header: BitmapHeader
  /// Where the header begins.
  let start: Int
  let colours: BitmapColours
  let pixelOffset: Int
  /// Whether a mask follows the pixels, one bit each: 1 for those that are not shown.
  let hasMask: Bool

  /// Of the picture. A header in an icon counts the rows of the mask, too.
  let size: ThumbnailGeometry.Size
  var bitCount: Int { header.bitCount }

  private static let fileHeaderByteCount = 14

  /// Reads the headers of a file.
  static func file(_ input: PictureInput) throws(DecodeError) -> Bitmap {
    let fileHeader = input.bytes(at: 0, upTo: fileHeaderByteCount)
    guard fileHeader.count == fileHeaderByteCount else { throw .corrupt("its header is cut") }
    let pixelOffset = LittleEndianBytes(fileHeader).unsigned(at: 10)
    return try Bitmap(input, at: fileHeaderByteCount, pixelOffset: pixelOffset, hasMask: false)
  }

  /// Reads the header of a bitmap in an icon. Its pixels follow its colours.
  static func inIcon(_ input: PictureInput) throws(DecodeError) -> Bitmap {
    try Bitmap(input, at: 0, pixelOffset: 0, hasMask: true)
  }

  private init(
    _ input: PictureInput, at start: Int, pixelOffset declaredOffset: Int, hasMask: Bool
  ) throws(DecodeError) {
    let header = try BitmapHeader(input, at: start, isInIcon: hasMask)
    if hasMask, case .runs = header.coding { throw .unsupported("icon with run-length coding") }
    let height = hasMask ? header.height / 2 : header.height
    guard height > 0 else { throw .corrupt("its header declares the rows of its mask alone") }
    let colourOffset = start + header.byteCount
    let colourEnd = colourOffset + header.colourCount * header.colourByteCount
    // An offset inside the headers means nothing. A table may be shorter than declared.
    pixelOffset = declaredOffset < colourOffset ? colourEnd : declaredOffset
    let colourByteCount = min(
      colourEnd - colourOffset, pixelOffset - colourOffset,
      BitmapColours.count * header.colourByteCount)
    let colourBytes = input.bytes(at: colourOffset, upTo: colourByteCount)
    colours = BitmapColours(colourBytes, colourByteCount: header.colourByteCount)
    size = .init(width: header.width, height: height)
    self.input = input
    self.start = start
    self.hasMask = hasMask
    self.header = header
  }
}
