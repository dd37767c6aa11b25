import ImgModel
import TestPictures
import Testing

@testable import ImgFacts

@Suite struct BitmapFactsTests {
  private static let raster = Raster(width: 6, height: 4) { x, _ in
    Raster.Pixel(x < 3 ? 0 : 255, 0, 0)
  }

  @Test(arguments: BitmapWriter.Header.allCases)
  func `every header is read`(header: BitmapWriter.Header) throws {
    let found = try facts(of: BitmapWriter(header, .blueGreenRed).file(Self.raster))
    #expect(found.format == .bmp && found.width == 6 && found.height == 4)
    #expect(found.bitsPerSample == 8 && found.bands == 3 && found.colourModel == .rgb)
    #expect(found.hasAlpha == false && found.encoding == "uncompressed" && found.frameCount == 1)
  }

  @Test func `rows may be stored from the upper one on`() throws {
    var writer = BitmapWriter(.info, .blueGreenRed)
    writer.isTopDown = true
    #expect(try facts(of: writer.file(Self.raster)).height == 4)
  }

  @Test func `indexes, runs and masks are told apart`() throws {
    let indexes = try facts(of: BitmapWriter(.info, .indexes(4)).file(Self.raster))
    #expect(indexes.colourModel == .palette && indexes.bitsPerSample == 4 && indexes.bands == 1)
    #expect(try facts(of: BitmapWriter(.info, .runs(8)).file(Self.raster)).encoding == "rle")
    let masks: [UInt32] = [0xFF0000, 0xFF00, 0xFF, 0xFF00_0000]
    let clear = try facts(of: BitmapWriter(.version4, .masks(32, masks)).file(Self.raster))
    #expect(clear.hasAlpha == true && clear.bands == 4)
  }

  @Test func `the profile behind the pixels is read with the metadata`() throws {
    #expect(try facts(of: Samples.bmp, .metadata).profileDescription == "Of a BMP")
    #expect(try facts(of: Samples.bmp, .header).profileDescription == nil)
  }

  @Test func `a header that does not exist, and one without pixels, are refused`() {
    var file = BitmapWriter(.info, .blueGreenRed).file(Self.raster)
    file.replaceSubrange(18..<22, with: zeros(4))
    #expect(error(of: file) == .invalid("a picture without pixels"))
    file[26] = 0
    file.replaceSubrange(14..<18, with: little(41, 4))
    #expect(error(of: file) == .notAnImage("the first bytes match no image format"))
  }
}

@Suite struct IconFactsTests {
  private func part(side: Int, _ pixels: BitmapWriter.Pixels) -> IconWriter.Part {
    .init(
      Raster(width: side, height: side) { _, _ in Raster.Pixel(1, 2, 3) },
      BitmapWriter(.info, pixels))
  }

  @Test(arguments: [false, true])
  func `the facts are of the largest picture`(isCursor: Bool) throws {
    let parts = [16, 48, 32].map { part(side: $0, .blueGreenRedAlpha) }
    let found = try facts(of: IconWriter(parts, isCursor: isCursor).bytes)
    #expect(found.format == .ico && found.width == 48 && found.height == 48)
    #expect(found.pictureCount == 3 && found.frameCount == 1)
    #expect(found.bands == 4 && found.hasAlpha == true && found.encoding == "uncompressed")
    #expect(found.mediaType == "image/vnd.microsoft.icon")
  }

  @Test func `of two pictures of one size the one of more colours counts`() throws {
    let parts = [part(side: 32, .indexes(4)), part(side: 32, .blueGreenRed)]
    #expect(try facts(of: IconWriter(parts).bytes).colourModel == .rgb)
  }

  @Test func `a PNG in an icon has its facts from its own header`() throws {
    let png = PNGMaker.file(header: PNGMaker.header(width: 512, height: 512, type: 6), [])
    let parts = [part(side: 64, .blueGreenRed), .init(width: 0, height: 0, png)]
    let found = try facts(of: IconWriter(parts).bytes)
    #expect(found.width == 512 && found.bands == 4 && found.encoding == "png")
    #expect(found.format == .ico && found.pictureCount == 2)
  }

  @Test func `a directory that declares another size than the picture has does not count`() throws {
    let small = part(side: 16, .blueGreenRed)
    let parts = [IconWriter.Part(width: 0, height: 0, small.bytes), part(side: 24, .blueGreenRed)]
    #expect(try facts(of: IconWriter(parts).bytes).width == 24)
  }

  @Test func `only the directory and one header are fetched`() throws {
    let parts = [part(side: 200, .blueGreenRed), part(side: 256, .blueGreenRedAlpha)]
    let fetch = Fetch(IconWriter(parts).bytes, .metadata)
    #expect(fetch.facts?.width == 256)
    #expect(fetch.ranges.count == 2 && fetch.byteCount <= 20 << 10)
  }

  @Test func `a picture behind the end makes the file a cut one`() {
    var file = IconWriter([part(side: 16, .blueGreenRed)]).bytes
    file.replaceSubrange(18..<22, with: little(1 << 30, 4))
    #expect(error(of: file) == .truncated)
  }
}
