import CVips
import ImgFacts

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
    let pixelOffset = BinaryFields(fileHeader, .littleEndian).u32(10)
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

extension Bitmap {
  /// The pixels in 8-bit sRGB, or in the colours of the profile that the image then carries.
  func frame(_ extent: DecodeExtent) throws(DecodeError) -> Image {
    guard max(size.width, size.height) <= Int(VIPS_MAX_COORD) else {
      throw .unsupported("BMP of more than \(VIPS_MAX_COORD) pixels a side")
    }
    let profile = try profile(extent)
    let frame = try pixelsInSRGB(extent)
    if let profile { frame.setProfile(profile) }
    return frame
  }

  private func pixelsInSRGB(_ extent: DecodeExtent) throws(DecodeError) -> Image {
    switch header.coding {
    case .indexes:
      try rows(of: .indexes(bitCount: header.bitCount, colours), hasAlpha: false, extent)
    case .blueGreenRed:
      try rows(of: .blueGreenRed, hasAlpha: false, extent)
    case .masks(let masks):
      try rows(
        of: .masks(masks, byteCount: header.bitCount / 8), hasAlpha: masks.hasAlpha, extent)
    case .runs:
      try runs(extent)
    }
  }

  private func profile(_ extent: DecodeExtent) throws(DecodeError) -> [UInt8]? {
    guard let range = header.profile else { return nil }
    let profile = input.bytes(at: start + range.lowerBound, upTo: range.count)
    if profile.count == range.count { return profile }
    guard extent == .readablePart else { throw .corrupt("its colour profile is cut") }
    return nil
  }

  /// Makes an image of samples that `decode` reads from the file.
  private func image(
    on canvas: BitmapCanvas,
    _ decode: (Span<UInt8>, inout MutableSpan<UInt8>) throws(DecodeError) -> Void
  ) throws(DecodeError) -> Image {
    try unsafe Image.filled(
      width: UInt32(canvas.width), height: UInt32(canvas.height),
      bandCount: Int32(canvas.bandCount), interpretation: VIPS_INTERPRETATION_sRGB
    ) { (start) throws(DecodeError) in
      let file = unsafe Span(_unsafeElements: input.buffer)
      var samples = unsafe MutableSpan(_unsafeStart: start, count: canvas.byteCount)
      try decode(file, &samples)
    }
  }

  private func canvas(hasAlpha: Bool) -> BitmapCanvas {
    BitmapCanvas(
      width: size.width, height: size.height, bandCount: hasAlpha ? 4 : 3,
      isTopDown: header.isTopDown)
  }

  // MARK: - Runs

  /// Pixels that the runs leave out are transparent.
  private func runs(_ extent: DecodeExtent) throws(DecodeError) -> Image {
    let canvas = canvas(hasAlpha: true)
    return try image(on: canvas) { (file, samples) throws(DecodeError) in
      samples.update(repeating: 0)
      var runs = BitmapRuns(at: pixelOffset, bitCount: header.bitCount, colours, on: canvas)
      guard !runs.decode(file, to: &samples) else { return }
      switch extent {
      case .whole: throw .corrupt("its runs end before its last pixel")
      case .readablePart:
        guard runs.hasContent else { throw .corrupt(Image.noRowText) }
      }
    }
  }

  // MARK: - Rows

  private func rows(
    of pixels: BitmapPixels, hasAlpha: Bool, _ extent: DecodeExtent
  ) throws(DecodeError) -> Image {
    let canvas = canvas(hasAlpha: hasAlpha || hasMask)
    let rows = BitmapRows(
      at: pixelOffset, width: size.width, bitCount: header.bitCount, height: size.height,
      inFileOf: input.byteCount)
    try check(rows.presentCount, "rows", extent)
    guard rows.presentCount > 0 else { throw .corrupt(Image.noRowText) }
    return try image(on: canvas) { (file, samples) throws(DecodeError) in
      if rows.presentCount < size.height { samples.update(repeating: 0) }
      for row in 0..<rows.presentCount {
        pixels.decode(
          file.extracting(rows[row]), to: &samples, at: canvas.offset(ofRow: row), on: canvas)
      }
      if hasAlpha {
        guard canvas.isTransparent(samples) else { return }
        // Programs that know of no opacity write 0.
        canvas.makeOpaque(0..<rows.presentCount, of: &samples)
      }
      if hasMask { try applyMask(behind: rows, file, to: &samples, on: canvas, extent) }
    }
  }

  /// Makes transparent what the mask does not show.
  private func applyMask(
    behind rows: BitmapRows, _ file: Span<UInt8>, to samples: inout MutableSpan<UInt8>,
    on canvas: BitmapCanvas, _ extent: DecodeExtent
  ) throws(DecodeError) {
    let mask = BitmapRows(
      at: rows.end, width: size.width, bitCount: 1, height: size.height,
      inFileOf: input.byteCount)
    try check(mask.presentCount, "rows of the mask", extent)
    for row in 0..<mask.presentCount {
      canvas.hide(file.extracting(mask[row]), ofRow: row, in: &samples)
    }
  }

  private func check(
    _ presentCount: Int, _ rows: String, _ extent: DecodeExtent
  ) throws(DecodeError) {
    guard extent == .readablePart || presentCount == size.height else {
      throw .corrupt("\(presentCount) of \(size.height) \(rows) are there")
    }
  }
}

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

/// The fields of a bitmap's header, at the offsets that all headers but the oldest have in common. Each
/// header is the beginning of a longer one. A field that a header is too short for is 0.
struct BitmapFields {
  /// Of the oldest header, of OS/2 1 and Windows 2.
  static let coreByteCount = 12
  /// The next are those of OS/2 2 (shortened and whole), Windows 3, two of Adobe, Windows 4 and 5.
  private static let byteCounts = [coreByteCount, 16, 64, 40, 52, 56, 108, 124]
  private static let maximumByteCount = 124

  /// Of the header alone.
  let byteCount: Int
  /// The header and what follows, then zeros.
  private let bytes: BinaryFields

  init(_ input: PictureInput, at offset: Int) throws(DecodeError) {
    let read = input.bytes(at: offset, upTo: Self.maximumByteCount)
    let absent = [UInt8](repeating: 0, count: Self.maximumByteCount - read.count)
    bytes = BinaryFields(read + absent, .littleEndian)
    byteCount = bytes.u32(0)
    guard read.count >= min(byteCount, Self.maximumByteCount) else {
      throw .corrupt("its header is cut")
    }
    guard Self.byteCounts.contains(byteCount) else {
      throw .corrupt("its header declares to have \(byteCount) bytes")
    }
  }

  var isCore: Bool { byteCount == Self.coreByteCount }
  /// Whether it is one of OS/2 2, which numbers its compressions otherwise.
  var isOS2: Bool { [16, 64].contains(byteCount) }

  func unsigned(at offset: Int) -> Int {
    offset + 4 <= byteCount ? bytes.u32(offset) : 0
  }

  func signed(at offset: Int) -> Int {
    Int(Int32(truncatingIfNeeded: unsigned(at: offset)))
  }

  func short(at offset: Int) -> Int {
    offset + 2 <= byteCount ? bytes.u16(offset) : 0
  }

  // MARK: - Masks

  private static let masksOffset = 40
  private static let maskByteCount = 4

  /// Bytes of the masks that follow a header of Windows 3, which has no fields for them.
  ///
  /// - Parameter compression: 3 for masks of three channels, 6 for four.
  func followingMasksByteCount(compression: Int) -> Int {
    guard byteCount == Self.masksOffset else { return 0 }
    switch compression {
    case 3: return 3 * Self.maskByteCount
    case 6: return 4 * Self.maskByteCount
    default: return 0
    }
  }

  /// Of red, green, blue and the opacity; 0 for an absent one.
  func masks(compression: Int) -> [UInt32] {
    let end = byteCount + followingMasksByteCount(compression: compression)
    return (0..<4).map { index in
      let offset = Self.masksOffset + index * Self.maskByteCount
      let isThere = offset + Self.maskByteCount <= end && !isOS2
      return isThere ? UInt32(truncatingIfNeeded: bytes.u32(offset)) : 0
    }
  }

  // MARK: - The colour profile

  /// "MBED" as a number: the profile lies in the file ([MS-WMF] section 2.1.1.14). Any other value
  /// means sRGB, or a file elsewhere, or numbers that other readers ignore, too.
  private static let embeddedProfile = 0x4D42_4544

  /// Where the profile lies, counted from the header's first byte; `nil` if there is none.
  var profile: Range<Int>? {
    let (start, count) = (unsigned(at: 112), unsigned(at: 116))
    guard unsigned(at: 56) == Self.embeddedProfile, count > 0 else { return nil }
    return start..<start + count
  }
}
