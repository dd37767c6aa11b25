import ImgModel

/// One of the pictures in an icon: a bitmap without a file header, or a PNG.
struct IconEntry {
  private enum Content {
    case bitmap(Bitmap)
    case png(PictureInput)
  }

  let size: ThumbnailGeometry.Size
  /// Bits of a pixel.
  let bitCount: Int
  /// Whether the file has as many bytes of it as the directory declares.
  let isPresent: Bool
  private let content: Content

  /// Reads the picture's header. What the directory says of its size and its colours does not count:
  /// a side of 256 pixels or more has no number there, and many programs write wrong ones.
  ///
  /// - Parameters:
  ///   - file: the icon.
  ///   - entry: of the directory, 16 bytes.
  init(in file: PictureInput, _ entry: [UInt8]) throws(DecodeError) {
    let fields = LittleEndianBytes(entry)
    let (byteCount, offset) = (fields.unsigned(at: 8), fields.unsigned(at: 12))
    guard let input = file.dropping(offset) else {
      throw .corrupt("a picture in it lies behind its end")
    }
    isPresent = byteCount <= input.byteCount
    let head = input.bytes(at: 0, upTo: PNGHeader.byteCount)
    if head.starts(with: PNGHeader.signature) {
      guard let header = PNGHeader(head) else { throw .corrupt("a PNG in it has no header") }
      size = .init(width: header.width, height: header.height)
      bitCount = header.bitCount
      content = .png(input)
    } else {
      let bitmap = try Bitmap.inIcon(input)
      size = bitmap.size
      bitCount = bitmap.bitCount
      content = .bitmap(bitmap)
    }
  }

  /// Its pixels; those of a PNG are decoded when they are asked for.
  func frame(_ extent: DecodeExtent) throws(DecodeError) -> Image {
    switch content {
    case .bitmap(let bitmap):
      return try bitmap.frame(extent)
    case .png(let input):
      let picture = try VipsPicture(input, in: .png, extent)
      // The limits were checked against this header.
      guard picture.header.stored == size else { throw .corrupt("a PNG in it has two headers") }
      return try picture.firstFrame(for: size)
    }
  }

  /// Whether it shows the same as a larger one: no other shape, no fewer colours.
  func isAlike(_ other: IconEntry) -> Bool {
    size.hasShape(of: other.size) && bitCount >= other.bitCount
  }

  func covers(_ size: ThumbnailGeometry.Size) -> Bool {
    self.size.width >= size.width && self.size.height >= size.height
  }
}
