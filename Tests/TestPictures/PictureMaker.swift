import CVips
package import ImgDecode

/// Makes encoded pictures in memory, so that tests and demonstrations need no files.
package struct PictureMaker: Sendable {
  package init(runtime: VipsRuntime) {}

  package static func start() throws(VipsError) -> PictureMaker {
    PictureMaker(runtime: try VipsRuntime.start())
  }

  /// A ``Card``. `width` and `height` are those of the upright picture.
  /// - Parameter orientation: with another value than 1 the pixels are stored turned or mirrored,
  ///   and the EXIF tag tells how.
  package func card(
    index: Int, width: Int = 320, height: Int = 240, format: PictureFormat = .jpeg,
    orientation: Int = 1, hasAlpha: Bool = false
  ) throws(PictureError) -> [UInt8] {
    let card = Card(index: index, width: width, height: height, hasAlpha: hasAlpha)
    return try encode(
      card.raster, as: format, orientation: orientation, hasAlpha: hasAlpha && format.hasAlpha)
  }

  /// A ``Card`` in JPEG 2000. Its decoder has known faults, so tests decode it in another process.
  package func jpeg2000Card(index: Int) throws(PictureError) -> [UInt8] {
    let raster = Card(index: index, width: 320, height: 240).raster
    return try VipsRaster(raster, as: .png, hasAlpha: false).encoded(suffix: ".jp2")
  }

  /// A ``Card`` that carries a colour profile, which says what its numbers mean; they stay as they are.
  package func card(
    index: Int, format: PictureFormat, profile: [UInt8]
  ) throws(PictureError) -> [UInt8] {
    let raster = Card(index: index, width: 320, height: 240).raster
    let image = try VipsRaster(raster, as: format, hasAlpha: false)
    image.setProfile(profile)
    return try image.encoded(as: format)
  }

  /// A JPEG XL with transparency whose samples are floating-point numbers in linear light.
  package func linearJPEGXL(_ raster: Raster) throws(PictureError) -> [UInt8] {
    try VipsRaster(inLinearLight: raster).encoded(suffix: ".jxl[lossless]")
  }

  /// A picture somewhat like a photograph: soft light, edges and some grain, so that no part of it is
  /// like another and an encoder has something to do everywhere.
  package func scene(
    width: Int, height: Int, format: PictureFormat
  ) throws(PictureError) -> [UInt8] {
    var state: UInt64 = 1
    let raster = Raster(width: width, height: height) { x, y in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let grain = Int(state >> 59)
      let isInside =
        (x - width / 3) * (x - width / 3) + (y - height / 2) * (y - height / 2)
        < height * height / 9
      let shade = isInside ? 90 : 0
      let sample = { (light: Int) in UInt8(clamping: light + grain) }
      return Raster.Pixel(
        sample(shade + 120 * x / width), sample(40 + 150 * y / height),
        sample(shade / 2 + (x * y / 97) % 80))
    }
    return try encode(raster, as: format)
  }

  /// A picture of seeded noise: hardly smaller encoded than not, so a way to a body of a wanted
  /// size.
  package func noise(
    seed: UInt64, width: Int, height: Int, format: PictureFormat = .jpeg
  ) throws(PictureError) -> [UInt8] {
    var state = seed
    let raster = Raster(width: width, height: height) { _, _ in
      // The multiplier and increment of Knuth's MMIX generator; its high bits are the good ones.
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Raster.Pixel(
        UInt8(truncatingIfNeeded: state >> 56), UInt8(truncatingIfNeeded: state >> 48),
        UInt8(truncatingIfNeeded: state >> 40))
    }
    return try encode(raster, as: format)
  }

  /// A whole PNG of few bytes and `side` × `side` pixels, all black but one.
  package func blank(side: Int) throws(PictureError) -> [UInt8] {
    let pixel = Raster(width: 1, height: 1) { _, _ in Raster.Pixel(255, 255, 255) }
    return try VipsRaster(pixel, as: .grayPNG, hasAlpha: false)
      .enlarged(width: side, height: side).encoded(suffix: ".png[bitdepth=1]")
  }

  /// An animation of `frameCount` cards that count up from `index`, 100 ms each.
  /// - Parameter format: `gif` or one of WebP.
  package func animation(
    index: Int, width: Int = 64, height: Int = 48, frameCount: Int, format: PictureFormat = .gif
  ) throws(PictureError) -> [UInt8] {
    let cards = (0..<frameCount).map {
      Card(index: index + $0, width: width, height: height).raster
    }
    return try animation(of: cards, as: format)
  }

  /// An animation of frames of one size, 100 ms each.
  /// - Parameter format: `gif` or one of WebP.
  package func animation(
    of frames: [Raster], as format: PictureFormat
  ) throws(PictureError) -> [UInt8] {
    let (width, height) = (frames[0].width, frames[0].height)
    let strip = Raster(width: width, height: height * frames.count) { x, y in
      frames[y / height][x, y % height]
    }
    let image = try VipsRaster(strip, as: format, hasAlpha: false)
    image.setFrames(height: height, count: frames.count)
    return try image.encoded(as: format)
  }

  /// A JPEG of a wanted quality.
  ///
  /// - Parameters:
  ///   - quality: 1…100.
  ///   - halvesColours: whether a colour stands for 2 × 2 pixels (4:2:0), as most cameras have it, or
  ///     for each (4:4:4).
  package func photograph(
    _ raster: Raster, quality: Int, halvesColours: Bool, profile: [UInt8]? = nil
  ) throws(PictureError) -> [UInt8] {
    let mode = halvesColours ? "on" : "off"
    let image = try VipsRaster(raster, as: .jpeg, hasAlpha: false)
    if let profile { image.setProfile(profile) }
    return try image.encoded(suffix: ".jpg[Q=\(quality),subsample_mode=\(mode)]")
  }

  /// Encodes pixels.
  /// - Parameter hasAlpha: whether their transparency is kept; else it is ignored.
  package func encode(
    _ raster: Raster, as format: PictureFormat, orientation: Int = 1, hasAlpha: Bool = false
  ) throws(PictureError) -> [UInt8] {
    switch format {
    case .bmp:
      let masks: [UInt32] = [0xFF0000, 0xFF00, 0xFF, 0xFF00_0000]
      let pixels = hasAlpha ? BitmapWriter.Pixels.masks(32, masks) : .blueGreenRed
      return BitmapWriter(hasAlpha ? .version5 : .info, pixels).file(raster)
    case .ico:
      let writer = BitmapWriter(.info, .blueGreenRedAlpha)
      return IconWriter([IconWriter.Part(raster, writer)]).bytes
    default: break
    }
    let image = try VipsRaster(
      raster.stored(forOrientation: orientation), as: format, hasAlpha: hasAlpha)
    if orientation != 1 { image.setOrientation(orientation) }
    return try image.encoded(as: format)
  }
}

extension PictureMaker {
  /// A small picture whose header claims `side` × `side` pixels.
  ///
  /// - Parameter format: JPEG or PNG.
  package func card(declaring side: Int, in format: PictureFormat) throws(PictureError) -> [UInt8] {
    var picture = try card(index: 1, width: 8, height: 8, format: format)
    let claimed = [UInt8(side >> 8), UInt8(side & 0xFF)]
    switch format {
    case .jpeg:
      // The frame header: marker, length (2), precision (1), height (2), width (2).
      let frameHeader: [UInt8] = [0xFF, 0xC0]
      guard let marker = picture.indices.first(where: { picture[$0...].starts(with: frameHeader) })
      else { preconditionFailure("a JPEG without a frame header") }
      picture.replaceSubrange(marker + 5..<marker + 9, with: claimed + claimed)
    default:
      // The chunk IHDR: length (4), type (4), width (4), height (4), five more bytes, CRC (4).
      picture.replaceSubrange(16..<24, with: [0, 0] + claimed + [0, 0] + claimed)
      let sum = crc32(picture[12..<29])
      picture.replaceSubrange(
        29..<33, with: (0..<4).map { UInt8(truncatingIfNeeded: sum >> (24 - 8 * $0)) })
    }
    return picture
  }

  /// The checksum of a PNG chunk's type and data (ISO/IEC 15948 annex D).
  private func crc32(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    ~bytes.reduce(UInt32.max) { sum, byte in
      (0..<8).reduce(sum ^ UInt32(byte)) { bits, _ in
        bits & 1 == 1 ? bits >> 1 ^ 0xEDB8_8320 : bits >> 1
      }
    }
  }
}

/// An encoding in which test pictures are made, some formats in several flavours.
///
/// `displayP3PNG` carries the profile of a wide-gamut screen: its numbers mean stronger colours than
/// the same numbers in sRGB.
package enum PictureFormat: String, CaseIterable, Sendable {
  case jpeg, progressiveJPEG, grayJPEG, cmykJPEG
  case png, interlacedPNG, grayPNG, sixteenBitPNG, displayP3PNG
  case webp, losslessWebP
  case gif
  case tiff, grayTIFF, cmykTIFF
  case avif, heif
  case jxl
  case bmp, ico
  case pnm

  /// The file name suffix and options by which libvips knows it; `nil` for formats that it does not
  /// write. Where an encoder can trade size for time, the faster way is taken.
  var suffix: String? {
    switch self {
    case .jpeg, .grayJPEG, .cmykJPEG: ".jpg[Q=90]"
    case .progressiveJPEG: ".jpg[Q=90,interlace]"
    case .png, .grayPNG, .sixteenBitPNG: ".png[compression=3]"
    case .displayP3PNG: ".png[compression=3,profile=p3]"
    case .interlacedPNG: ".png[compression=3,interlace]"
    case .webp: ".webp[Q=90,effort=2]"
    case .losslessWebP: ".webp[lossless,effort=2]"
    case .gif: ".gif[effort=2]"
    case .tiff, .grayTIFF, .cmykTIFF: ".tif[compression=lzw]"
    case .avif: ".avif[Q=80,effort=1]"
    case .heif: ".heic[Q=80]"
    case .jxl: ".jxl[effort=3]"
    case .bmp, .ico: nil
    case .pnm: ".ppm"
    }
  }

  /// Whether a picture can be transparent in it.
  package var hasAlpha: Bool {
    switch self {
    case .jpeg, .progressiveJPEG, .grayJPEG, .cmykJPEG, .grayPNG, .grayTIFF, .pnm: false
    default: true
    }
  }
}

/// Why a test picture could not be made or read.
package struct PictureError: Error, CustomStringConvertible {
  package let description: String

  /// Takes the error text out of libvips' buffer, which is empty afterwards.
  init(operation: String) {
    let text = unsafe vips_error_buffer_copy()
    defer { unsafe g_free(text) }
    description = "\(operation): " + (unsafe text.map { unsafe String(cString: $0) } ?? "")
  }
}

/// A test card that differs visibly from every other and shows its orientation.
///
/// The background's hue comes from the index, which stands in the middle in figures; the corners
/// are red (top left), green (top right), blue (bottom left) and yellow (bottom right).
package struct Card: Sendable {
  package let index: Int
  package let width: Int
  package let height: Int
  /// Whether the middle of the lower edge is transparent.
  package let hasAlpha: Bool

  package static let topLeft = Raster.Pixel(220, 30, 30)
  package static let topRight = Raster.Pixel(30, 160, 60)
  package static let bottomLeft = Raster.Pixel(30, 60, 200)
  package static let bottomRight = Raster.Pixel(240, 210, 40)

  package init(index: Int, width: Int, height: Int, hasAlpha: Bool = false) {
    precondition(index >= 0, "the figures have no sign")
    self.index = index
    self.width = width
    self.height = height
    self.hasAlpha = hasAlpha
  }

  package var raster: Raster {
    let label = Label(number: index, width: width, height: height)
    return Raster(width: width, height: height) { x, y in
      if label.covers(x, y) { return Raster.Pixel(255, 255, 255) }
      if let corner = corner(x, y) { return corner }
      if hasAlpha && isInNotch(x, y) { return Raster.Pixel(0, 0, 0, alpha: 0) }
      return background(x, y)
    }
  }

  private func corner(_ x: Int, _ y: Int) -> Raster.Pixel? {
    let side = max(1, min(width, height) / 4)
    let (isLeft, isRight) = (x < side, x >= width - side)
    let (isTop, isBottom) = (y < side, y >= height - side)
    return switch (isTop, isBottom, isLeft, isRight) {
    case (true, _, true, _): Self.topLeft
    case (true, _, _, true): Self.topRight
    case (_, true, true, _): Self.bottomLeft
    case (_, true, _, true): Self.bottomRight
    default: nil
    }
  }

  private func isInNotch(_ x: Int, _ y: Int) -> Bool {
    y >= height * 3 / 4 && x >= width / 3 && x < width * 2 / 3
  }

  /// A slope of brightness in the index's hue. Hues of neighbouring indices lie far apart, because
  /// each step turns the wheel by the golden ratio.
  private func background(_ x: Int, _ y: Int) -> Raster.Pixel {
    let turns = Double(index) * 0.618_033_988_75
    let hue = (turns - turns.rounded(.down)) * 6
    let brightness = 110 + 100 * Double(x + y) / Double(width + height)
    func channel(_ centre: Double) -> UInt8 {
      let distance = abs(hue - centre)
      let share = 2 - min(distance, 6 - distance)
      return UInt8(brightness * (0.35 + 0.65 * min(max(share, 0), 1)))
    }
    return Raster.Pixel(channel(0), channel(2), channel(4))
  }
}

/// A number in figures of 3 × 5 dots, as large as half a card allows, in the middle of it.
private struct Label {
  /// The dots of each figure, row by row from the top, a row's left dot in its highest bit.
  private static let figures: [[UInt8]] = [
    [0b111, 0b101, 0b101, 0b101, 0b111], [0b010, 0b110, 0b010, 0b010, 0b111],
    [0b111, 0b001, 0b111, 0b100, 0b111], [0b111, 0b001, 0b111, 0b001, 0b111],
    [0b101, 0b101, 0b111, 0b001, 0b001], [0b111, 0b100, 0b111, 0b001, 0b111],
    [0b111, 0b100, 0b111, 0b101, 0b111], [0b111, 0b001, 0b010, 0b010, 0b010],
    [0b111, 0b101, 0b111, 0b101, 0b111], [0b111, 0b101, 0b111, 0b001, 0b111],
  ]

  private let digits: [Int]
  /// Side of a dot in pixels; 0 where the card is too small for a number.
  private let dotSide: Int
  private let left: Int
  private let top: Int

  init(number: Int, width: Int, height: Int) {
    digits = String(number).compactMap(\.wholeNumberValue)
    let columns = digits.count * 4 - 1
    dotSide = min(width / 2 / columns, height / 2 / 5)
    left = (width - columns * dotSide) / 2
    top = (height - 5 * dotSide) / 2
  }

  func covers(_ x: Int, _ y: Int) -> Bool {
    guard dotSide > 0, x >= left, y >= top else { return false }
    let (column, row) = ((x - left) / dotSide, (y - top) / dotSide)
    guard row < 5, column < digits.count * 4, column % 4 < 3 else { return false }
    return Self.figures[digits[column / 4]][row] >> (2 - column % 4) & 1 == 1
  }
}
