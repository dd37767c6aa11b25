import ImgDecode
import ImgModel
import TestPictures
import Testing

/// HEIF files with a preview, as cameras and telephones write them.
@Suite(.timeLimit(.minutes(20))) struct PreviewTests {
  private let fixture: ThumbnailFixture

  init() throws {
    fixture = try ThumbnailFixture()
  }

  /// The preview has other colours, so that a thumbnail shows what it was made from.
  private func file(_ aperture: HEIFWithPreview.Aperture? = nil) throws -> [UInt8] {
    let picture = flat(640, 480, Raster.Pixel(200, 40, 40))
    let preview = flat(320, 240, Raster.Pixel(40, 40, 200))
    let file = try HEIFWithPreview(
      picture: fixture.maker.encode(picture, as: .heif),
      preview: fixture.maker.encode(preview, as: .heif), aperture: aperture)
    return try #require(file).bytes
  }

  private func flat(_ width: Int, _ height: Int, _ colour: Raster.Pixel) -> Raster {
    Raster(width: width, height: height) { _, _ in colour }
  }

  private func centre(
    of file: [UInt8], size: Int, _ use: EmbeddedUse = .auto, width: Int? = nil
  ) throws -> (Raster.Pixel, SourceFacts) {
    let variant = try Variant(width: size, height: size, format: .png, embeddedUse: use)
    let rendered = try fixture.thumbnailer.thumbnail(of: file, as: variant)
    #expect(rendered.thumbnail.width == width ?? size)
    let raster = try fixture.reader.raster(of: rendered.bytes)
    return (raster[raster.width / 2, raster.height / 2], rendered.source)
  }

  @Test(arguments: [(256, true), (320, true), (321, false)])
  func `a preview that is large enough is decoded in place of the picture`(
    size: Int, isEnough: Bool
  ) throws {
    let (pixel, source) = try centre(of: file(), size: size)
    #expect(
      pixel.resembles(isEnough ? Raster.Pixel(40, 40, 200) : Raster.Pixel(200, 40, 40)))
    #expect(source.width == 640)
    #expect(source.decodePath == (isEnough ? .embedded : .general))
  }

  @Test func `a request decides whether the preview is used`() throws {
    let (whole, source) = try centre(of: file(), size: 64, .never)
    #expect(whole.resembles(Raster.Pixel(200, 40, 40)))
    #expect(source.decodePath == .general)
    let (preview, _) = try centre(of: file(), size: 640, .always, width: 320)
    #expect(preview.resembles(Raster.Pixel(40, 40, 200)))
  }

  // MARK: - JPEG

  /// A JPEG whose EXIF metadata holds another JPEG.
  private func jpeg(thumbnail: [UInt8]) throws -> [UInt8] {
    let picture = try fixture.maker.encode(flat(640, 480, Raster.Pixel(200, 40, 40)), as: .jpeg)
    return EXIFSegment.insert(thumbnail: thumbnail, into: picture)
  }

  @Test func `the thumbnail in a JPEG is used only if that is asked for`() throws {
    let thumbnail = try fixture.maker.encode(flat(160, 120, Raster.Pixel(40, 40, 200)), as: .jpeg)
    let file = try jpeg(thumbnail: thumbnail)
    for use in [EmbeddedUse.auto, .never] {
      let (pixel, source) = try centre(of: file, size: 100, use)
      #expect(pixel.resembles(Raster.Pixel(200, 40, 40)))
      #expect(source.decodePath == .general)
    }
    for (size, width) in [(100, 100), (300, 160)] {
      let (pixel, source) = try centre(of: file, size: size, .always, width: width)
      #expect(pixel.resembles(Raster.Pixel(40, 40, 200)))
      #expect(source.decodePath == .embedded)
      #expect(source.width == 640)
    }
  }

  @Test func `a thumbnail of another shape, or that cannot be decoded, does not matter`() throws {
    let wide = try fixture.maker.encode(flat(160, 90, Raster.Pixel(40, 40, 200)), as: .jpeg)
    let small = try fixture.maker.encode(flat(160, 120, Raster.Pixel(40, 40, 200)), as: .jpeg)
    for thumbnail in [wide, Array(small.prefix(small.count / 2)), []] {
      let (pixel, source) = try centre(of: jpeg(thumbnail: thumbnail), size: 100, .always)
      #expect(pixel.resembles(Raster.Pixel(200, 40, 40)))
      #expect(source.decodePath == .general)
    }
  }

  /// The first two libheif refuses when it opens the preview, the last when it decodes it.
  @Test(arguments: [
    HEIFWithPreview.Aperture(width: (0, 1), height: (0, 1)),
    HEIFWithPreview.Aperture(width: (320, 1), height: (240, 1), leftOffset: (9_000, 1)),
    HEIFWithPreview.Aperture(width: (400, 1), height: (240, 1)),
  ])
  func `a preview that cannot be cropped does not matter`(
    aperture: HEIFWithPreview.Aperture
  ) throws {
    let (pixel, _) = try centre(of: file(aperture), size: 256)
    #expect(pixel.resembles(Raster.Pixel(200, 40, 40)))
  }
}
