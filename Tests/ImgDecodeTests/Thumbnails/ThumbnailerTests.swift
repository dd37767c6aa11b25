import ImgDecode
import ImgModel
import ImgSniff
import TestPictures
import Testing

@Suite(.timeLimit(.minutes(20))) struct ThumbnailerTests {
  private let fixture: ThumbnailFixture

  init() throws {
    fixture = try ThumbnailFixture()
  }

  private static let colourFormats = PictureFormat.allCases.filter {
    ![.grayJPEG, .grayPNG, .grayTIFF].contains($0)
  }

  @Test(arguments: colourFormats, Variant.Format.allCases)
  func `every format becomes every thumbnail format`(
    source: PictureFormat, format: Variant.Format
  ) throws {
    let picture = try fixture.maker.card(index: 3, width: 320, height: 240, format: source)
    let variant = try Variant(width: 120, height: 120, format: format)
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
      [.jpeg, .progressiveJPEG].contains(source) && expectedFormat == .jpeg
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
    let variant = try Variant(width: 90, height: 90, mode: .fill, crop: .centre, format: .png)
    let rendered = try fixture.thumbnailer.thumbnail(of: picture, as: variant)
    let raster = try fixture.reader.raster(of: rendered.bytes)
    #expect((raster.width, raster.height) == (90, 90))
    #expect(!raster[1, 1].resembles(Card.topLeft))
  }

  @Test(arguments: 1...8)
  func `the upright picture decides whether auto fills`(orientation: Int) throws {
    let picture = try fixture.maker.card(
      index: 5, width: 160, height: 120, format: .jpeg, orientation: orientation)
    for (box, filled) in [((90, 60), (90, 60)), ((60, 90), (60, 45))] {
      let variant = try Variant(width: box.0, height: box.1, mode: .auto, crop: .centre)
      let thumbnail = try fixture.thumbnailer.thumbnail(of: picture, as: variant).thumbnail
      #expect((thumbnail.width, thumbnail.height) == filled)
    }
  }

  @Test func `a stretched picture has the shape of the box`() throws {
    let picture = try fixture.maker.card(index: 5, width: 320, height: 240)
    let variant = try Variant(width: 50, height: 200, mode: .stretch)
    let rendered = try fixture.thumbnailer.thumbnail(of: picture, as: variant)
    #expect((rendered.thumbnail.width, rendered.thumbnail.height) == (50, 200))
    #expect(try fixture.reader.raster(of: rendered.bytes).isUprightCard())
  }

  @Test(arguments: [PictureFormat.grayJPEG, .grayPNG, .grayTIFF])
  func `grey stays grey`(format: PictureFormat) throws {
    let picture = try fixture.maker.card(index: 8, format: format)
    let rendered = try fixture.thumbnailer.thumbnail(of: picture, as: .standard)
    let pixel = try fixture.reader.raster(of: rendered.bytes)[5, 5]
    #expect(pixel.resembles(Raster.Pixel(pixel.green, pixel.green, pixel.green)))
  }

  @Test func `colours of another profile are brought into sRGB`() throws {
    let picture = try fixture.maker.card(index: 8, format: .displayP3PNG)
    let variant = try Variant(width: 256, height: 256, format: .png)
    let rendered = try fixture.thumbnailer.thumbnail(of: picture, as: variant)
    // The green of the corner is stronger than sRGB can show, so its red falls to nothing.
    let corner = try fixture.reader.raster(of: rendered.bytes)[250, 5]
    #expect(Card.topRight.red > 20 && corner.red < 5)
  }

  @Test func `no metadata is left`() throws {
    let picture = try fixture.maker.card(index: 8, format: .jpeg, orientation: 6)
    #expect(try fixture.reader.metadata(of: picture).contains("exif-data"))
    let profiled = try fixture.maker.card(index: 8, format: .displayP3PNG)
    #expect(try fixture.reader.metadata(of: profiled).contains("icc-profile-data"))
    for source in [picture, profiled] {
      for format in Variant.Format.allCases {
        let variant = try Variant(width: 64, height: 64, format: format)
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
    for format in Variant.Format.allCases {
      let variant = try Variant(width: 64, height: 64, format: format)
      let rendered = try fixture.thumbnailer.thumbnail(of: picture, as: variant)
      #expect(rendered.thumbnail.width == min(width, 64), "\(format)")
      #expect(rendered.thumbnail.height == min(height, 64), "\(format)")
    }
  }

  @Test func `a small picture is not enlarged`() throws {
    let picture = try fixture.maker.card(index: 2, width: 64, height: 48)
    for mode in Variant.Mode.allCases {
      let variant = try Variant(width: 400, height: 400, mode: mode)
      let rendered = try fixture.thumbnailer.thumbnail(of: picture, as: variant)
      // The box is square, and so is what these modes keep.
      let expected = [.fillDown, .stretchDown].contains(mode) ? (48, 48) : (64, 48)
      #expect((rendered.thumbnail.width, rendered.thumbnail.height) == expected, "\(mode)")
    }
  }

  @Test(arguments: [PictureFormat.gif, .webp])
  func `an animation becomes its first frame`(format: PictureFormat) throws {
    let picture = try fixture.maker.animation(index: 4, frameCount: 5, format: format)
    let variant = try Variant(width: 64, height: 64, format: .png)
    let rendered = try fixture.thumbnailer.thumbnail(of: picture, as: variant)
    #expect(
      rendered.source
        == SourceFacts(format: format.imageFormat, width: 64, height: 48, frames: 5))
    #expect((rendered.thumbnail.width, rendered.thumbnail.height) == (64, 48))
    #expect(try fixture.reader.raster(of: rendered.bytes).isUprightCard())
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
    let small = try drawn(Variant(width: 150, height: 150, format: .png))
    #expect((small.width, small.height) == (150, 100))
    #expect(small[35, 50].resembles(Card.topLeft))
    let large = try drawn(Variant(width: 1_200, height: 1_200, format: .png))
    #expect((large.width, large.height) == (1_200, 800))
    // An enlarged picture of pixels would have a soft edge.
    #expect(large[599, 400].resembles(Card.topLeft))
    let own = try drawn(
      Variant(
        width: 1_200, height: 1_200, format: .png, sizing: Sizing(keepsDrawingSize: true)))
    #expect((own.width, own.height) == (300, 200))
  }

  @Test func `what every program reads is PNG for a transparent picture and JPEG for others`()
    throws
  {
    let variant = try Variant(width: 30, height: 30, format: .compatible)
    let transparent = Array("<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>".utf8)
    let opaque = try fixture.maker.card(index: 1, format: .jpeg)
    for (picture, format) in [(transparent, ImageFormat.png), (opaque, .jpeg)] {
      let made = try fixture.thumbnailer.thumbnail(of: picture, as: variant)
      #expect(made.thumbnail.format == format)
    }
  }

  @Test func `a higher quality takes more bytes`() throws {
    let picture = try fixture.maker.noise(seed: 1, width: 128, height: 128, format: .png)
    for format in [Variant.Format.jpeg, .webp, .avif] {
      let sizes = try [20, 90].map { quality in
        let variant = try Variant(width: 128, height: 128, format: format, quality: quality)
        return try fixture.thumbnailer.thumbnail(of: picture, as: variant).bytes.count
      }
      #expect(sizes[0] < sizes[1], "\(format)")
    }
  }
}
