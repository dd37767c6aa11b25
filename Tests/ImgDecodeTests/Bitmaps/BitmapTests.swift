import ImgDecode
import ImgModel
import TestPictures
import Testing

/// Bitmaps of Windows and OS/2, pixel by pixel.
@Suite(.timeLimit(.minutes(20))) struct BitmapTests {
  private let fixture: ThumbnailFixture

  init() throws {
    fixture = try ThumbnailFixture()
  }

  /// Rows that no row of the file is as long as, in so many colours at most.
  ///
  /// - Parameter levels: the greatest numbers of red, green, blue and the opacity.
  private static func raster(
    levels: [Int] = [255, 255, 255, 0], colourCount: Int = .max
  ) -> Raster {
    Raster(width: 37, height: 23) { x, y in
      let number = (x / 3 + y * 5 + x * y) % colourCount
      let channels = levels.enumerated().map { index, greatest in
        let level = (number * (2 * index + 3) + 2 * index) % (greatest + 1)
        return greatest == 0 ? 0 : UInt8((Double(level) * 255 / Double(greatest)).rounded())
      }
      return Raster.Pixel(
        channels[0], channels[1], channels[2], alpha: levels[3] == 0 ? 255 : channels[3])
    }
  }

  private func expect(
    _ writer: BitmapWriter, _ raster: Raster, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    for isTopDown in [false, true] where !isTopDown || writer.header != .core {
      var writer = writer
      writer.isTopDown = isTopDown
      let shown = try fixture.raster(of: writer.file(raster))
      #expect((shown.width, shown.height) == (37, 23), sourceLocation: sourceLocation)
      #expect(shown.bytes == raster.bytes, "\(writer)", sourceLocation: sourceLocation)
    }
  }

  // MARK: - Depths

  @Test(arguments: BitmapWriter.Header.allCases, [1, 2, 4, 8])
  func `indexes of every depth are decoded`(header: BitmapWriter.Header, bitCount: Int) throws {
    let raster = Self.raster(colourCount: (1 << bitCount) - (bitCount > 1 ? 1 : 0))
    try expect(BitmapWriter(header, .indexes(bitCount)), raster)
  }

  @Test(arguments: BitmapWriter.Header.allCases)
  func `colours without masks are decoded`(header: BitmapWriter.Header) throws {
    try expect(BitmapWriter(header, .blueGreenRed), Self.raster())
    try expect(BitmapWriter(header, .sixteenBits), Self.raster(levels: [31, 31, 31, 0]))
    try expect(BitmapWriter(header, .blueGreenRedAlpha), Self.raster())
  }

  @Test(
    arguments: [BitmapWriter.Header.info, .colourMasks, .alphaMask, .version4, .version5],
    [
      (16, [0xF800, 0x07E0, 0x001F, 0], [31, 63, 31, 0]),
      (16, [0x0F00, 0x00F0, 0x000F, 0], [15, 15, 15, 0]),
      (16, [0x0003, 0x001C, 0x0020, 0], [3, 7, 1, 0]),
      (32, [0xFF00_0000, 0xFF_0000, 0xFF00, 0], [255, 255, 255, 0]),
      (32, [0x0FC0_0000, 0x003F_0000, 0x7F, 0], [63, 63, 127, 0]),
    ] as [(Int, [UInt32], [Int])])
  func `masks of colours are obeyed`(
    header: BitmapWriter.Header, masks: (bitCount: Int, masks: [UInt32], levels: [Int])
  ) throws {
    try expect(
      BitmapWriter(header, .masks(masks.bitCount, masks.masks)), Self.raster(levels: masks.levels))
  }

  @Test(
    arguments: [BitmapWriter.Header.info, .alphaMask, .version4, .version5],
    [
      (16, [0x7C00, 0x03E0, 0x001F, 0x8000], [31, 31, 31, 1]),
      (16, [0x0800, 0x01FF, 0x0600, 0xF000], [1, 255, 3, 15]),
      (32, [0xFF0000, 0xFF00, 0xFF, 0xFF00_0000], [255, 255, 255, 255]),
      (32, [0x1F, 0x7E0, 0xF800, 0x30_0000], [31, 63, 31, 3]),
    ] as [(Int, [UInt32], [Int])])
  func `a mask of the opacity is obeyed`(
    header: BitmapWriter.Header, masks: (bitCount: Int, masks: [UInt32], levels: [Int])
  ) throws {
    // Of a channel of more than 8 bits, the upper ones count.
    let isExact = masks.masks.allSatisfy { $0.nonzeroBitCount <= 8 }
    let raster = Self.raster(levels: masks.levels)
    let writer = BitmapWriter(header, .masks(masks.bitCount, masks.masks))
    guard !isExact else { return try expect(writer, raster) }
    let shown = try fixture.raster(of: writer.file(raster))
    for (y, x) in (0..<23).flatMap({ y in (0..<37).map { (y, $0) } }) {
      #expect(shown[x, y].resembles(raster[x, y], tolerance: 1))
    }
  }

  @Test func `an opacity that is 0 everywhere does not count`() throws {
    let opaque = Self.raster()
    let hidden = Raster(width: 37, height: 23) { x, y in
      var pixel = opaque[x, y]
      pixel.alpha = 0
      return pixel
    }
    let writer = BitmapWriter(.version4, .masks(32, [0xFF0000, 0xFF00, 0xFF, 0xFF00_0000]))
    #expect(try fixture.raster(of: writer.file(hidden)).bytes == opaque.bytes)
  }

  @Test func `a mask of the opacity counts without the compression that says so`() throws {
    let raster = Self.raster(levels: [255, 255, 255, 255])
    var file = BitmapWriter(.version5, .blueGreenRedAlpha).file(raster)
    #expect(try fixture.raster(of: file)[5, 5].alpha == 255)
    file.replaceSubrange(14 + 52..<14 + 56, with: [0, 0, 0, 0xFF])
    #expect(try fixture.raster(of: file).bytes == raster.bytes)
  }

  // MARK: - Runs

  @Test(
    arguments: [BitmapWriter.Header.info, .os2, .version4, .version5], [4, 8])
  func `runs are decoded`(header: BitmapWriter.Header, bitCount: Int) throws {
    let raster = Self.raster(colourCount: 1 << bitCount)
    try expect(BitmapWriter(header, .runs(bitCount)), raster)
    let wide = Raster(width: 700, height: 3) { x, _ in
      Raster.Pixel(x < 690 ? 1 : UInt8(x % 9), 2, 3)
    }
    #expect(
      try fixture.raster(of: BitmapWriter(header, .runs(bitCount)).file(wide)).bytes == wide.bytes)
  }

  @Test(arguments: [4, 8])
  func `pixels that runs leave out are transparent`(bitCount: Int) throws {
    let raster = Raster(width: 37, height: 23) { x, y in
      (x + y) % 7 < 3 || y == 9
        ? Raster.Pixel(0, 0, 0, alpha: 0) : Raster.Pixel(UInt8(x % 5), 100, 200)
    }
    try expect(BitmapWriter(.info, .runs(bitCount)), raster)
  }

  // MARK: - Tables of colours

  /// A file of indexes of 8 bits with another table of colours.
  ///
  /// - Parameters:
  ///   - change: changes the table's bytes.
  ///   - colourCount: what the header says of their number; `nil` for the truth.
  private func file(
    of raster: Raster, colourCount: Int? = nil, _ change: ([UInt8]) -> [UInt8]
  ) -> [UInt8] {
    let file = BitmapWriter(.info, .indexes(8)).file(raster)
    let offset = Int(file[10]) | Int(file[11]) << 8
    let table = change(Array(file[54..<offset]))
    let count = colourCount ?? table.count / 4
    var changed = file[..<54] + table + file[offset...]
    changed.replaceSubrange(
      10..<12, with: [UInt8((54 + table.count) & 0xFF), UInt8((54 + table.count) >> 8)])
    changed.replaceSubrange(46..<48, with: [UInt8(count & 0xFF), UInt8(count >> 8)])
    return Array(changed)
  }

  @Test(arguments: [nil, 200, 60_000])
  func `an index without a colour is black`(declaredCount: Int?) throws {
    let raster = Self.raster(colourCount: 200)
    let short = file(of: raster, colourCount: declaredCount) { Array($0.prefix(4 * 10)) }
    let shown = try fixture.raster(of: short)
    // The first colours are those of the upper row.
    #expect((0..<10).allSatisfy { shown[$0, 0] == raster[$0, 0] })
    #expect(shown[36, 20] == Raster.Pixel(0, 0, 0))
  }

  @Test func `a table may be longer than the indexes need`() throws {
    let raster = Self.raster(colourCount: 200)
    var long = file(of: raster) { $0 + [UInt8](repeating: 7, count: 4 * 200) }
    #expect(try fixture.raster(of: long).bytes == raster.bytes)
    // Also without the place of the pixels.
    long.replaceSubrange(10..<14, with: [0, 0, 0, 0])
    #expect(try fixture.raster(of: long).bytes == raster.bytes)
  }

  @Test func `bytes between the colours and the pixels do not count`() throws {
    var writer = BitmapWriter(.info, .indexes(4))
    writer.gap = 9
    try expect(writer, Self.raster(colourCount: 9))
  }

  // MARK: - Profiles

  @Test func `a colour profile in the file is obeyed`() throws {
    let green = Raster(width: 32, height: 32) { _, _ in Raster.Pixel(30, 160, 60) }
    var writer = BitmapWriter(.version5, .blueGreenRed)
    writer.profile = ColourProfile.rgb(primaries: .displayP3, curve: .sRGB)
    let file = writer.file(green)
    #expect(try fixture.raster(of: file)[9, 9].red < 5)
    // A profile that is elsewhere.
    var linked = file
    linked.replaceSubrange(14 + 56..<14 + 60, with: Array("KNIL".utf8))
    #expect(try fixture.raster(of: linked)[9, 9] == green[9, 9])
    // A part of it is missing.
    #expect(fixture.failureCode(of: file.dropLast()) == .corruptImage)
    #expect(
      try fixture.raster(of: file.dropLast(), isLenient: true)[9, 9] == green[9, 9])
  }

  // MARK: - Sizes

  @Test func `the header gives the size, and the pixels are limited before they are decoded`()
    throws
  {
    let raster = Self.raster()
    let rendered = try fixture.thumbnailer.thumbnail(
      of: BitmapWriter(.info, .blueGreenRed).file(raster), as: .standard)
    #expect(rendered.source == SourceFacts(format: .bmp, width: 37, height: 23, frames: 1))
    var limits = Limits()
    limits.maxPixels = 37 * 23 - 1
    let strict = try ThumbnailFixture(limits: limits)
    for header in BitmapWriter.Header.allCases {
      let file = BitmapWriter(header, .blueGreenRed).file(raster)
      #expect(strict.failureCode(of: file) == .tooManyPixels)
    }
  }

  @Test(
    arguments: [
      ([0xFF, 0xFF, 0xFF, 0x7F], [0xFF, 0xFF, 0xFF, 0x7F], Failure.Code.tooManyPixels),
      ([0xFF, 0xFF, 0xFF, 0x7F], [0, 0, 0, 0x80], .tooManyPixels),
      ([1, 0, 0, 0], [0, 0, 0, 0x80], .tooManyPixels),
      ([0, 0, 0, 0], [1, 0, 0, 0], .corruptImage), ([1, 0, 0, 0], [0, 0, 0, 0], .corruptImage),
      ([0, 0, 0, 0x80], [1, 0, 0, 0], .corruptImage),
      ([0xFF, 0xFF, 0xFF, 0xFF], [1, 0, 0, 0], .corruptImage),
    ] as [([UInt8], [UInt8], Failure.Code)])
  func `sizes that no picture has are refused`(
    width: [UInt8], height: [UInt8], code: Failure.Code
  ) throws {
    var file = BitmapWriter(.info, .blueGreenRed).file(Self.raster())
    file.replaceSubrange(18..<26, with: width + height)
    #expect(fixture.failureCode(of: file) == code)
    #expect(fixture.failureCode(of: file, isLenient: true) == code)
  }
}
