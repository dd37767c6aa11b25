import ImgModel
import TestPictures
import Testing

@testable import ImgFacts

@Suite struct PNGFactsTests {
  @Test func `the header tells size, samples and colour model`() throws {
    let maker = try PictureMaker.start()
    let plain = try facts(of: maker.card(index: 1, width: 80, height: 60, format: .png))
    #expect(plain.format == .png && plain.mediaType == "image/png")
    #expect(plain.width == 80 && plain.height == 60 && plain.bands == 3)
    #expect(plain.bitsPerSample == 8 && plain.hasAlpha == false && plain.isInterlaced == false)
    #expect(plain.colourModel == .rgb && plain.isAnimated == false && plain.frameCount == 1)
    let gray = try facts(of: maker.card(index: 1, format: .grayPNG))
    #expect(gray.colourModel == .gray && gray.bands == 1)
    #expect(try facts(of: maker.card(index: 1, format: .sixteenBitPNG)).bitsPerSample == 16)
    #expect(try facts(of: maker.card(index: 1, format: .interlacedPNG)).isInterlaced == true)
    #expect(try facts(of: maker.card(index: 1, format: .png, hasAlpha: true)).hasAlpha == true)
  }

  @Test func `a compressed colour profile is read`() throws {
    let maker = try PictureMaker.start()
    let file = try maker.card(index: 1, format: .displayP3PNG)
    #expect(try facts(of: file, .metadata).profileDescription?.contains("P3") == true)
  }

  @Test func `an animation's frames, delays and passes are counted`() throws {
    let found = try facts(of: Samples.png)
    #expect(found.isAnimated == true && found.frameCount == 2 && found.loopCount == 3)
    // Without a denominator the numerator counts hundredths.
    #expect(found.frameDelays == [100, 50] && found.duration == 150)
    let header = try facts(of: Samples.png, .header)
    #expect(header.isAnimated == true && header.frameCount == 2 && header.frameDelays == nil)
  }

  @Test func `the chunks before the pixels are read`() throws {
    let found = try facts(of: Samples.png, .metadata)
    #expect(found.colourModel == .palette && found.hasAlpha == true && found.isInterlaced == true)
    #expect(found.gamma == 0.45455)
    #expect(
      found.codePoints
        == ColourCodePoints(primaries: 9, transfer: 16, matrix: 0, isFullRange: true))
    #expect(found.orientation == 6 && found.width == 10 && found.storedWidth == 20)
    #expect(found.exif?.exif["LensModel"] == .text("24-70mm"))
    #expect(found.xmp?.creators == ["Ann", "Bob"])
  }

  @Test func `sRGB stands for its code points`() throws {
    let file = PNGMaker.file([PNGMaker.chunk("sRGB", [0])])
    #expect(try facts(of: file).codePoints?.transfer == 13)
  }

  @Test func `of several descriptions of colours, the first by precedence counts`() throws {
    let gamma = PNGMaker.chunk("gAMA", big(45_455, 4))
    let standard = PNGMaker.chunk("sRGB", [0])
    let profile = PNGMaker.chunk("iCCP", ascii("p\0\0"))
    let codePoints = PNGMaker.chunk("cICP", [12, 13, 0, 1])
    let origins: [ColourDescription.Origin] = [.gamma, .standard, .profile, .codePoints]
    for (index, origin) in origins.enumerated() {
      let chunks = [gamma, standard, profile, codePoints].prefix(index + 1)
      for file in [PNGMaker.file(Array(chunks)), PNGMaker.file(chunks.reversed())] {
        #expect(try facts(of: file, .header).colours?.origin == origin)
      }
    }
    #expect(try facts(of: PNGMaker.file([])).colours == nil)
    // Only red, green and blue may be described.
    let forbidden = PNGMaker.file([PNGMaker.chunk("cICP", [9, 16, 9, 1])])
    #expect(try facts(of: forbidden).colours == nil)
  }

  @Test func `the description that counts has names`() throws {
    let file = PNGMaker.file([PNGMaker.chunk("cICP", [9, 16, 0, 0])])
    let colours = try #require(try facts(of: file).colours)
    #expect(colours.primaries == "BT.2020" && colours.transfer == "SMPTE ST 2084 (PQ)")
    #expect(colours.matrix == "identity" && colours.range == "limited" && colours.isHDR == true)
    let gamma = PNGMaker.file([PNGMaker.chunk("gAMA", big(55_556, 4))])
    #expect(try facts(of: gamma).colours?.transfer == "gamma 1.8")
  }

  @Test func `the places of the primaries are read`() throws {
    let numbers = [31_270, 32_900, 64_000, 33_000, 30_000, 60_000, 15_000, 6_000]
    let file = PNGMaker.file([PNGMaker.chunk("cHRM", numbers.flatMap { big($0, 4) })])
    let found = try #require(try facts(of: file).chromaticities)
    #expect(found.white == .init(0.3127, 0.329) && found.blue == .init(0.15, 0.06))
  }

  @Test func `a compressed XMP packet is read`() throws {
    let text =
      ascii("XML:com.adobe.xmp\0") + [1, 0] + ascii("en\0a\0")
      + PNGMaker.stored(ascii(Samples.xmp))
    #expect(try facts(of: PNGMaker.file([PNGMaker.chunk("iTXt", text)])).xmp?.rating == 4)
  }

  @Test func `metadata as hexadecimal text is read, without its orientation`() throws {
    func chunk(_ name: String, _ bytes: [UInt8]) -> [UInt8] {
      let digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
      let text = "\n\(name)\n    \(bytes.count)\n" + digits.joined() + "\n"
      return PNGMaker.chunk(
        "zTXt", ascii("Raw profile type \(name)\0") + [0] + PNGMaker.stored(ascii(text)))
    }
    let file = PNGMaker.file([
      chunk("exif", ascii("Exif\0\0") + Samples.exif), chunk("iptc", Samples.iptc),
      chunk("xmp", ascii(Samples.xmp)),
    ])
    let found = try facts(of: file)
    #expect(found.exif?.ifd0["Model"] == .text("C-1") && found.orientation == 1)
    #expect(found.iptc?["headline"] == .text("Große Welle"))
    #expect(found.xmp?.rights == "CC0")
  }

  @Test func `a file that begins otherwise is invalid`() {
    #expect(
      error(of: PNGMaker.file(header: [], [PNGMaker.chunk("IDAT", [])]))
        == .invalid("the first chunk is not IHDR"))
    #expect(
      error(of: PNGMaker.file(header: PNGMaker.header(width: 0), []))
        == .invalid("a picture without pixels"))
    #expect(
      error(of: PNGMaker.file(header: PNGMaker.header(type: 5), []))
        == .invalid("unknown colour type 5"))
    #expect(
      error(of: PNGMaker.file([[0, 0, 0, 0, 1, 2, 3, 4]]))
        == .invalid("no chunk begins where one should"))
  }

  @Test func `a file of very many chunks is unsupported`() {
    let chunks = [[UInt8]](repeating: PNGMaker.chunk("aaaa", []), count: 131_072)
    #expect(
      error(of: PNGMaker.file(chunks), .header) == .unsupported("PNG of more than 131072 chunks"))
  }

  @Test func `pixels are passed over`() throws {
    var chunks = [PNGMaker.chunk("acTL", big(8, 4) + big(0, 4))]
    for frame in 0..<8 {
      let name = frame == 0 ? "IDAT" : "fdAT"
      chunks += [PNGMaker.frame(delay: (1, 10)), PNGMaker.chunk(name, zeros(1_500_000))]
    }
    let file = PNGMaker.file(chunks)
    let fetch = Fetch(file, .all)
    #expect(fetch.facts?.frameDelays?.count == 8 && fetch.facts?.loopCount == 0)
    #expect(fetch.byteCount < file.count * 3 / 4)
    #expect(Fetch(file, .metadata).ranges == [0..<4_096])
  }
}
