import ImgFacts
import ImgModel
import ImgSystem
import TestPictures
import Testing

@testable import ImgDecode

@Suite(.timeLimit(.minutes(20))) struct ThumbnailerTests {
  private let fixture = ThumbnailFixture()

  private static let colourFormats = PictureFormat.allCases.filter {
    ![.grayJPEG, .grayPNG, .grayTIFF].contains($0)
  }

  @Test(arguments: colourFormats, ImageVariant.Format.allCases)
  func `every format becomes every thumbnail format`(
    source: PictureFormat, format: ImageVariant.Format
  ) throws {
    let picture = try fixture.maker.card(index: 3, width: 320, height: 240, format: source)
    let variant = try Variant(ImageVariant(width: 120, height: 120, format: format))
    let rendered = try fixture.thumbnailer.thumbnail(of: picture, as: variant)
    let expectedFormat = ImageFormat(
      rawValue: [.auto, .compatible].contains(format) ? "jpeg" : format.rawValue)
    #expect(FormatSniffer.sniff(rendered.bytes) == expectedFormat.map { .picture($0) })
    #expect(
      rendered.thumbnail
        == Thumbnail(
          format: try #require(expectedFormat), width: 120, height: 90,
          byteCount: rendered.bytes.count))
    let isPlanar =
      [.jpeg, .progressiveJPEG, .webp].contains(source) && expectedFormat == .jpeg
    #expect(
      rendered.source
        == SourceFacts(
          format: source.imageFormat, width: 320, height: 240, frames: 1,
          decodePath: isPlanar ? .planar : .general))
    let raster = try fixture.reader.raster(of: rendered.bytes)
    #expect((raster.width, raster.height) == (120, 90))
    #expect(raster.isUprightCard(encodedIn: source))
  }

  @Test(arguments: PictureFormat.allCases)
  func `every picture that is decoded is recognised`(format: PictureFormat) throws {
    let picture = try fixture.maker.card(index: 1, width: 40, height: 30, format: format)
    #expect(FormatSniffer.sniff(picture) == .picture(format.imageFormat))
  }

  @Test(arguments: 1...8)
  func `a picture is upright whatever its orientation`(orientation: Int) throws {
    let picture = try fixture.maker.card(
      index: 5, width: 320, height: 240, format: .jpeg, orientation: orientation)
    let rendered = try fixture.thumbnailer.thumbnail(of: picture, as: .standard)
    #expect((rendered.source.width, rendered.source.height) == (320, 240))
    #expect((rendered.thumbnail.width, rendered.thumbnail.height) == (256, 192))
    #expect(try fixture.reader.raster(of: rendered.bytes).isUprightCard())
  }

  @Test(arguments: [1, 6])
  func `a crop is taken from the upright picture`(orientation: Int) throws {
    let picture = try fixture.maker.card(
      index: 5, width: 400, height: 100, format: .jpeg, orientation: orientation)
    let variant = try Variant(
      ImageVariant(width: 90, height: 90, mode: .fill, crop: .centre, format: .png))
    let raster = try fixture.raster(of: picture, as: variant)
    #expect((raster.width, raster.height) == (90, 90))
    #expect(!raster[1, 1].resembles(Card.topLeft))
  }

  @Test(arguments: 1...8)
  func `the upright picture decides whether auto fills`(orientation: Int) throws {
    let picture = try fixture.maker.card(
      index: 5, width: 160, height: 120, format: .jpeg, orientation: orientation)
    for (box, filled) in [((90, 60), (90, 60)), ((60, 90), (60, 45))] {
      let variant = try Variant(
        ImageVariant(width: box.0, height: box.1, mode: .auto, crop: .centre))
      let thumbnail = try fixture.thumbnailer.thumbnail(of: picture, as: variant).thumbnail
      #expect((thumbnail.width, thumbnail.height) == filled)
    }
  }

  @Test func `no metadata is left`() throws {
    let picture = try fixture.maker.card(index: 8, format: .jpeg, orientation: 6)
    #expect(try fixture.reader.metadata(of: picture).contains("exif-data"))
    let profiled = try fixture.maker.card(index: 8, format: .displayP3PNG)
    #expect(try fixture.reader.metadata(of: profiled).contains("icc-profile-data"))
    for source in [picture, profiled] {
      for format in ImageVariant.Format.allCases {
        let variant = try Variant(ImageVariant(width: 64, height: 64, format: format))
        let rendered = try fixture.thumbnailer.thumbnail(of: source, as: variant)
        #expect(try fixture.reader.metadata(of: rendered.bytes) == [], "\(format)")
      }
    }
  }

  @Test(arguments: [(1, 1), (5_000, 1), (1, 5_000)])
  func `a thumbnail has at least one pixel a side and no more than its source`(
    width: Int, height: Int
  ) throws {
    let picture = try fixture.maker.card(index: 0, width: width, height: height, format: .png)
    for format in ImageVariant.Format.allCases {
      let variant = try Variant(ImageVariant(width: 64, height: 64, format: format))
      let rendered = try fixture.thumbnailer.thumbnail(of: picture, as: variant)
      #expect(rendered.thumbnail.width == min(width, 64), "\(format)")
      #expect(rendered.thumbnail.height == min(height, 64), "\(format)")
    }
  }

  /// A red half and a transparent one, so that the edge between them shows how it was drawn.
  private func drawn(_ variant: Variant) throws -> Raster {
    let drawing = """
      <svg xmlns="http://www.w3.org/2000/svg" width="300" height="200">
        <rect width="150" height="200" fill="#dc1e1e"/>
      </svg>
      """
    let rendered = try fixture.thumbnailer.thumbnail(of: Array(drawing.utf8), as: variant)
    #expect(rendered.source == SourceFacts(format: .svg, width: 300, height: 200, frames: 1))
    return try fixture.reader.raster(of: rendered.bytes)
  }

  @Test func `a drawing is drawn in the size of its thumbnail`() throws {
    let small = try drawn(Variant(ImageVariant(width: 150, height: 150, format: .png)))
    #expect((small.width, small.height) == (150, 100))
    #expect(small[35, 50].resembles(Card.topLeft))
    let large = try drawn(Variant(ImageVariant(width: 1_200, height: 1_200, format: .png)))
    #expect((large.width, large.height) == (1_200, 800))
    // An enlarged picture of pixels would have a soft edge.
    #expect(large[599, 400].resembles(Card.topLeft))
    let own = try drawn(
      Variant(ImageVariant(size: 1_200, format: .png)).changed {
        $0.sizing = Sizing(keepsDrawingSize: true)
      })
    #expect((own.width, own.height) == (300, 200))
  }

  @Test func `what every program reads is PNG if transparent and JPEG otherwise`() throws {
    let variant = try Variant(ImageVariant(width: 30, height: 30, format: .compatible))
    let transparent = Array("<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>".utf8)
    let opaque = try fixture.maker.card(index: 1, format: .jpeg)
    for (picture, format) in [(transparent, ImageFormat.png), (opaque, .jpeg)] {
      let made = try fixture.thumbnailer.thumbnail(of: picture, as: variant)
      #expect(made.thumbnail.format == format)
    }
  }

  @Test func `a higher quality takes more bytes`() throws {
    let picture = try fixture.maker.noise(seed: 1, width: 128, height: 128, format: .png)
    for format in [ImageVariant.Format.jpeg, .webp, .avif] {
      let sizes = try [20, 90].map { quality in
        let variant = try Variant(
          ImageVariant(width: 128, height: 128, format: format, quality: quality))
        return try fixture.thumbnailer.thumbnail(of: picture, as: variant).bytes.count
      }
      #expect(sizes[0] < sizes[1], "\(format)")
    }
  }
}

/// Thumbnails as their pixels, for programs that draw them.
@Suite(.timeLimit(.minutes(20))) struct PixelRendererTests {
  private let fixture = ThumbnailFixture()

  private func raster(of picture: [UInt8], frames: ImageVariant.Frames = .first) throws -> Raster {
    let side = ImageVariant.sideRange.upperBound
    let variant = try Variant(ImageVariant(width: side, height: side, frames: frames))
    let made = try fixture.thumbnailer.pixels(of: picture.span, as: variant).thumbnails[0]
    let (thumbnail, bytes) = (made.thumbnail, made.bytes)
    #expect(thumbnail.byteCount == bytes.count)
    #expect(bytes.count == thumbnail.width * thumbnail.height * 4)
    return Raster(width: thumbnail.width, height: thumbnail.height) { x, y in
      let start = (y * thumbnail.width + x) * 4
      return Raster.Pixel(bytes[start], bytes[start + 1], bytes[start + 2], alpha: bytes[start + 3])
    }
  }

  private func failure(
    of picture: [UInt8], frames: ImageVariant.Frames = .first, limits: Limits = Limits()
  ) throws -> Failure? {
    let side = ImageVariant.sideRange.upperBound
    let variant = try Variant(ImageVariant(width: side, height: side, frames: frames))
    let thumbnailer = ThumbnailFixture(limits: limits).thumbnailer
    do throws(Failure) {
      _ = try thumbnailer.pixels(of: picture.span, as: variant)
      return nil
    } catch {
      return error
    }
  }

  @Test(arguments: [PictureFormat.jpeg, .png, .webp, .avif, .gif, .grayJPEG, .cmykJPEG, .heif])
  func `pixels are those of the picture in its own size`(format: PictureFormat) throws {
    let picture = try fixture.maker.card(index: 1, width: 160, height: 120, format: format)
    let raster = try raster(of: picture)
    #expect([raster.width, raster.height] == [160, 120])
    guard format != .grayJPEG else {
      let pixel = raster[10, 10]
      #expect(pixel.red == pixel.green && pixel.green == pixel.blue && pixel.alpha == 255)
      return
    }
    #expect(raster.isUprightCard(encodedIn: format))
  }

  @Test func `lossless pixels are exact, and colours are not multiplied by alpha`() throws {
    let colour = Raster.Pixel(200, 100, 50, alpha: 128)
    let drawn = Raster(width: 3, height: 2) { x, _ in
      x == 0 ? colour : Raster.Pixel(1, 2, 3, alpha: x == 1 ? 255 : 0)
    }
    let picture = try fixture.maker.encode(drawn, as: .png, hasAlpha: true)
    let raster = try raster(of: picture)
    #expect(raster[0, 1] == colour)
    #expect(raster[1, 0] == Raster.Pixel(1, 2, 3))
    #expect(raster[2, 0].alpha == 0)
  }

  @Test(arguments: 1...8)
  func `pixels are upright`(orientation: Int) throws {
    let picture = try fixture.maker.card(
      index: 5, width: 160, height: 120, format: .jpeg, orientation: orientation)
    let raster = try raster(of: picture)
    #expect([raster.width, raster.height] == [160, 120])
    #expect(raster.isUprightCard())
  }

  @Test(arguments: [PictureFormat.gif, .webp])
  func `each frame of an animation has pixels of its own`(format: PictureFormat) throws {
    let frames = [Raster.Pixel(250, 0, 0), .init(0, 250, 0), .init(0, 0, 250)]
    let picture = try fixture.maker.animation(
      of: frames.map { colour in Raster(width: 16, height: 12) { _, _ in colour } }, as: format)
    #expect(try raster(of: picture)[8, 6].resembles(frames[0]))
    for (number, colour) in frames.enumerated() {
      #expect(try raster(of: picture, frames: .number(number))[8, 6].resembles(colour))
    }
    #expect(try failure(of: picture, frames: .number(3))?.code == .frameOutOfRange)
    #expect(try failure(of: picture, frames: .all)?.code == .unsupportedAnimation)
  }

  @Test func `pixels beyond the limits are refused before they are decoded`() throws {
    let picture = try fixture.maker.card(index: 1, width: 160, height: 120)
    var limits = Limits()
    limits.maxThumbnailByteCount = 160 * 120 * 4 - 1
    let failure = try failure(of: picture, limits: limits)
    #expect(failure?.code == .tooLarge)
    #expect(failure?.detail == "160 × 120 pixels take 76800 bytes; 76799 are the most")
    limits.maxPixels = 100
    #expect(try self.failure(of: picture, limits: limits)?.code == .tooManyPixels)
  }

  @Test func `a damaged picture has no pixels`() throws {
    let picture = try fixture.maker.card(index: 1, width: 160, height: 120)
    #expect(try failure(of: Array(picture.prefix(picture.count / 2)))?.code == .corruptImage)
    #expect(try failure(of: Array("no picture at all".utf8))?.code == .notAnImage)
  }
}

@Suite struct VipsRuntimeTests {
  @Test func `a second start returns the same runtime`() throws {
    _ = try VipsRuntime.start()
    _ = try VipsRuntime.start()
  }

  @Test func `a loader that is not on the list does not run`() throws {
    let reader = PictureReader(runtime: try VipsRuntime.start())
    let pixmap = Array("P6\n1 1\n255\nabc".utf8)
    #expect(throws: PictureError.self) { try reader.raster(of: pixmap) }
  }

  @Test func `an error says each thing once, and the reason rather than where it looked`() {
    let summary = VipsError.summary(
      of: """
        source: bad seek to 21785
        source: bad seek to 21595
        heif: Unexpected end of file: outside of file bounds;  (2.100)
        heif: Unexpected end of file: outside of file bounds;  (2.100)
        """)
    #expect(summary == "heif: Unexpected end of file: outside of file bounds (2.100)")
    #expect(VipsError.summary(of: "source: bad seek to 36\n") == "source: bad seek to 36")
    let cut = "heif: Unexpected end of file: Extent in iloc box (points to 36)\n (2.100)"
    #expect(
      VipsError.summary(of: cut)
        == "heif: Unexpected end of file: Extent in iloc box (points to 36) (2.100)")
    let tags = (1...9).map {
      "TIFFFetchNormalTag: Defined set_field_type of custom tag \($0) (Tag \($0)) is "
        + "TIFF_SETGET_UNDEFINED and thus tag is not read from file\n"
    }
    let lines = tags + ["ZIPDecode: Decoding error at scanline 0\n", "tiff2vips: read error\n"]
    #expect(VipsError.summary(of: lines.joined()) == "ZIPDecode: Decoding error at scanline 0")
    #expect(VipsError.summary(of: "tiff2vips: read error\n") == "tiff2vips: read error")
  }

  @Test func `only the modules of decoded formats are loaded`() throws {
    _ = try VipsRuntime.start()
    let maps = try FileIO.contents(of: "/proc/self/maps", upTo: 16 << 20)
    let modules = String(decoding: maps, as: UTF8.self).split(separator: "\n")
      .filter { $0.contains("/vips-modules-") }.compactMap { $0.split(separator: "/").last }
    // A build of libvips may have none.
    #expect(Set(modules).isSubset(of: ["vips-heif.so", "vips-jxl.so"]))
  }
}
