import ImgModel
import TestPictures
import Testing

@testable import ImgFacts

@Suite struct JPEGFactsTests {
  @Test func `the frame header tells size, samples and encoding`() throws {
    let maker = try PictureMaker.start()
    let plain = try facts(of: maker.card(index: 1, width: 80, height: 60))
    #expect(plain.format == .jpeg && plain.mediaType == "image/jpeg")
    #expect(plain.width == 80 && plain.height == 60 && plain.bands == 3)
    #expect(plain.bitsPerSample == 8 && plain.hasAlpha == false && plain.frameCount == 1)
    #expect(plain.encoding == "baseline" && plain.isInterlaced == false)
    #expect(plain.colourModel == .ycbcr)
    let progressive = try facts(of: maker.card(index: 1, format: .progressiveJPEG))
    #expect(progressive.encoding == "progressive" && progressive.isInterlaced == true)
    let gray = try facts(of: maker.card(index: 1, format: .grayJPEG))
    #expect(gray.colourModel == .gray && gray.bands == 1)
    let cmyk = try facts(of: maker.card(index: 1, format: .cmykJPEG))
    #expect([.cmyk, .ycck].contains(cmyk.colourModel) && cmyk.bands == 4)
  }

  @Test(arguments: [
    (0xC1, "sequential"), (0xC3, "lossless"), (0xC9, "arithmetic sequential"),
    (0xCA, "arithmetic progressive"), (0xF7, "jpeg-ls"),
  ])
  func `the kinds of frames have names`(marker: UInt8, name: String) throws {
    let found = try facts(of: JPEGMaker.file(JPEGMaker.frame(marker: marker, bits: 12)))
    #expect(found.encoding == name && found.bitsPerSample == 12)
  }

  @Test func `the colour model follows Adobe's segment and the components`() throws {
    func model(_ components: [UInt8], adobe: UInt8? = nil) throws -> PictureFacts.ColourModel? {
      let segment = adobe.map {
        JPEGMaker.segment(0xEE, ascii("Adobe") + [0, 100, 0, 0, 0, 0, $0])
      }
      return try facts(of: JPEGMaker.file(segment ?? [], JPEGMaker.frame(components: components)))
        .colourModel
    }
    #expect(try model([1, 2, 3], adobe: 0) == .rgb)
    #expect(try model([1, 2, 3], adobe: 1) == .ycbcr)
    #expect(try model(ascii("RGB")) == .rgb)
    #expect(try model([1, 2, 3, 4], adobe: 2) == .ycck)
    #expect(try model([1, 2, 3, 4], adobe: 0) == .cmyk)
    #expect(try model([1, 2, 3, 4]) == .cmyk)
    #expect(try model([1, 2]) == nil)
  }

  @Test(arguments: 1...8)
  func `width and height are those of the upright picture`(orientation: Int) throws {
    let maker = try PictureMaker.start()
    let file = try maker.card(index: 1, width: 80, height: 60, orientation: orientation)
    for extent in FactsExtent.allCases {
      let found = try facts(of: file, extent)
      #expect(found.width == 80 && found.height == 60 && found.orientation == orientation)
      #expect(found.storedWidth == (orientation > 4 ? 60 : 80))
    }
  }

  @Test func `the metadata before the first scan is read`() throws {
    let found = try facts(of: Samples.jpeg, .metadata)
    #expect(found.width == 48 && found.height == 64 && found.orientation == 6)
    #expect(found.exif?.ifd0["Make"] == .text("Camera Works"))
    #expect(found.gps?.latitude != nil && found.xmp?.title != nil)
    #expect(found.iptc?["city"] == .text("Kanagawa"))
    #expect(found.profileDescription == "Test RGB")
    let start = try #require(
      Samples.jpeg.indices.dropFirst(1_000).first {
        Samples.jpeg[$0...].starts(with: [0xFF, 0xD8])
      })
    #expect(
      found.thumbnail
        == EmbeddedThumbnail(
          format: .jpeg, width: 16, height: 12, byteOffset: start,
          byteCount: Samples.thumbnail.count))
  }

  @Test func `the header extent has the orientation, and no other metadata`() throws {
    let found = try facts(of: Samples.jpeg, .header)
    #expect(found.width == 48 && found.orientation == 6)
    #expect(found.exif == nil && found.xmp == nil && found.profileDescription == nil)
  }

  @Test func `a colour profile in several segments is read in the order of their numbers`() throws {
    let profile = ProfileMaker.described("In parts")
    let (first, second) = (Array(profile[..<150]), Array(profile[150...]))
    let whole = JPEGMaker.file(
      JPEGMaker.profile(second, number: 2, of: 2), JPEGMaker.profile(first, number: 1, of: 2),
      JPEGMaker.frame())
    #expect(try facts(of: whole).profileDescription == "In parts")
    let cut = JPEGMaker.file(JPEGMaker.profile(second, number: 2, of: 2), JPEGMaker.frame())
    #expect(try facts(of: cut).profileDescription == nil)
  }

  @Test func `the first EXIF segment counts, for an orientation the first with one`() throws {
    let first = JPEGMaker.exif(TIFFMaker.file([[.text(0x010F, "A")]]))
    let second = JPEGMaker.exif(TIFFMaker.file([[.text(0x010F, "B"), .short(0x0112, 6)]]))
    let found = try facts(of: JPEGMaker.file(first, second, JPEGMaker.frame()))
    #expect(found.exif?.ifd0["Make"] == .text("A") && found.orientation == 6)
    let many = [[UInt8]](repeating: first, count: 16).flatMap { $0 }
    #expect(try facts(of: JPEGMaker.file(many, second, JPEGMaker.frame())).orientation == 1)
  }

  @Test func `fill bytes and stray bytes between segments are passed over`() throws {
    let file = JPEGMaker.file([0xFF, 0xFF, 0xFF], [1, 2, 3], JPEGMaker.frame())
    #expect(try facts(of: file).width == 64)
  }

  @Test func `a file without a frame, or with an impossible one, is invalid`() {
    #expect(error(of: JPEGMaker.file()) == .invalid("no frame before the first scan"))
    #expect(
      error(of: JPEGMaker.file(JPEGMaker.frame(width: 0))) == .invalid("a frame without pixels"))
    #expect(
      error(of: JPEGMaker.file(JPEGMaker.frame(height: 0)))
        == .unsupported("JPEG whose height follows its first scan"))
    #expect(error(of: JPEGMaker.file([0xFF, 0xE5, 0, 1])) == .invalid("a segment has no length"))
    let stray = [UInt8](repeating: 1, count: 70_000)
    #expect(
      error(of: JPEGMaker.file(JPEGMaker.segment(0xE5, []), stray, JPEGMaker.frame()))
        == .invalid("no marker follows a segment"))
    let many = [[UInt8]](repeating: JPEGMaker.segment(0xE5, []), count: 3_000).flatMap { $0 }
    #expect(
      error(of: JPEGMaker.file(many, JPEGMaker.frame())) == .invalid("more than 2000 segments"))
  }

  @Test func `a large file needs its first 4 KiB, and its last ones for a verdict on its pixels`()
    throws
  {
    let file = Samples.jpeg + zeros(4 << 20)
    for extent in FactsExtent.allCases {
      let fetch = Fetch(file, extent)
      let end = file.count - 4_096..<file.count
      #expect(fetch.ranges == (extent == .all ? [0..<4_096, end] : [0..<4_096]))
      #expect(fetch.facts == (try facts(of: file, extent)))
    }
  }

  @Test func `segments that are of no use are not fetched`() throws {
    // Sixteen segments of 64 KB, as panoramas and multi-picture files have them.
    let large = [[UInt8]](
      repeating: JPEGMaker.segment(0xE2, ascii("MPF\0") + zeros(65_000)), count: 16)
    let file = JPEGMaker.file(large.flatMap { $0 }, JPEGMaker.frame()) + zeros(1 << 20)
    let fetch = Fetch(file, .metadata)
    #expect(fetch.facts?.width == 64 && fetch.ranges.count <= 6)
  }
}

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

@Suite struct AnymapFactsTests {
  @Test(
    arguments: [
      ("P1\n20 10\n", "bitmap", 1, 1, "plain"), ("P2 20 10 1000\n", "graymap", 1, 10, "plain"),
      ("P3\t20\r\n10 # of ten rows\n255 ", "pixmap", 3, 8, "plain"),
      ("P4#a\n# b\n20 10\n", "bitmap", 1, 1, "raw"), ("P5\n20\n10\n7\n", "graymap", 1, 3, "raw"),
      ("P6 20 10 65535\n", "pixmap", 3, 16, "raw"), ("PF\n20 10\n-1.0\n", "floatmap", 3, 32, "raw"),
      ("Pf\n20 10\n2.5\n", "floatmap", 1, 32, "raw"),
      (
        "P7\n#\nWIDTH 20\nHEIGHT  10\n\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n",
        "arbitrarymap", 4, 8, "raw"
      ),
      (
        "P7\nMAXVAL 1\nTUPLTYPE BLACKANDWHITE\nWIDTH 20\nHEIGHT 10\nDEPTH 1\nENDHDR\n",
        "arbitrarymap", 1, 1, "raw"
      ),
      ("P7\nWIDTH 20\nHEIGHT 10\nDEPTH 2\nMAXVAL 15\nENDHDR\n", "arbitrarymap", 2, 4, "raw"),
    ] as [(String, String, Int, Int, String)])
  func `every header is read`(
    header: String, kind: String, bands: Int, bits: Int, encoding: String
  ) throws {
    let found = try facts(of: ascii(header) + [0])
    #expect(found.format == .pnm && found.width == 20 && found.height == 10)
    #expect(found.mediaType == "image/x-portable-\(kind)" && found.encoding == encoding)
    #expect(found.bands == bands && found.bitsPerSample == bits && found.frameCount == 1)
    #expect(found.hasAlpha == [2, 4].contains(bands))
    #expect(found.colourModel == (bands < 3 ? .gray : .rgb))
  }

  @Test(
    arguments: [
      ("P6\n0 10\n255\n", "width"), ("P6\n20 4294967296\n255\n", "height"),
      ("P6\n20 10\n65536\n", "maximum"), ("P6\n20 10\n0\n", "maximum"),
      ("P6\n20 ten\n255\n", "ten"),
      ("P6\n20 -1 255\n", "-1"), ("PF\n20 10\n0\n", "scale"), ("PF\n20 10\nnan\n", "scale"),
      ("P7\nWIDTH 20\nHEIGHT 10\nMAXVAL 255\nENDHDR\n", "DEPTH"),
      ("P7\nWIDTH 20\nHEIGHT 10\nDEPTH 1\nMAXVAL 255\nTUPLTYPE RGB\nENDHDR\n", "DEPTH"),
      ("P7\nWIDTH 20\nHEIGHT 10\nDEPTH 1\nMAXVAL 70000\nENDHDR\n", "MAXVAL"),
      ("P7\nWIDTH 20\nCOLOUR red\n", "COLOUR"),
      ("P6\n#" + String(repeating: " ", count: 65_536), "longer"),
    ] as [(String, String)])
  func `a header that breaks the rules is named`(header: String, word: String) {
    guard case .invalid(let reason) = error(of: ascii(header) + zeros(9)) else {
      Issue.record("\(header) is read")
      return
    }
    #expect(reason.contains(word), "\(reason)")
  }

  @Test func `tuples that are no colours are not read`() {
    let file = "P7\nWIDTH 2\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nTUPLTYPE CMYK\nENDHDR\n"
    #expect(error(of: ascii(file)) == .unsupported("PAM of the tuple type \"CMYK\""))
    #expect(
      error(of: ascii("P7\nWIDTH 2\nHEIGHT 1\nDEPTH 9\nMAXVAL 255\nENDHDR\n"))
        == .unsupported("PAM of 9 samples a pixel"))
  }

  @Test func `a header behind a long comment is fetched whole`() {
    let comment = "# " + String(repeating: "long ", count: 4_000) + "\n"
    let fetch = Fetch(ascii("P5\n\(comment)300 200 255\n") + zeros(60_000), .all)
    #expect(fetch.facts?.width == 300 && fetch.facts?.height == 200)
  }
}
