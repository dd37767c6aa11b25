import ImgClient
import TestPictures
import Testing

struct ImagePlaceholderTests {
  /// As of a gray picture: its waves have no strength.
  private static let gray: [UInt8] = [32, 8, 2, 7, 0] + Array(repeating: 0, count: 19)
  /// The same with a wave from left to right as strong as can be.
  private static let wave: [UInt8] =
    [32, 8, 2 | 31 << 2, 7, 0, 0x8F] + Array(repeating: 0x88, count: 17) + [8]

  private static let placeholders: [ImagePlaceholder] =
    [
      .none, .colour(.init(red: 1, green: 2, blue: 250)), .thumbHash(gray), .thumbHash([1, 2]),
      .text("AB"), .text(""), .text(#"</text><script>&'"]]>"# + "\u{0}\u{8}\u{FFFF}é\n🙂"),
      .text(String(repeating: "long ", count: 100)),
    ] + ImagePlaceholder.Symbol.allCases.map { .symbol($0) }

  @Test func `a ThumbHash without waves has one colour, its average`() throws {
    let pixels = try #require(ImagePlaceholder.thumbHash(Self.gray).pixels(width: 5, height: 3))
    let pixel = pixels[0, 0]
    #expect([pixel.red, pixel.green, pixel.blue].allSatisfy { (120...140).contains($0) })
    #expect(pixels == ImagePixels(width: 5, height: 3, filledWith: pixel))
    let image = LoadedImage(
      bytes: [1], type: .jpeg, width: 1, height: 1, source: LoadedImage.sample.source,
      thumbHash: Self.gray, origin: .network)
    #expect(image.averageColour == .init(red: pixel.red, green: pixel.green, blue: pixel.blue))
    #expect(image.placeholder == .thumbHash(Self.gray))
    #expect(LoadedImage.sample.placeholder == .none)
    #expect(LoadedImage.sample.averageColour == nil)
  }

  @Test func `a wave makes one side bright and the other one dark`() throws {
    let pixels = try #require(ImagePlaceholder.thumbHash(Self.wave).pixels(width: 32, height: 32))
    #expect(pixels[0, 16].green == 255)
    #expect(pixels[31, 16].green == 0)
  }

  @Test func `pixels are those of the placeholder, or none`() {
    let colour = ImageVariant.Colour(red: 9, green: 8, blue: 7)
    let pixels = ImagePlaceholder.colour(colour).pixels(width: 2, height: 1)
    #expect(pixels?.bytes == [9, 8, 7, 255, 9, 8, 7, 255])
    for placeholder in [ImagePlaceholder.none, .thumbHash([]), .thumbHash([1, 2, 3])] {
      #expect(placeholder.pixels(width: 1, height: 1)?.bytes == [0, 0, 0, 0])
    }
    #expect(ImagePlaceholder.symbol(.photo).pixels(width: 9, height: 9) == nil)
    #expect(ImagePlaceholder.text("A").pixels(width: 9, height: 9) == nil)
    #expect(ImagePlaceholder.colour(colour).pixels(width: 0, height: 9) == nil)
  }

  /// The decoder of SVG reads XML strictly.
  @Test(arguments: placeholders)
  func `every placeholder is an SVG of its size that can be decoded`(
    placeholder: ImagePlaceholder
  ) throws {
    let raster = try PictureReader.start().raster(of: placeholder.svg(width: 64, height: 48))
    #expect([raster.width, raster.height] == [64, 48])
    let isEmpty = stride(from: 3, to: raster.bytes.count, by: 4).allSatisfy {
      raster.bytes[$0] == 0
    }
    switch placeholder {
    case .none, .thumbHash([1, 2]), .text(""): #expect(isEmpty)
    case .text: break
    default: #expect(!isEmpty)
    }
  }

  @Test func `the SVG of a ThumbHash shows its pixels`() throws {
    let svg = ImagePlaceholder.thumbHash(Self.wave).svg(width: 64, height: 64)
    let raster = try PictureReader.start().raster(of: svg)
    #expect(raster[1, 32].green > 240 && raster[62, 32].green < 15)
  }

  @Test func `a text is escaped, and a side that is not positive is 1`() {
    let svg = String(
      decoding: ImagePlaceholder.text("<&>\u{1}").svg(width: 0, height: -3), as: UTF8.self)
    #expect(svg.contains("&lt;&amp;&gt;\u{FFFD}</text>"))
    #expect(svg.contains(#"width="1" height="1""#))
  }
}
