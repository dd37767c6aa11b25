import ImgDecode
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

@Suite struct JXLFactsTests {
  @Test func `a codestream that libjxl has written is read`() throws {
    let maker = try PictureMaker.start()
    let found = try facts(of: maker.card(index: 1, width: 83, height: 61, format: .jxl))
    #expect(found.format == .jxl && found.width == 83 && found.height == 61)
    #expect(found.bitsPerSample == 8 && found.bands == 3 && found.hasAlpha == false)
    #expect(found.isAnimated == false && found.frameCount == 1)
    let clear = try facts(of: maker.card(index: 1, format: .jxl, hasAlpha: true))
    #expect(clear.hasAlpha == true && clear.bands == 4)
  }

  /// A codestream with every field that is not the default one.
  private func header(ratio: Int = 0, animated: Bool = true) -> [UInt8] {
    var bits = BitMaker()
    bits.add(0xFF, 8)
    bits.add(0x0A, 8)
    // Not in eights, height 40 of 9 bits, then the ratio or width 30.
    bits.add(0, 1)
    bits.add(0, 2)
    bits.add(39, 9)
    bits.add(ratio, 3)
    if ratio == 0 {
      bits.add(0, 2)
      bits.add(29, 9)
    }
    // Not all default; extra fields: orientation 6, no intrinsic size, no preview.
    bits.add(0b1_0, 2)
    bits.add(5, 3)
    bits.add(0b00, 2)
    bits.add(animated ? 1 : 0, 1)
    if animated {
      // 100 ticks a second by 1, seven passes of 3 bits, no time codes.
      bits.add(0b00, 2)
      bits.add(0b00, 2)
      bits.add(1, 2)
      bits.add(7, 3)
      bits.add(0, 1)
    }
    // 10 bits, buffers of 16 bits, one extra channel as usual, no XYB.
    bits.add(0, 1)
    bits.add(1, 2)
    bits.add(1, 1)
    bits.add(1, 2)
    bits.add(1, 1)
    bits.add(0, 1)
    // Colours: no profile, gray, white D65, no gamma, transfer function 13 as 2 + 11.
    bits.add(0b00, 2)
    bits.add(1, 2)
    bits.add(1, 2)
    bits.add(0, 1)
    bits.add(2, 2)
    bits.add(11, 4)
    return bits.bytes
  }

  @Test func `every field of the header is read`() throws {
    let found = try facts(of: header() + zeros(10))
    #expect(found.storedWidth == 30 && found.storedHeight == 40 && found.orientation == 6)
    #expect(found.isAnimated == true && found.loopCount == 7 && found.frameCount == nil)
    #expect(found.bitsPerSample == 10 && found.colourModel == .gray && found.bands == 2)
    #expect(found.hasAlpha == true && found.codePoints?.transfer == 13)
  }

  @Test(arguments: [(1, 40), (2, 48), (3, 53), (4, 60), (5, 71), (6, 50), (7, 80)])
  func `a width may be a ratio of the height`(ratio: Int, width: Int) throws {
    #expect(try facts(of: header(ratio: ratio) + zeros(10)).storedWidth == width)
  }

  @Test func `boxes around the codestream are read`() throws {
    let found = try facts(of: Samples.jxl)
    #expect(found.storedWidth == 16 && found.storedHeight == 8)
    // The codestream's own orientation counts.
    #expect(found.exif?.ifd0["Model"] == .text("C-1") && found.orientation == 1)
    #expect(found.xmp?.rights == "CC0" && found.compressedMetadata == ["jumb"])
  }
}

@Suite struct JPEG2000FactsTests {
  @Test func `a file that libvips has written is read`() throws {
    let found = try facts(of: PictureMaker.start().jpeg2000Card(index: 1))
    #expect(found.format == .jp2 && found.width == 320 && found.height == 240)
    #expect(found.bands == 3 && found.bitsPerSample == 8)
  }

  @Test func `boxes and codestream tell the same`() throws {
    let boxes = try facts(of: Samples.jp2)
    #expect(boxes.width == 20 && boxes.height == 10 && boxes.bands == 4)
    #expect(boxes.colourModel == .rgb && boxes.hasAlpha == true && boxes.xmp?.rights == "CC0")
    let bare = try facts(of: Samples.codestream)
    #expect(bare.width == 20 && bare.height == 10 && bare.bands == 3 && bare.bitsPerSample == 12)
  }
}

@Suite struct SVGFactsTests {
  private func size(_ attributes: String) throws -> [Int] {
    let found = try facts(of: ascii("<svg xmlns='http://www.w3.org/2000/svg' \(attributes)></svg>"))
    return [found.width, found.height]
  }

  @Test func `the size is that of the root element in pixels`() throws {
    #expect(try size("width='20' height=' 10px '") == [20, 10])
    #expect(try size("width='1in' height='2.54cm'") == [96, 96])
    #expect(try size("width='72pt' height='6pc'") == [96, 96])
    #expect(try size("width='25.4mm' height='1e2'") == [96, 100])
    #expect(try size("width='2em' height='2ex'") == [24, 12])
  }

  @Test func `the view box tells what is not given`() throws {
    #expect(try size("viewBox='0 0 30 20'") == [30, 20])
    #expect(try size("viewBox='0,0,30,20' width='60'") == [60, 40])
    #expect(try size("viewBox='0 0 30 20' height='10'") == [15, 10])
    #expect(try size("viewBox='0 0 30 20' width='100%' height='100%'") == [30, 20])
    #expect(try size("viewBox='0 0 30 20' width='7' height='8'") == [7, 8])
  }

  @Test func `the sizes are those that libvips draws`() throws {
    let reader = PictureReader(runtime: try VipsRuntime.start())
    for attributes in [
      "width='31' height='17px'", "viewBox='0 0 3.6 20'", "width='9' viewBox='0 0 3 20'",
    ] {
      let file = "<svg xmlns='http://www.w3.org/2000/svg' \(attributes)><path/></svg>"
      let raster = try reader.raster(of: ascii(file))
      #expect(try size(attributes) == [raster.width, raster.height])
    }
  }

  @Test func `what stands before the root element is passed over`() throws {
    let start = "<?xml version='1.0'?><!DOCTYPE svg [<!ENTITY a 'b'>]><!-- <svg width='1'> -->"
    let comment = "<!--" + String(repeating: "x", count: 5_000) + "-->"
    let file = ascii(start + comment + "<s:svg width='3' height='4' id='&a;'/>")
    let fetch = Fetch(file, .all)
    #expect(fetch.facts?.width == 3 && fetch.facts?.height == 4 && fetch.ranges.count == 2)
  }

  @Test(arguments: [
    "", "width='0' height='1'", "width='a' height='1'", "width='nan' height='1'",
    "width='inf' height='2'", "viewBox='0 0 1'", "viewBox='0 0 0 1'", "viewBox='0 0 nan 1'",
    "width='50%' height='5'",
  ])
  func `a file without a size is unsupported`(attributes: String) {
    let file = ascii("<svg xmlns='http://www.w3.org/2000/svg' \(attributes)></svg>")
    #expect(error(of: file) == .unsupported("SVG that has no size"))
    let large = ascii("<svg xmlns='http://www.w3.org/2000/svg' width='1e99' height='1'></svg>")
    #expect(error(of: large) == .invalid("an SVG that is too large"))
  }
}
