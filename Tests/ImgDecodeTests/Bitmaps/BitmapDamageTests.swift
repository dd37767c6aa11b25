import ImgDecode
import ImgModel
import TestPictures
import Testing

/// Bitmaps that are not whole, or of a kind that is not decoded.
@Suite(.timeLimit(.minutes(20))) struct BitmapDamageTests {
  private let fixture: ThumbnailFixture

  init() throws {
    fixture = try ThumbnailFixture()
  }

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
  func `a lenient decode shows the rows that are there`(
    writer: BitmapWriter, isTopDown: Bool
  ) throws {
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
  func `bits and compressions that do not belong together are damage`(
    bitCount: UInt8, compression: UInt8
  ) {
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
