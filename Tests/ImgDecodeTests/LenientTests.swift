import ImgDecode
import ImgModel
import TestPictures
import Testing

/// Damaged pictures of which a part is wanted.
@Suite(.timeLimit(.minutes(20))) struct LenientTests {
  private let fixture: ThumbnailFixture
  /// Of the size of the pictures, and lossless.
  private let variant: Variant

  init() throws {
    fixture = try ThumbnailFixture()
    variant = try Variant(width: 320, height: 320, format: .png)
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
  func `a picture that is decoded as a whole or not at all stays corrupt`(
    format: PictureFormat
  ) throws {
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
    let dot = try Variant(width: 1, height: 1)
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
    var limits = Limits()
    limits.maxPixels = 1_000
    let strict = try ThumbnailFixture(limits: limits)
    for format in [PictureFormat.jpeg, .png, .tiff] {
      #expect(try strict.failureCode(of: damaged(format), isLenient: true) == .tooManyPixels)
    }
    #expect(fixture.failureCode(of: Array("words".utf8), isLenient: true) == .notAnImage)
    let elements = String(repeating: "<g/>", count: 200_001)
    let drawing = Array("<svg xmlns='http://www.w3.org/2000/svg'>\(elements)</svg>".utf8)
    #expect(
      fixture.failureCode(of: drawing, isLenient: true) == fixture.failureCode(of: drawing))
    #expect(fixture.failureCode(of: drawing) != nil)
  }
}
