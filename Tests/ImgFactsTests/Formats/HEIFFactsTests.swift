import ImgModel
import TestPictures
import Testing

@testable import ImgFacts

@Suite struct HEIFFactsTests {
  @Test func `pictures that libheif has written are read`() throws {
    let maker = try PictureMaker.start()
    for (format, name, encoding) in [
      (PictureFormat.avif, "avif", "av1"), (.heif, "heif", "hevc"),
    ] {
      let found = try facts(of: maker.card(index: 1, width: 80, height: 60, format: format))
      #expect(found.format.rawValue == name && found.mediaType == "image/\(name)")
      #expect(found.width == 80 && found.height == 60 && found.bitsPerSample == 8)
      #expect(found.encoding == encoding && found.bands == 3 && found.hasAlpha == false)
      #expect(found.isAnimated == false && found.frameCount == 1)
      let clear = try facts(of: maker.card(index: 1, format: format, hasAlpha: true))
      #expect(clear.hasAlpha == true && clear.bands == 4)
    }
  }

  @Test func `the preview of a camera's file is its thumbnail`() throws {
    let maker = try PictureMaker.start()
    let file = try #require(
      HEIFWithPreview(
        picture: maker.scene(width: 640, height: 480, format: .heif),
        preview: maker.scene(width: 320, height: 240, format: .heif)))
    #expect(
      try facts(of: file.bytes).thumbnail
        == EmbeddedThumbnail(format: .heif, width: 320, height: 240))
  }

  @Test func `properties, metadata and thumbnail of the primary item are read`() throws {
    let found = try facts(of: Samples.avif)
    #expect(found.storedWidth == 64 && found.storedHeight == 48)
    // Cut to 60 × 40, then turned against the clock.
    #expect(found.width == 40 && found.height == 60 && found.orientation == 8)
    #expect(found.bitsPerSample == 10 && found.encoding == "av1" && found.hasAlpha == true)
    #expect(
      found.codePoints
        == ColourCodePoints(primaries: 9, transfer: 16, matrix: 9, isFullRange: false))
    #expect(found.profileDescription == "Of an AVIF" && found.colourModel == .ycbcr)
    // A profile goes before code points, but for the matrix and the range.
    let colours = try #require(found.colours)
    #expect(colours.origin == .profile && colours.primaries == nil && colours.isHDR == nil)
    #expect(colours.matrix == "BT.2020, non-constant luminance" && colours.range == "limited")
    #expect(found.exif?.ifd0["Model"] == .text("C-1") && found.xmp?.rights == "CC0")
    let thumbnail = try #require(found.thumbnail)
    #expect(thumbnail.format == .jpeg && thumbnail.width == 16 && thumbnail.height == 12)
  }

  @Test(
    arguments: [
      (0, nil, 1), (1, nil, 8), (2, nil, 3), (3, nil, 6), (0, 1, 2), (0, 0, 4), (1, 1, 7),
      (1, 0, 5),
    ] as [(UInt8, UInt8?, Int)])
  func `turns and mirrors become an orientation`(
    quarters: UInt8, axis: UInt8?, orientation: Int
  ) throws {
    let mirror = axis.map { [ISOMaker.box("imir", [$0])] } ?? []
    let file = ISOMaker.file(
      items: [.init(id: 1, type: "av01", properties: [1, 2, 3])],
      properties: [ISOMaker.size(8, 4), ISOMaker.box("irot", [quarters])] + mirror)
    #expect(try facts(of: file).orientation == orientation)
  }

  @Test func `a picture of tiles has the samples of a tile`() throws {
    let file = ISOMaker.file(
      brand: "heic",
      items: [
        .init(id: 1, type: "grid", properties: [1], data: zeros(8), isInline: true),
        .init(id: 2, type: "hvc1", properties: [2, 3]),
      ],
      properties: [ISOMaker.size(128, 96), ISOMaker.size(64, 48), ISOMaker.hevc(bits: 10)],
      references: [ISOMaker.reference("dimg", from: 1, to: 2, 2, 2, 2)])
    let found = try facts(of: file)
    #expect(found.width == 128 && found.bitsPerSample == 10 && found.encoding == "hevc")
    #expect(found.format == .heif && found.bands == 3)
  }

  @Test func `gray, and bits by the configuration`() throws {
    func found(_ properties: [UInt8]...) throws -> PictureFacts {
      try facts(
        of: ISOMaker.file(
          items: [.init(id: 1, type: "av01", properties: [1, 2, 3])],
          properties: [ISOMaker.size(8, 4)] + properties))
    }
    let gray = try found(ISOMaker.av1(deep: true, twelve: true, gray: true))
    #expect(gray.bitsPerSample == 12 && gray.colourModel == .gray && gray.bands == 1)
    let rgb = try found(ISOMaker.av1(), ISOMaker.colour(1, 13, 0, full: true))
    #expect(rgb.colourModel == .rgb && rgb.codePoints?.isFullRange == true)
  }

  @Test func `a sequence has frames, delays and passes`() throws {
    let found = try facts(of: Samples.sequence)
    #expect(found.isAnimated == true && found.frameCount == 3 && found.loopCount == 2)
    #expect(found.frameDelays == [100, 100, 500] && found.duration == 700)
    #expect(found.width == 64 && found.height == 48 && found.bitsPerSample == 10)
    let forever = ISOMaker.fileType("avis", "avif") + ISOMaker.movie(runs: [(2, 6)], repeats: 0)
    #expect(try facts(of: forever).loopCount == 0)
    let unknown = ISOMaker.fileType("msf1", "hevc") + ISOMaker.movie(runs: [(2, 6)], repeats: nil)
    let heif = try facts(of: unknown)
    #expect(heif.loopCount == nil && heif.format == .heif && heif.frameDelays == [10, 10])
    // As browsers play it.
    #expect(heif.duration == 200)
    let many = ISOMaker.fileType("avis") + ISOMaker.movie(runs: [(70_000, 6)], repeats: 0)
    #expect(error(of: many) == .unsupported("more than 65536 frames"))
  }

  @Test func `the data of the picture is passed over`() throws {
    let file = ISOMaker.file(
      items: Samples.avifItems, properties: Samples.avifProperties,
      references: Samples.avifReferences, padding: 4 << 20)
    #expect(Fetch(file, .header).ranges == [0..<4_096])
    let fetch = Fetch(file, .metadata)
    #expect(fetch.facts?.exif != nil && fetch.ranges.count == 2 && fetch.byteCount < 24_000)
  }

  @Test func `a file of very many boxes is unsupported`() {
    let boxes = [[UInt8]](repeating: ISOMaker.box("free", []), count: 16_384).flatMap { $0 }
    #expect(
      error(of: ISOMaker.fileType("avif", "mif1") + boxes)
        == .unsupported("more than 16384 boxes"))
  }

  @Test func `files without a picture are refused`() {
    #expect(error(of: ISOMaker.fileType("avif", "mif1")) == .truncated)
    let empty = ISOMaker.file(items: [.init(id: 1, type: "av01")], properties: [])
    #expect(error(of: empty) == .invalid("the picture has no size"))
  }
}
