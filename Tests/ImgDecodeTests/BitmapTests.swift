import ImgDecode
import ImgModel
import TestPictures
import Testing

/// Bitmaps of Windows and OS/2, pixel by pixel.
@Suite(.timeLimit(.minutes(20))) struct BitmapTests {
  private let fixture = ThumbnailFixture()

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
    #expect(try fixture.raster(of: file.dropLast(), isLenient: true)[9, 9] == green[9, 9])
  }

  // MARK: - Sizes

  @Test func `the header gives the size, and pixels are limited before they are decoded`() throws {
    let raster = Self.raster()
    let rendered = try fixture.thumbnailer.thumbnail(
      of: BitmapWriter(.info, .blueGreenRed).file(raster), as: .standard)
    #expect(rendered.source == SourceFacts(format: .bmp, width: 37, height: 23, frames: 1))
    let strict = ThumbnailFixture(maxPixels: 37 * 23 - 1)
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
  func `impossible sizes are refused`(width: [UInt8], height: [UInt8], code: Failure.Code) throws {
    var file = BitmapWriter(.info, .blueGreenRed).file(Self.raster())
    file.replaceSubrange(18..<26, with: width + height)
    #expect(fixture.failureCode(of: file) == code)
    #expect(fixture.failureCode(of: file, isLenient: true) == code)
  }
}

/// Bitmaps that are not whole, or of a kind that is not decoded.
@Suite(.timeLimit(.minutes(20))) struct BitmapDamageTests {
  private let fixture = ThumbnailFixture()

  /// Noise in 16 colours, of which no part is transparent.
  private static let raster = Raster(width: 13, height: 7) { x, y in
    let number = UInt8((x * x + 3 * y * y + x * y) % 16)
    return Raster.Pixel(number * 17, 255 - number * 17, (number ^ 5) * 17)
  }

  private static let kinds: [BitmapWriter] = [
    BitmapWriter(.core, .indexes(4)), BitmapWriter(.os2, .indexes(8)),
    BitmapWriter(.info, .blueGreenRed), BitmapWriter(.info, .runs(4)),
    BitmapWriter(.info, .runs(8)), BitmapWriter(.info, .masks(16, [0xF00, 0xF0, 0xF, 0])),
    BitmapWriter(.version5, .masks(32, [0xFF0000, 0xFF00, 0xFF, 0xFF00_0000])),
  ]

  @Test(arguments: kinds)
  func `a file that is cut anywhere is damaged`(writer: BitmapWriter) throws {
    let file = writer.file(Self.raster)
    // The last row may lack what fills it up, and runs the marks of the end.
    let whole = try fixture.raster(of: file)
    for count in 0..<file.count {
      let cut = Array(file[..<count])
      guard let code = fixture.failureCode(of: cut) else {
        #expect(count >= file.count - 5)
        #expect(try fixture.raster(of: cut).bytes == whole.bytes)
        continue
      }
      #expect(code == (count < 18 ? .notAnImage : .corruptImage), "\(count)")
    }
  }

  @Test(arguments: kinds, [false, true])
  func `a lenient decode shows the rows it has`(writer: BitmapWriter, isTopDown: Bool) throws {
    guard writer.header != .core || !isTopDown else { return }
    var writer = writer
    writer.isTopDown = isTopDown
    let file = writer.file(Self.raster)
    let isRuns = [.runs(4), .runs(8)].contains(writer.pixels)
    let hasAlpha = isRuns || writer.header == .version5
    let nothing = Raster.Pixel(0, 0, 0, alpha: hasAlpha ? 0 : 255)
    let earlier = try fixture.maker.noise(seed: 1, width: 13, height: 7, format: .bmp)
    var shownCounts: Set<Int> = []
    for count in 18..<file.count {
      _ = try fixture.raster(of: earlier)
      let cut = Array(file[..<count])
      guard fixture.failureCode(of: cut) != nil,
        fixture.failureCode(of: cut, isLenient: true) == nil
      else { continue }
      let shown = try fixture.raster(of: cut, isLenient: true)
      // As stored.
      let rows = (0..<7).map { isTopDown ? $0 : 6 - $0 }
      let intact = rows.prefix { y in
        (0..<13).allSatisfy { shown[$0, y] == Self.raster[$0, y] }
      }
      shownCounts.insert(intact.count)
      let rest = rows.dropFirst(intact.count)
      // Of runs, a part of a row may be shown.
      #expect(
        rest.dropFirst(isRuns ? 1 : 0).allSatisfy { y in
          (0..<13).allSatisfy { shown[$0, y] == nothing }
        })
    }
    #expect(shownCounts.isSuperset(of: 1...6))
  }

  @Test func `a lenient decode without a row is damaged`() throws {
    for writer in Self.kinds {
      let file = writer.file(Self.raster)
      let head = writer.header == .core ? 30 : 14 + writer.header.rawValue
      #expect(fixture.failureCode(of: Array(file[..<head]), isLenient: true) == .corruptImage)
    }
  }

  @Test func `bytes behind the pixels do not count`() throws {
    for writer in Self.kinds {
      let file = writer.file(Self.raster)
      let junk = (0..<99).map { UInt8(truncatingIfNeeded: $0 &* 73) }
      #expect(try fixture.raster(of: file + junk).bytes == Self.raster.bytes)
    }
  }

  // MARK: - Runs

  /// A file of 4 × 2 pixels in two colours, red and green.
  private func runs(_ data: [UInt8]) -> [UInt8] {
    let raster = Raster(width: 4, height: 2) { x, y in
      x == 0 && y == 0 ? Raster.Pixel(255, 0, 0) : Raster.Pixel(0, 255, 0)
    }
    let file = BitmapWriter(.info, .runs(8)).file(raster)
    return Array(file[..<(54 + 2 * 4)]) + data
  }

  @Test(
    arguments: [
      // Runs of more pixels than a row has, one behind the other.
      [9, 1, 0, 0, 3, 1, 200, 1, 0, 1],
      // The same with indexes that stand one behind the other.
      [0, 6, 1, 1, 1, 1, 0, 0, 0, 0, 4, 1, 0, 1],
      // The mark of the end is missing, or that of the last row, too.
      [4, 1, 0, 0, 4, 1, 0, 0], [4, 1, 0, 0, 4, 1],
      // What stands behind the last row.
      [4, 1, 0, 0, 4, 1, 0, 0, 7, 7, 7],
    ] as [[UInt8]])
  func `runs that reach over the edge are cut there`(data: [UInt8]) throws {
    let shown = try fixture.raster(of: runs(data))
    let green = Raster.Pixel(0, 255, 0)
    #expect((0..<8).allSatisfy { shown[$0 % 4, $0 / 4] == green })
  }

  @Test(
    arguments: [
      [4, 1, 0, 0, 3, 1], [4, 1, 0, 0], [4, 1, 0, 0, 0, 4, 1, 1], [4, 1, 0, 2, 1], [4], [],
    ] as [[UInt8]])
  func `runs that end before the last pixel are damaged`(data: [UInt8]) {
    #expect(fixture.failureCode(of: runs(data)) == .corruptImage)
  }

  @Test func `runs may skip pixels and rows`() throws {
    let shown = try fixture.raster(of: runs([1, 1, 0, 2, 2, 1, 1, 1, 0, 1]))
    let alphas = (0..<8).map { shown[$0 % 4, $0 / 4].alpha }
    #expect(alphas == [0, 0, 0, 255, 255, 0, 0, 0])
    // A step out of the picture ends it.
    #expect(fixture.failureCode(of: runs([1, 1, 0, 2, 255, 255, 1, 1])) == nil)
  }

  // MARK: - Headers

  /// A bitmap of other fields: bits of a pixel and the compression.
  private func failure(
    _ header: BitmapWriter.Header, bitCount: UInt8, compression: UInt8
  ) -> Failure? {
    var file = BitmapWriter(header, .blueGreenRed).file(Self.raster)
    file[28] = bitCount
    file[30] = compression
    return #expect(throws: Failure.self) {
      try fixture.thumbnailer.thumbnail(of: file, as: .standard)
    }
  }

  @Test(
    arguments: [
      (BitmapWriter.Header.info, 64, 0, "64-bit"), (.os2, 1, 3, "Huffman"),
      (.os2, 24, 4, "runs of 24-bit"), (.info, 0, 4, "JPEG"), (.info, 24, 4, "JPEG"),
      (.version5, 0, 5, "PNG"), (.info, 32, 11, "CMYK"),
    ] as [(BitmapWriter.Header, UInt8, UInt8, String)])
  func `a kind that is not decoded is named so`(
    header: BitmapWriter.Header, bitCount: UInt8, compression: UInt8, word: String
  ) {
    let failure = failure(header, bitCount: bitCount, compression: compression)
    #expect(failure?.code == .unsupportedFormat)
    #expect(failure?.detail.contains(word) == true, "\(failure?.detail ?? "")")
  }

  @Test(
    arguments: [
      (3, 0), (0, 0), (33, 0), (24, 1), (8, 2), (4, 1), (24, 3), (24, 6), (24, 7),
    ] as [(UInt8, UInt8)])
  func `bits and compressions that contradict are damage`(bitCount: UInt8, compression: UInt8) {
    let failure = failure(.info, bitCount: bitCount, compression: compression)
    #expect(failure?.code == .corruptImage)
  }

  @Test(
    arguments: [
      [0xFF00_00FF, 0xFF00, 0xFF0000, 0], [0, 0, 0, 0xFF], [0xFF, 0xFF00, 0xFF0000, 0xA000_0000],
    ] as [[UInt32]])
  func `masks with gaps or without colours are damage`(masks: [UInt32]) {
    let file = BitmapWriter(.version4, .masks(32, masks)).file(Self.raster)
    #expect(fixture.failureCode(of: file) == .corruptImage)
  }
}

extension BitmapWriter: CustomTestStringConvertible {
  /// The header and the pixels.
  public var testDescription: String { "\(header) \(pixels)" }
}
