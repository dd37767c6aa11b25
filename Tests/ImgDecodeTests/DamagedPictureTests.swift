import ImgDecode
import ImgModel
import SeededRandom
import TestPictures
import Testing

/// No damaged picture passes for a good one, as far as its format lets a decoder notice.
///
/// Only PNG has checksums, and JPEG XL nearly always ends its entropy coding in a known state. A
/// JPEG of one scan, a GIF and a TIFF show that blocks or pixels are missing or over; a progressive
/// JPEG does where a scan ends early, not always where one loses its place. A JPEG also shows zeros
/// in place of data, see ``JPEGZeroHoles``. The others notice missing bytes, an icon only those
/// that its mask is shorter than. What is merely changed
/// in them, and a few changed bits in a JPEG or a GIF, are another valid picture; and where by
/// chance as many blocks come out of a scan's data with a hole as without one, no decoder can tell.
@Suite(.timeLimit(.minutes(20))) struct DamageTests {
  private let fixture = ThumbnailFixture()
  private static let seedCount: UInt64 = 8

  private static let shortened: [Damage] = [.cut, .cutAndClosed, .holeDropped]
  private static let moved: [Damage] = shortened + [.restZeroed, .holeZeroed]

  /// What each format shows.
  static let cases: [(PictureFormat, Damage)] = PictureFormat.allCases.flatMap { format in
    let shown: [Damage] =
      switch format {
      case .png, .interlacedPNG, .grayPNG, .sixteenBitPNG, .displayP3PNG, .jxl: Damage.allCases
      case .jpeg, .cmykJPEG, .grayJPEG, .tiff, .grayTIFF, .cmykTIFF: moved
      case .progressiveJPEG: [.cut, .cutAndClosed, .restZeroed, .holeZeroed]
      case .gif: [.cut, .cutAndClosed, .restZeroed, .holeZeroed]
      case .webp, .losslessWebP, .avif, .heif, .bmp, .pnm: shortened
      case .ico: [.cut, .cutAndClosed]
      }
    return shown.map { (format, $0) }
  }

  @Test(arguments: cases)
  func `a damaged picture fails or looks whole`(format: PictureFormat, damage: Damage) throws {
    let picture = try fixture.maker.scene(width: 320, height: 240, format: format)
    let variant = try Variant(ImageVariant(width: 320, height: 320, format: .png))
    let intact = try fixture.raster(of: picture, as: variant)
    for seed in 0..<Self.seedCount {
      var random = SeededGenerator(seed: seed)
      let damaged = damage.applied(to: picture, using: &random)
      do throws(Failure) {
        let rendered = try fixture.thumbnailer.thumbnail(of: damaged, as: variant)
        let raster = try? fixture.reader.raster(of: rendered.bytes)
        #expect(
          raster?.meanSquaredError(against: intact) ?? 255 < Raster.fortyDecibels, "seed \(seed)")
      } catch {
        #expect([.corruptImage, .notAnImage].contains(error.code), "seed \(seed): \(error)")
      }
    }
  }

  @Test(arguments: [PictureFormat.jpeg, .progressiveJPEG, .grayJPEG, .cmykJPEG], [1, 2])
  func `a JPEG without its end marker is whole`(format: PictureFormat, missing: Int) throws {
    let picture = try fixture.maker.scene(width: 320, height: 240, format: format)
    let rendered = try fixture.thumbnailer.thumbnail(
      of: Array(picture.dropLast(missing)), as: .standard)
    #expect(try rendered.bytes == fixture.thumbnailer.thumbnail(of: picture, as: .standard).bytes)
  }

  @Test func `a progressive JPEG without its last scans is not whole`() throws {
    let picture = try fixture.maker.scene(width: 320, height: 240, format: .progressiveJPEG)
    // Each scan begins with the marker FF DA.
    let scans = picture.indices.dropLast().filter { picture[$0] == 0xFF && picture[$0 + 1] == 0xDA }
    #expect(scans.count > 5)
    for scan in scans.dropFirst() {
      // The tables of a scan stand before it; cutting there as well leaves no half segment behind.
      let tables = picture[..<scan].indices.reversed()
        .first { picture[$0] == 0xFF && picture[$0 + 1] == 0xC4 }
      let end = tables.map { $0 > scans[0] ? $0 : scan } ?? scan
      let closed = Array(picture[..<end]) + [0xFF, 0xD9]
      #expect(fixture.failureCode(of: closed) == .corruptImage)
    }
  }

  @Test func `a few bytes too many at the end of a scan do not matter`() throws {
    let picture = try fixture.maker.scene(width: 320, height: 240, format: .jpeg)
    let data = picture.dropLast(2)
    #expect(fixture.failureCode(of: data + [0, 0, 0, 0, 0xFF, 0xD9]) == nil)
    let many = [UInt8](repeating: 0x55, count: 400)
    #expect(fixture.failureCode(of: data + many + [0xFF, 0xD9]) == .corruptImage)
  }

  @Test func `zeros in a JPEG are damage only where they stand for no picture`() {
    // Each block is the bit of "no difference to the block before" and the bit of "no more".
    #expect(fixture.failureCode(of: zeroJPEG(symbol: 0x00, byteCount: 2_048 * 2 / 8)) == nil)
    // Each block is that and 63 times a code and a sign.
    let bytes = zeroJPEG(symbol: 0x01, byteCount: 2_048 * (1 + 63 * 2) / 8)
    #expect(fixture.failureCode(of: bytes) == .corruptImage)
  }

  /// A gray JPEG of 2,048 blocks whose tables have one code each, the bit 0.
  ///
  /// - Parameter symbol: what that stands for among the coefficients.
  private func zeroJPEG(symbol: UInt8, byteCount: Int) -> [UInt8] {
    let zeros = { (count: Int) in [UInt8](repeating: 0, count: count) }
    let start: [UInt8] = [0xFF, 0xD8]
    let quantization: [UInt8] = [0xFF, 0xDB, 0, 67, 0] + [UInt8](repeating: 1, count: 64)
    // 8 bits, 64 rows of 2,048 samples, one component.
    let frame: [UInt8] = [0xFF, 0xC0, 0, 11, 8, 0, 64, 8, 0, 1, 1, 0x11, 0]
    let averages: [UInt8] = [0xFF, 0xC4, 0, 20, 0x00, 1] + zeros(15) + [0]
    let coefficients: [UInt8] = [0xFF, 0xC4, 0, 20, 0x10, 1] + zeros(15) + [symbol]
    let scan: [UInt8] = [0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0]
    return start + quantization + frame + averages + coefficients + scan + zeros(byteCount)
      + [0xFF, 0xD9]
  }

  /// Such a chunk would be read into memory that no decoder has.
  @Test(arguments: ["iTXt", "eXIf", "sPLT"])
  func `a PNG whose chunk is longer than the file is damaged`(name: String) throws {
    let picture = try fixture.maker.scene(width: 16, height: 16, format: .png)
    let headEnd = 8 + 12 + 13
    let chunk: [UInt8] = [0x3F, 0xFF, 0xFF, 0xFF] + Array(name.utf8)
    let failure = #expect(throws: Failure.self) {
      try fixture.thumbnailer.thumbnail(
        of: picture[..<headEnd] + chunk + picture[headEnd...], as: .standard)
    }
    #expect(failure?.code == .corruptImage)
    #expect(failure?.detail == "the chunk \(name) declares more bytes than the file has")
  }

  /// Where libvips keeps none of the words.
  @Test func `a failure names what is wrong with the file`() throws {
    let png = try fixture.maker.scene(width: 64, height: 64, format: .png)
    let chunks = PNGChunk.chunks(of: png)
    var withoutSize = chunks
    withoutSize[0].data.replaceSubrange(0..<4, with: [0, 0, 0, 0])
    var ended = chunks
    let pixels = try #require(ended.firstIndex { $0.name == "IDAT" })
    ended[pixels].data.removeLast(ended[pixels].data.count / 2)
    var changed = png
    changed[30] ^= 1
    let webp = try fixture.maker.scene(width: 64, height: 64, format: .webp)
    let files: [([UInt8], String)] = [
      (PNGChunk.file(withoutSize), "IHDR"), (changed, "IHDR: CRC error"),
      (PNGChunk.file(ended), "libpng: "), (Array(png[..<(png.count / 2)]), "libpng: "),
      (PNGChunk.file([chunks[0]] + chunks.suffix(1)), "libpng: "),
      (Array(webp[..<20]), "20 of \(webp.count) bytes"),
      (Array(webp[..<(webp.count / 2)]), "of \(webp.count) bytes"),
    ]
    for (index, (file, words)) in files.enumerated() {
      // Other tests use the one error buffer of libvips, too, so one try may be disturbed.
      let isNamed = try (0..<20).contains { _ in
        let failure = #expect(throws: Failure.self) {
          try fixture.thumbnailer.thumbnail(of: file, as: .standard)
        }
        #expect(failure?.code == .corruptImage)
        return try #require(failure).detail.contains(words)
      }
      #expect(isNamed, "\(index)")
    }
  }

  @Test func `a PNG that lacks only the end behind its pixels is whole`() throws {
    let picture = try fixture.maker.scene(width: 320, height: 240, format: .png)
    let comment: [UInt8] = [0x3F, 0xFF, 0xFF, 0xFF] + Array("tEXt".utf8)
    let whole = try fixture.thumbnailer.thumbnail(of: picture, as: .standard)
    for end in [[], comment] {
      let rendered = try fixture.thumbnailer.thumbnail(
        of: picture.dropLast(12) + end, as: .standard)
      #expect(rendered.bytes == whole.bytes)
    }
  }

  @Test func `a failure quotes no earlier picture`() throws {
    // Other tests use the one error buffer of libvips, too, so one try may be disturbed.
    let isUndisturbed = try (0..<20).contains { _ in
      // Leaves its reason, "not in a known format", in the buffer.
      #expect(throws: PictureError.self) {
        try fixture.reader.raster(of: Array("P6\n1 1\n255\nabc".utf8))
      }
      let failure = #expect(throws: Failure.self) {
        try fixture.thumbnailer.thumbnail(of: Array("GIF89a".utf8), as: .standard)
      }
      let detail = try #require(failure).detail
      return !detail.contains("known format") && detail.contains("gif")
    }
    #expect(isUndisturbed)
  }
}

/// Damaged pictures of which a part is wanted.
@Suite(.timeLimit(.minutes(20))) struct LenientTests {
  private let fixture = ThumbnailFixture()
  /// Of the size of the pictures, and lossless.
  private let variant: Variant

  init() throws {
    variant = try Variant(ImageVariant(width: 320, height: 320, format: .png))
  }

  private func picture(_ format: PictureFormat) throws -> [UInt8] {
    try fixture.maker.scene(width: 320, height: 240, format: format)
  }

  /// The picture with damage behind its first two thirds. A TIFF has its directory at its end, so it
  /// is not cut.
  private func damaged(_ format: PictureFormat) throws -> [UInt8] {
    let picture = try picture(format)
    let end = picture.count * 2 / 3
    guard format.imageFormat == .tiff else { return Array(picture[..<end]) }
    return picture[..<end] + [UInt8](repeating: 0, count: 512) + picture[(end + 512)...]
  }

  private func lenient(_ picture: [UInt8]) throws -> RenderedThumbnail {
    try fixture.thumbnailer.thumbnail(of: picture, as: variant, isLenient: true)
  }

  @Test(arguments: [
    PictureFormat.jpeg, .progressiveJPEG, .grayJPEG, .cmykJPEG, .png, .grayPNG, .sixteenBitPNG,
    .gif, .tiff, .grayTIFF, .cmykTIFF,
  ])
  func `a lenient decode shows what is before the damage`(format: PictureFormat) throws {
    let damaged = try damaged(format)
    #expect(fixture.failureCode(of: damaged, as: variant) == .corruptImage)
    let rendered = try lenient(damaged)
    #expect(rendered.thumbnail.isDamaged)
    #expect(rendered.source.format == format.imageFormat)
    let intact = try fixture.thumbnailer.thumbnail(of: picture(format), as: variant)
    #expect(rendered.source == intact.source)
    let shown = try fixture.reader.raster(of: rendered.bytes)
    let expected = try fixture.reader.raster(of: intact.bytes)
    // A progressive one is coarse everywhere. Of CMYK, sharp edges in the last row differ.
    let tolerance = format == .progressiveJPEG ? 100 : Raster.fortyDecibels
    #expect(shown.meanSquaredError(against: expected, rows: 60) < tolerance)
    #expect(shown.meanSquaredError(against: expected) > Raster.fortyDecibels)
  }

  @Test(arguments: PictureFormat.allCases)
  func `a lenient decode of a whole picture is a strict one`(format: PictureFormat) throws {
    let picture = try picture(format)
    let strict = try fixture.thumbnailer.thumbnail(of: picture, as: variant)
    #expect(try lenient(picture) == strict)
    #expect(!strict.thumbnail.isDamaged)
  }

  @Test(arguments: [
    PictureFormat.interlacedPNG, .webp, .losslessWebP, .avif, .heif, .jxl,
  ])
  func `a picture that is decoded as a whole stays corrupt`(format: PictureFormat) throws {
    let damaged = try damaged(format)
    #expect(fixture.failureCode(of: damaged, isLenient: true) == .corruptImage)
  }

  @Test(arguments: [PictureFormat.jpeg, .progressiveJPEG, .grayJPEG, .cmykJPEG])
  func `a JPEG without the data of its first scan is corrupt`(format: PictureFormat) throws {
    let picture = try picture(format)
    let marker = try #require(
      picture.indices.dropLast().first { picture[$0] == 0xFF && picture[$0 + 1] == 0xDA })
    let data = marker + 2 + Int(picture[marker + 2]) << 8 + Int(picture[marker + 3])
    for header in [Array(picture[..<data]), picture[..<data] + [0xFF, 0xD9]] {
      #expect(fixture.failureCode(of: header, isLenient: true) == .corruptImage)
    }
    // Not even for the smallest thumbnail, which always has one colour.
    let dot = try Variant(ImageVariant(width: 1, height: 1))
    #expect(
      fixture.failureCode(of: Array(picture[..<data]), as: dot, isLenient: true) == .corruptImage)
    #expect(fixture.failureCode(of: try damaged(format), as: dot, isLenient: true) == nil)
  }

  @Test(arguments: [PictureFormat.png, .gif, .tiff], [30, 60, 100, 900])
  func `a picture without a row is corrupt`(format: PictureFormat, byteCount: Int) throws {
    let picture = try picture(format)
    let start = format == .gif ? min(byteCount, Self.gifHeaderByteCount) : byteCount
    #expect(fixture.failureCode(of: Array(picture[..<start]), isLenient: true) == .corruptImage)
  }

  /// The screen, a table of 256 colours, and the first bytes of the first frame.
  private static let gifHeaderByteCount = 13 + 256 * 3 + 11

  @Test(arguments: [PictureFormat.png, .gif, .tiff])
  func `what was not decoded shows nothing of an earlier picture`(format: PictureFormat) throws {
    let earlier = try fixture.maker.noise(seed: 1, width: 320, height: 240, format: format)
    let damaged = try damaged(format)
    // A damaged GIF gets an alpha channel.
    let nothing = Raster.Pixel(0, 0, 0, alpha: format == .gif ? 0 : 255)
    for _ in 1...3 {
      _ = try fixture.thumbnailer.thumbnail(of: earlier, as: variant)
      let shown = try fixture.reader.raster(of: lenient(damaged).bytes)
      #expect((0..<320).allSatisfy { shown[$0, 239] == nothing })
    }
  }

  @Test func `a hole in a transparent PNG is transparent`() throws {
    let raster = Raster(width: 320, height: 240) { x, y in
      Raster.Pixel(UInt8(x & 255), UInt8(y), UInt8((x * y) & 255), alpha: UInt8(200 + (x ^ y) % 50))
    }
    let picture = try fixture.maker.encode(raster, as: .png, hasAlpha: true)
    let shown = try fixture.reader.raster(of: lenient(Array(picture[..<(picture.count / 2)])).bytes)
    #expect(shown[0, 0].alpha >= 200)
    #expect(shown[100, 239].alpha == 0)
  }

  @Test func `zeros in place of a JPEG's data are accepted, and marked`() throws {
    let picture = try picture(.jpeg)
    let half = picture.count / 2
    let zeroed = Array(picture[..<half]) + [UInt8](repeating: 0, count: picture.count - half)
    #expect(fixture.failureCode(of: zeroed) == .corruptImage)
    #expect(try lenient(zeroed).thumbnail.isDamaged)
  }

  @Test func `limits and formats do not become lenient`() throws {
    let strict = ThumbnailFixture(maxPixels: 1_000)
    for format in [PictureFormat.jpeg, .png, .tiff] {
      #expect(try strict.failureCode(of: damaged(format), isLenient: true) == .tooManyPixels)
    }
    #expect(fixture.failureCode(of: Array("words".utf8), isLenient: true) == .notAnImage)
    let elements = String(repeating: "<g/>", count: 200_001)
    let drawing = Array("<svg xmlns='http://www.w3.org/2000/svg'>\(elements)</svg>".utf8)
    #expect(fixture.failureCode(of: drawing, isLenient: true) == fixture.failureCode(of: drawing))
    #expect(fixture.failureCode(of: drawing) != nil)
  }
}
