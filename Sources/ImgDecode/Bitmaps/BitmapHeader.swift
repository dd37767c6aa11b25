/// The header of a bitmap of Windows or OS/2 ([MS-WMF] section 2.2.2.2 and following; OS/2 Presentation
/// Manager, "BITMAPINFOHEADER2"): what its pixels are.
struct BitmapHeader {
  enum Coding {
    /// Rows of indexes into a table of colours.
    case indexes
    /// Rows of blue, green and red, a byte each.
    case blueGreenRed
    /// Rows of numbers whose bits masks divide among the channels.
    case masks(ChannelMasks)
    /// Runs of equal indexes.
    case runs
  }

  /// With the masks that follow a header which has no fields for them.
  let byteCount: Int
  let width: Int
  let height: Int
  /// Whether the first stored row is the upper one.
  let isTopDown: Bool
  /// Bits of a pixel.
  let bitCount: Int
  let coding: Coding
  /// Bytes of a colour in the table that follows the header.
  let colourByteCount: Int
  /// Colours in that table.
  let colourCount: Int
  /// Where the colour profile lies, counted from the header's first byte; `nil` if there is none.
  let profile: Range<Int>?

  /// - Parameters:
  ///   - offset: of the header in the file.
  ///   - isInIcon: whether the fourth byte of a pixel of 32 bits is its opacity. Elsewhere it is that
  ///     only if a mask says so.
  init(_ input: PictureInput, at offset: Int, isInIcon: Bool) throws(DecodeError) {
    let fields = try BitmapFields(input, at: offset)
    let isCore = fields.isCore
    width = isCore ? fields.short(at: 4) : fields.signed(at: 4)
    let signedHeight = isCore ? fields.short(at: 6) : fields.signed(at: 8)
    guard width > 0, signedHeight != 0 else {
      throw .corrupt("its header declares \(width) × \(signedHeight) pixels")
    }
    height = abs(signedHeight)
    isTopDown = signedHeight < 0
    bitCount = fields.short(at: isCore ? 10 : 14)
    let compression = isCore ? 0 : fields.unsigned(at: 16)
    coding = try Self.coding(compression, bitCount, fields, isInIcon: isInIcon)
    byteCount = fields.byteCount + fields.followingMasksByteCount(compression: compression)
    colourByteCount = isCore ? 3 : 4
    let declared = isCore ? 0 : fields.unsigned(at: 32)
    colourCount = declared == 0 && bitCount <= 8 ? 1 << bitCount : declared
    profile = fields.profile
  }

  private static func coding(
    _ compression: Int, _ bitCount: Int, _ fields: BitmapFields, isInIcon: Bool
  ) throws(DecodeError) -> Coding {
    switch (compression, bitCount) {
    case (0, 1), (0, 2), (0, 4), (0, 8): return .indexes
    case (0, 24): return .blueGreenRed
    case (0, 16), (0, 32):
      return .masks(try channels(usualMasks(bitCount, fields, isInIcon: isInIcon)))
    case (1, 8), (2, 4): return .runs
    case (3, 16), (3, 32), (6, 16), (6, 32):
      return .masks(try channels(fields.masks(compression: compression)))
    case (0, 64): throw .unsupported("BMP with 64-bit pixels")
    case (3, 1): throw .unsupported("BMP with Huffman coding")
    case (4, 24) where fields.isOS2: throw .unsupported("BMP with runs of 24-bit pixels")
    case (4, _): throw .unsupported("BMP that contains a JPEG")
    case (5, _): throw .unsupported("BMP that contains a PNG")
    case (11...13, _): throw .unsupported("BMP in CMYK")
    default:
      throw .corrupt("its header declares \(bitCount) bits a pixel and compression \(compression)")
    }
  }

  /// The masks of a bitmap whose compression does not say that its own are in force. The one of the
  /// opacity is, because programs write it that mean it.
  private static func usualMasks(
    _ bitCount: Int, _ fields: BitmapFields, isInIcon: Bool
  ) -> [UInt32] {
    let colours: [UInt32] = bitCount == 16 ? [0x7C00, 0x03E0, 0x001F] : [0xFF0000, 0xFF00, 0xFF]
    let alpha = isInIcon && bitCount == 32 ? 0xFF00_0000 : fields.masks(compression: 0)[3]
    return colours + [colours.contains { $0 & alpha != 0 } ? 0 : alpha]
  }

  private static func channels(_ masks: [UInt32]) throws(DecodeError) -> ChannelMasks {
    guard
      let channels = ChannelMasks(
        red: masks[0], green: masks[1], blue: masks[2], alpha: masks[3])
    else { throw .corrupt("the masks of its channels are not valid") }
    return channels
  }
}
