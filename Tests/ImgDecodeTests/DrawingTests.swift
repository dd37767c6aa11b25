import FoundationEssentials
import ImgDecode
import ImgModel
import TestFiles
import TestPictures
import Testing

/// What an SVG may contain.
@Suite(.timeLimit(.minutes(20))) struct DrawingTests {
  private let fixture = ThumbnailFixture()

  /// A drawing of so many elements with its root.
  private func drawing(elementCount: Int) -> [UInt8] {
    Drawing.svg(String(repeating: "<g/>", count: elementCount - 1))
  }

  /// As gzip makes it without compression (RFC 1951 section 3.2.4), without the checksum at the end.
  private func compressed(_ bytes: [UInt8]) -> [UInt8] {
    var result: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]
    for start in stride(from: 0, to: bytes.count, by: 0xFFFF) {
      let block = bytes[start..<min(bytes.count, start + 0xFFFF)]
      let (low, high) = (UInt8(block.count & 0xFF), UInt8(block.count >> 8))
      result += [block.endIndex == bytes.count ? 1 : 0, low, high, ~low, ~high] + block
    }
    return result
  }

  // MARK: - Elements and size

  @Test(arguments: [
    ("3in", "2in", 288, 192), ("72pt", "36pt", 96, 48), ("6pc", "4pc", 96, 64),
    ("2.54cm", "25.4mm", 96, 96), ("40", "30px", 40, 30),
  ])
  func `a drawing is as large as CSS says, at 96 pixels an inch`(
    width: String, height: String, columns: Int, rows: Int
  ) throws {
    let text = "<svg xmlns='http://www.w3.org/2000/svg' width='\(width)' height='\(height)' "
    let file = Array("\(text)viewBox='0 0 4 4'><rect width='4' height='4'/></svg>".utf8)
    let whole = try fixture.thumbnailer.thumbnail(
      of: file, as: Variant(ImageVariant(width: 500, height: 500)))
    #expect(whole.source.width == columns && whole.source.height == rows)
    let half = try fixture.thumbnailer.thumbnail(
      of: file, as: Variant(ImageVariant(width: columns / 2, height: rows / 2)))
    #expect(half.thumbnail.width == columns / 2 && half.thumbnail.height == rows / 2)
  }

  @Test func `a drawing of too many elements is refused, compressed or not`() {
    #expect(fixture.failureCode(of: drawing(elementCount: 2_000)) == nil)
    let large = drawing(elementCount: 200_001)
    #expect(fixture.failureCode(of: large) == .unsupportedFormat)
    #expect(fixture.failureCode(of: compressed(large)) == .unsupportedFormat)
  }

  @Test func `a drawing of too many bytes is refused`() {
    let comment = "<!--" + String(repeating: " ", count: 32 << 20) + "-->"
    #expect(fixture.failureCode(of: Drawing.svg(comment)) == .unsupportedFormat)
  }

  // MARK: - Entities

  @Test func `an entity that is a short text passes`() {
    let prologue = "<!DOCTYPE svg [<!ENTITY ns 'http://example.com/names'>]>"
    let drawing = Drawing.svg(prologue: prologue, "<g xmlns:a='&ns;'/>")
    #expect(fixture.failureCode(of: drawing) == nil)
  }

  @Test(arguments: [
    "<!ENTITY a 'x'><!ENTITY b '&a;&a;'>", "<!ENTITY a '<g/>'>",
    "<!ENTITY a SYSTEM 'file:///etc/passwd'>", "<!ENTITY a PUBLIC 'p' 'http://example.com/'>",
    "<!ENTITY % a 'x'>", "<!ENTITY a '" + String(repeating: "x", count: 257) + "'>",
    "<!ENTITY a '&#60;g/>'>", "<!ENTITY a '&#38;b;'>",
  ])
  func `every other entity is refused`(declaration: String) {
    let drawing = Drawing.svg(prologue: "<!DOCTYPE svg [\(declaration)]>", "")
    #expect(fixture.failureCode(of: drawing) == .unsupportedFormat)
    // In UTF-16.
    let wide: [UInt8] = [0xFE, 0xFF] + drawing.flatMap { [0, $0] as [UInt8] }
    #expect(fixture.failureCode(of: wide) == .unsupportedFormat)
  }

  // MARK: - Pictures inside

  @Test func `the pictures inside are under the limit of pixels together`() throws {
    let fixture = ThumbnailFixture(maxPixels: 2_000)
    let variant = try Variant(ImageVariant(width: 32, height: 32))
    for (format, type) in [(PictureFormat.png, "image/png"), (.jpeg, "image/jpeg")] {
      let picture = try fixture.maker.card(index: 1, width: 40, height: 30, format: format)
      let image = Drawing.image(embedding: picture, as: type)
      #expect(fixture.failureCode(of: Drawing.svg(image), as: variant) == nil)
      #expect(fixture.failureCode(of: Drawing.svg(image + image), as: variant) == .tooManyPixels)
    }
    let large = try fixture.maker.card(declaring: 60_000, in: .png)
    let inner = Drawing.svg(Drawing.image(embedding: large))
    let outer = Drawing.svg(Drawing.image(embedding: inner, as: "image/svg+xml"))
    #expect(fixture.failureCode(of: outer) == .tooManyPixels)
  }

  /// Each is the start of the same URL to librsvg.
  @Test(arguments: ["&#100;ata:", "DATA:", " \n data:", "da&#9;ta:", "&d;"])
  func `the pictures inside count however their location is written`(start: String) throws {
    let data = Data(try fixture.maker.card(declaring: 60_000, in: .png)).base64EncodedString()
    let drawing = Drawing.svg(
      prologue: "<!DOCTYPE svg [<!ENTITY d 'data:'>]>",
      Drawing.image("\(start)image/png;base64,\(data)"))
    #expect(fixture.failureCode(of: drawing) == .tooManyPixels)
  }

  @Test(arguments: [(PictureFormat.png, "image/png"), (.jpeg, "image/jpeg")])
  func `a drawing with a damaged picture is damaged`(format: PictureFormat, type: String) throws {
    let picture = try fixture.maker.scene(width: 320, height: 240, format: format)
    #expect(
      fixture.failureCode(of: Drawing.svg(Drawing.image(embedding: picture, as: type))) == nil)
    for damaged in [Array(picture[..<(picture.count / 2)]), Array(picture[..<20])] {
      let image = Drawing.image(embedding: damaged, as: type)
      #expect(fixture.failureCode(of: Drawing.svg(image)) == .corruptImage)
      let inner = Drawing.image(embedding: Drawing.svg(image), as: "image/svg+xml")
      #expect(fixture.failureCode(of: Drawing.svg(inner)) == .corruptImage)
    }
  }

  @Test func `a drawing with data inside that is no picture is damaged`() {
    for location in ["data:image/png;base64,AAAA", "data:image/png;base64,?", "data:image/png"] {
      #expect(
        fixture.failureCode(of: Drawing.svg(Drawing.image(location))) == .corruptImage,
        "\(location)")
    }
    #expect(fixture.failureCode(of: Drawing.svg(Drawing.image("data:,"))) == nil)
  }

  @Test func `a drawing with a picture inside that is not drawn is refused`() throws {
    for (format, type) in [(PictureFormat.gif, "image/gif"), (.webp, "image/webp")] {
      let picture = try fixture.maker.card(index: 1, format: format)
      let drawing = Drawing.svg(Drawing.image(embedding: picture, as: type))
      #expect(fixture.failureCode(of: drawing) == .unsupportedFormat)
    }
  }

  @Test func `a drawing that is no XML is damaged`() {
    for content in ["<g>", "<!ENTITY", "&unknown;"] {
      #expect(fixture.failureCode(of: Drawing.svg(content)) == .corruptImage, "\(content)")
    }
  }

  @Test func `a drawing inside another one is under the same limits`() {
    let inner = drawing(elementCount: 200_001)
    let outer = Drawing.svg(Drawing.image(embedding: inner, as: "image/svg+xml"))
    #expect(fixture.failureCode(of: outer) == .unsupportedFormat)
  }

  @Test func `drawings lie inside each other only to some depth`() {
    var drawing = Drawing.svg("")
    for depth in 2...4 {
      drawing = Drawing.svg(Drawing.image(embedding: drawing, as: "image/svg+xml"))
      #expect((fixture.failureCode(of: drawing) == nil) == (depth <= 3), "\(depth)")
    }
  }

  @Test func `a picture elsewhere is not drawn`() throws {
    let directory = TestDirectory()
    let file = try directory.write(fixture.maker.card(index: 1, format: .png), to: "card.png")
    let variant = try Variant(ImageVariant(width: 32, height: 24, format: .png))
    let pixel = { (drawing: [UInt8]) in
      return try fixture.raster(of: drawing, as: variant)[4, 4]
    }
    let card = try fixture.maker.card(index: 1, format: .png)
    #expect(try pixel(Drawing.svg(Drawing.image(embedding: card))).alpha == 255)
    for location in [file, "file://\(file)"] {
      #expect(try pixel(Drawing.svg(Drawing.image(location))).alpha == 0)
    }
  }
}
