import ImgDecode
import ImgModel
import TestPictures
import Testing

@Suite(.timeLimit(.minutes(20))) struct TransparencyTests {
  private let fixture: ThumbnailFixture

  init() throws {
    fixture = try ThumbnailFixture()
  }

  private static let transparentFormats = PictureFormat.allCases.filter(\.hasAlpha)

  /// A pixel in the transparent notch of a card of 256 × 192.
  private func notch(of rendered: RenderedThumbnail) throws -> Raster.Pixel {
    try fixture.reader.raster(of: rendered.bytes)[128, 180]
  }

  @Test(arguments: transparentFormats)
  func `transparency makes an automatic thumbnail WebP`(format: PictureFormat) throws {
    let picture = try fixture.maker.card(
      index: 1, width: 256, height: 192, format: format, hasAlpha: true)
    let rendered = try fixture.thumbnailer.thumbnail(of: picture, as: .standard)
    #expect(rendered.thumbnail.format == .webp)
    #expect(try notch(of: rendered).alpha < 10)
    #expect(try fixture.reader.raster(of: rendered.bytes).isUprightCard(encodedIn: format))
  }

  @Test(arguments: [Variant.Format.png, .webp, .avif])
  func `a format that knows transparency keeps it`(format: Variant.Format) throws {
    let picture = try fixture.maker.card(
      index: 1, width: 256, height: 192, format: .sixteenBitPNG, hasAlpha: true)
    let variant = try Variant(width: 256, height: 256, format: format)
    let rendered = try fixture.thumbnailer.thumbnail(of: picture, as: variant)
    #expect(try notch(of: rendered).alpha < 10)
  }

  @Test func `a JPEG of a transparent picture has a white background`() throws {
    let picture = try fixture.maker.card(
      index: 1, width: 256, height: 192, format: .png, hasAlpha: true)
    let variant = try Variant(width: 256, height: 256, format: .jpeg)
    let rendered = try fixture.thumbnailer.thumbnail(of: picture, as: variant)
    #expect(try notch(of: rendered).resembles(Raster.Pixel(255, 255, 255)))
  }

  /// Each GIF of libvips declares a transparent colour.
  @Test(arguments: Variant.Format.allCases.filter { $0 != .gif })
  func `an alpha channel that hides nothing counts as none`(format: Variant.Format) throws {
    let opaque = Card(index: 1, width: 64, height: 48).raster
    let picture = try fixture.maker.encode(opaque, as: .png, hasAlpha: true)
    #expect(try fixture.reader.hasAlpha(picture))
    let variant = try Variant(width: 64, height: 64, format: format)
    let rendered = try fixture.thumbnailer.thumbnail(of: picture, as: variant)
    #expect(try fixture.reader.hasAlpha(rendered.bytes) == false)
    if format == .auto { #expect(rendered.thumbnail.format == .jpeg) }
  }

  @Test func `transparency in floating point is kept`() throws {
    let picture = Raster(width: 64, height: 48) { x, _ in
      Raster.Pixel(200, 100, 50, alpha: x < 32 ? 255 : 100)
    }
    let raster = try fixture.raster(of: fixture.maker.linearJPEGXL(picture))
    #expect(raster[10, 10].resembles(Raster.Pixel(200, 100, 50), tolerance: 3))
    #expect(raster[50, 10].resembles(Raster.Pixel(200, 100, 50, alpha: 100), tolerance: 3))
  }

  @Test func `a transparent pixel lends no colour to its neighbours`() throws {
    // Red that shows, and green that does not, in columns of one pixel.
    let stripes = Raster(width: 256, height: 64) { x, _ in
      x.isMultiple(of: 2) ? Raster.Pixel(200, 0, 0) : Raster.Pixel(0, 255, 0, alpha: 0)
    }
    let picture = try fixture.maker.encode(stripes, as: .png, hasAlpha: true)
    let variant = try Variant(width: 64, height: 64, format: .png)
    let raster = try fixture.reader.raster(
      of: fixture.thumbnailer.thumbnail(of: picture, as: variant).bytes)
    for x in 8..<56 { #expect(raster[x, 8].green < 8 && raster[x, 8].red > 180) }
  }

  @Test func `an alpha channel that hides nothing does not change the colours`() throws {
    let raster = Card(index: 1, width: 400, height: 300).raster
    let variant = try Variant(width: 100, height: 100, format: .png)
    let thumbnails = try [false, true].map { hasAlpha in
      let picture = try fixture.maker.encode(raster, as: .png, hasAlpha: hasAlpha)
      return try fixture.reader.raster(
        of: fixture.thumbnailer.thumbnail(of: picture, as: variant).bytes)
    }
    #expect(thumbnails[0].bytes == thumbnails[1].bytes)
  }
}
