import ImgDecode
import ImgModel
import TestPictures
import Testing

/// What a request does to the pixels of a thumbnail.
@Suite(.timeLimit(.minutes(20))) struct EffectsTests {
  private let fixture = ThumbnailFixture()

  private static let red = Raster.Pixel(200, 30, 30)
  private static let blue = Raster.Pixel(30, 30, 200)

  private func raster(
    of picture: Raster, _ effects: ImageVariant.Effects, hasAlpha: Bool = false,
    format: ImageVariant.Format = .png,
    side: Int = 64
  ) throws -> Raster {
    let file = try fixture.maker.encode(picture, as: .png, hasAlpha: hasAlpha)
    let variant = try Variant(
      ImageVariant(width: side, height: side, format: format, effects: effects))
    return try fixture.raster(of: file, as: variant)
  }

  private func flat(_ colour: Raster.Pixel, side: Int = 64) -> Raster {
    Raster(width: side, height: side) { _, _ in colour }
  }

  /// Red to the left, blue to the right.
  private let halves = Raster(width: 64, height: 64) { x, _ in x < 32 ? red : blue }

  @Test func `a picture without colours keeps its lightness`() throws {
    let raster = try raster(of: halves, ImageVariant.Effects(isGrayscale: true))
    let (left, right) = (raster[10, 10], raster[50, 10])
    for pixel in [left, right] {
      #expect(pixel.red == pixel.green && pixel.green == pixel.blue)
    }
    #expect(left.red > right.red + 20)
  }

  @Test func `a blur mixes neighbours, and the more the larger it is`() throws {
    let sharp = try raster(of: halves, .none)
    let little = try raster(of: halves, ImageVariant.Effects(blur: .one))
    let much = try raster(of: halves, ImageVariant.Effects(blur: Thousandths(count: 8_000)))
    #expect(sharp[28, 32] == Self.red)
    #expect(little[24, 32].resembles(Self.red, tolerance: 2))
    #expect(much[24, 32].blue > Self.red.blue + 15)
    #expect(much[31, 32].resembles(Raster.Pixel(115, 30, 115), tolerance: 12))
  }

  @Test func `a blur takes no colour from pixels that are not seen`() throws {
    let picture = Raster(width: 64, height: 64) { x, _ in
      x < 32 ? Self.red : Raster.Pixel(0, 255, 0, alpha: 0)
    }
    let raster = try raster(
      of: picture, ImageVariant.Effects(blur: Thousandths(count: 4_000)), hasAlpha: true)
    for x in 0..<32 { #expect(raster[x, 32].green < 40) }
    #expect((1..<255).contains(raster[32, 32].alpha))
  }

  @Test func `sharpening makes an edge steeper`() throws {
    let ramp = Raster(width: 64, height: 64) { x, _ in
      let value = UInt8(min(max(60 + (x - 28) * 16, 60), 188))
      return Raster.Pixel(value, value, value)
    }
    let plain = try raster(of: ramp, .none)
    let sharpened = try raster(of: ramp, ImageVariant.Effects(sharpen: Thousandths(count: 1_500)))
    #expect(sharpened[28, 32].red < plain[28, 32].red)
    #expect(sharpened[36, 32].red > plain[36, 32].red)
    #expect(sharpened[10, 32] == plain[10, 32])
  }

  @Test func `a radius makes the corners transparent`() throws {
    let raster = try raster(of: flat(Self.red), ImageVariant.Effects(radius: 16))
    for (x, y) in [(0, 0), (63, 0), (0, 63), (63, 63)] { #expect(raster[x, y].alpha == 0) }
    for (x, y) in [(16, 0), (0, 16), (32, 32), (8, 8), (47, 63)] {
      #expect(raster[x, y].resembles(Self.red, tolerance: 2))
    }
    // About half of a pixel on the circle is inside.
    let edge = (0..<16).map { raster[$0, 15 - $0].alpha }
    #expect(edge.contains { (1..<255).contains($0) })
  }

  @Test func `a radius of more than half the box makes a circle`() throws {
    let raster = try raster(of: flat(Self.red), ImageVariant.Effects(radius: 1_000))
    let opaque = (0..<64).reduce(0) { sum, y in
      sum + (0..<64).count { raster[$0, y].alpha > 127 }
    }
    // The area of a circle of radius 32.
    #expect((3_150...3_280).contains(opaque))
  }

  @Test func `automatic format obeys corners that became transparent`() throws {
    let file = try fixture.maker.encode(flat(Self.red), as: .jpeg)
    let variant = try Variant(
      ImageVariant(width: 64, height: 64, effects: ImageVariant.Effects(radius: 5)))
    #expect(try fixture.thumbnailer.thumbnail(of: file, as: variant).thumbnail.format == .webp)
    let onWhite = try Variant(
      ImageVariant(
        width: 64, height: 64, effects: ImageVariant.Effects(radius: 5, background: .white)))
    #expect(try fixture.thumbnailer.thumbnail(of: file, as: onWhite).thumbnail.format == .jpeg)
  }

  @Test(arguments: [ImageVariant.Format.png, .jpeg])
  func `a background is behind transparent pixels and corners`(format: ImageVariant.Format) throws {
    let picture = Raster(width: 64, height: 64) { x, _ in
      x < 32 ? Self.red : Raster.Pixel(0, 255, 0, alpha: 0)
    }
    let effects = ImageVariant.Effects(
      radius: 16, background: RGBColour(red: 255, green: 136, blue: 0))
    let raster = try raster(of: picture, effects, hasAlpha: true, format: format)
    let orange = Raster.Pixel(255, 136, 0)
    #expect(raster[0, 0].resembles(orange))
    #expect(raster[50, 32].resembles(orange))
    #expect(raster[16, 32].resembles(Self.red))
  }

  @Test func `without a background, JPEG has white where nothing is`() throws {
    let raster = try raster(of: flat(Self.red), ImageVariant.Effects(radius: 16), format: .jpeg)
    #expect(raster[0, 0].resembles(Raster.Pixel(255, 255, 255)))
  }

  @Test func `a padding is a transparent border around the box and its round corners`() throws {
    let raster = try raster(of: flat(Self.red), ImageVariant.Effects(radius: 16, padding: 10))
    #expect(raster.width == 84 && raster.height == 84)
    for (x, y) in [(0, 0), (42, 9), (9, 42), (42, 74), (74, 42), (10, 10), (73, 73)] {
      #expect(raster[x, y].alpha == 0)
    }
    for (x, y) in [(42, 10), (10, 42), (42, 73), (73, 42), (42, 42)] {
      #expect(raster[x, y].resembles(Self.red, tolerance: 2) && raster[x, y].alpha == 255)
    }
  }

  @Test(arguments: [ImageVariant.Format.png, .jpeg, .webp])
  func `a border has the colour of the background`(format: ImageVariant.Format) throws {
    let effects = ImageVariant.Effects(
      padding: 10, background: RGBColour(red: 255, green: 136, blue: 0))
    let raster = try raster(of: flat(Self.red), effects, format: format)
    #expect(raster.width == 84)
    for (x, y) in [(0, 0), (5, 40), (80, 80)] {
      #expect(raster[x, y].resembles(Raster.Pixel(255, 136, 0)))
    }
    #expect(raster[42, 42].resembles(Self.red))
    let white = try self.raster(
      of: flat(Self.red), ImageVariant.Effects(padding: 10), format: format)
    #expect(format == .jpeg ? white[3, 3].resembles(.init(255, 255, 255)) : white[3, 3].alpha == 0)
  }

  @Test(arguments: [PictureFormat.grayPNG, .sixteenBitPNG, .cmykJPEG, .grayJPEG, .displayP3PNG])
  func `pictures of every kind of samples get a border`(format: PictureFormat) throws {
    let file = try fixture.maker.encode(flat(Raster.Pixel(120, 120, 120)), as: format)
    let variant = try Variant(
      ImageVariant(
        width: 32, height: 32, format: .png,
        effects: ImageVariant.Effects(radius: 5, padding: 4, background: .white)))
    let raster = try fixture.raster(of: file, as: variant)
    #expect(raster.width == 40 && raster.height == 40)
    #expect(raster[2, 20].resembles(Raster.Pixel(255, 255, 255)))
    #expect(raster[4, 4].resembles(Raster.Pixel(255, 255, 255), tolerance: 12))
    #expect(raster[20, 20].resembles(Raster.Pixel(120, 120, 120), tolerance: 16))
  }

  @Test func `a picture that covers its box leaves room for the border`() throws {
    let long = try Variant(
      ImageVariant(
        width: 10, height: 10, mode: .fill, enlarges: true, format: .webp,
        effects: ImageVariant.Effects(padding: 1_000)))
    let source = ThumbnailGeometry.Size(width: 40_000, height: 10)
    let geometry = ThumbnailGeometry(source: source, variant: long)
    #expect(geometry.kept.width == 14_383)
    #expect(geometry.padded.width == 16_383)
  }

  // MARK: - Crops by interest

  @Test(arguments: [ImageVariant.Crop.attention, .entropy])
  func `a crop by interest finds what stands out`(crop: ImageVariant.Crop) throws {
    // A patch with edges and saturated colours near the right end of an even gray.
    let picture = Raster(width: 900, height: 300) { x, y in
      guard (700..<860).contains(x), (70..<230).contains(y) else {
        return Raster.Pixel(128, 128, 128)
      }
      return (x / 8 + y / 8).isMultiple(of: 2) ? Self.red : Raster.Pixel(230, 160, 120)
    }
    let file = try fixture.maker.encode(picture, as: .jpeg)
    let red = { (crop: ImageVariant.Crop) in
      let variant = try Variant(
        ImageVariant(width: 100, height: 100, mode: .fill, crop: crop, format: .png))
      let made = try fixture.thumbnailer.thumbnail(of: file, as: variant)
      #expect(made.thumbnail.width == 100 && made.thumbnail.height == 100)
      let raster = try fixture.reader.raster(of: made.bytes)
      return (0..<100).reduce(0) { sum, y in
        sum + (0..<100).count { raster[$0, y].red > 160 }
      }
    }
    #expect(try red(crop) > 1_000)
    #expect(try red(.centre) == 0)
  }

  @Test func `a crop around a point shows that part`() throws {
    let file = try fixture.maker.encode(
      Raster(width: 900, height: 300) { x, _ in x < 450 ? Self.red : Self.blue }, as: .jpeg)
    for (x, colour) in [(0, Self.red), (1_000, Self.blue)] {
      let point = ImageVariant.Crop.point(x: Thousandths(count: x), y: .zero)
      let variant = try Variant(ImageVariant(width: 100, height: 100, mode: .fill, crop: point))
      let raster = try fixture.raster(of: file, as: variant)
      for column in [5, 95] { #expect(raster[column, 50].resembles(colour)) }
    }
  }

  // MARK: - Enlarging

  @Test(arguments: [PictureFormat.jpeg, .png, .webp, .gif])
  func `a small picture becomes as large as the box`(format: PictureFormat) throws {
    let file = try fixture.maker.card(index: 1, width: 40, height: 30, format: format)
    let variant = try Variant(ImageVariant(width: 400, height: 400, enlarges: true, format: .png))
    let made = try fixture.thumbnailer.thumbnail(of: file, as: variant)
    #expect(made.thumbnail.width == 400 && made.thumbnail.height == 300)
    #expect(try fixture.reader.raster(of: made.bytes).isUprightCard(encodedIn: format))
  }

  @Test func `a thumbnail has no more pixels than a picture may have`() throws {
    let strict = ThumbnailFixture(maxPixels: 10_000)
    let file = try fixture.maker.card(index: 1, width: 40, height: 30, format: .png)
    let variant = try Variant(ImageVariant(width: 400, height: 400, enlarges: true))
    #expect(strict.failureCode(of: file, as: variant) == .tooManyPixels)
    #expect(strict.failureCode(of: file) == nil)
  }

  // MARK: - GIF

  @Test func `a thumbnail can be a GIF, with transparency`() throws {
    let picture = Raster(width: 64, height: 64) { x, _ in
      x < 32 ? Self.red : Raster.Pixel(0, 255, 0, alpha: 0)
    }
    let file = try fixture.maker.encode(picture, as: .png, hasAlpha: true)
    let made = try fixture.thumbnailer.thumbnail(
      of: file, as: Variant(ImageVariant(width: 32, height: 32, format: .gif)))
    #expect(made.thumbnail.format == .gif)
    let raster = try fixture.reader.raster(of: made.bytes)
    #expect(raster[5, 16].resembles(Self.red))
    #expect(raster[28, 16].alpha == 0)
  }
}

@Suite(.timeLimit(.minutes(20))) struct TransparencyTests {
  private let fixture = ThumbnailFixture()

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

  @Test(arguments: [ImageVariant.Format.png, .webp, .avif])
  func `a format that knows transparency keeps it`(format: ImageVariant.Format) throws {
    let picture = try fixture.maker.card(
      index: 1, width: 256, height: 192, format: .sixteenBitPNG, hasAlpha: true)
    let variant = try Variant(ImageVariant(width: 256, height: 256, format: format))
    let rendered = try fixture.thumbnailer.thumbnail(of: picture, as: variant)
    #expect(try notch(of: rendered).alpha < 10)
  }

  /// Each GIF of libvips declares a transparent colour.
  @Test(arguments: ImageVariant.Format.allCases.filter { $0 != .gif })
  func `an alpha channel that hides nothing counts as none`(format: ImageVariant.Format) throws {
    let opaque = Card(index: 1, width: 64, height: 48).raster
    let picture = try fixture.maker.encode(opaque, as: .png, hasAlpha: true)
    #expect(try fixture.reader.hasAlpha(picture))
    let variant = try Variant(ImageVariant(width: 64, height: 64, format: format))
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
    let variant = try Variant(ImageVariant(width: 64, height: 64, format: .png))
    let raster = try fixture.raster(of: picture, as: variant)
    for x in 8..<56 { #expect(raster[x, 8].green < 8 && raster[x, 8].red > 180) }
  }

  @Test func `an alpha channel that hides nothing does not change the colours`() throws {
    let raster = Card(index: 1, width: 400, height: 300).raster
    let variant = try Variant(ImageVariant(width: 100, height: 100, format: .png))
    let thumbnails = try [false, true].map { hasAlpha in
      let picture = try fixture.maker.encode(raster, as: .png, hasAlpha: hasAlpha)
      return try fixture.raster(of: picture, as: variant)
    }
    #expect(thumbnails[0].bytes == thumbnails[1].bytes)
  }
}
