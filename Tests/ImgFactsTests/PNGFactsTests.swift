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

@Suite struct GIFFactsTests {
  @Test func `the screen descriptor tells size and colours`() throws {
    let file = try PictureMaker.start().card(index: 1, width: 80, height: 60, format: .gif)
    let found = try facts(of: file)
    #expect(found.format == .gif && found.width == 80 && found.height == 60)
    #expect(found.colourModel == .palette && found.bands == 1)
    #expect(found.frameCount == 1 && found.isAnimated == false && found.frameDelays == nil)
    #expect(found.loopCount == nil)
  }

  @Test func `frames, delays and passes are those of the file`() throws {
    let found = try facts(of: Samples.gif)
    #expect(found.frameCount == 3 && found.isAnimated == true && found.loopCount == 6)
    #expect(found.frameDelays == [100, 10, 0] && found.duration == 300)
    #expect(found.hasAlpha == true && found.isInterlaced == true && found.bitsPerSample == 3)
    #expect(found.profileDescription == "Of a GIF")
    #expect(found.xmp?.packet == Samples.xmp)
  }

  @Test func `an animation that libvips has written is read`() throws {
    let found = try facts(of: PictureMaker.start().animation(index: 1, frameCount: 4))
    #expect(found.frameCount == 4 && found.frameDelays == [100, 100, 100, 100])
    #expect(found.loopCount == 0)
  }

  @Test func `an animation without a count plays once, and a count is one of repetitions`() throws {
    let two = GIFMaker.frame() + GIFMaker.frame()
    #expect(try facts(of: GIFMaker.file(two)).loopCount == 1)
    #expect(try facts(of: GIFMaker.file(GIFMaker.loop(0), two)).loopCount == 0)
    #expect(try facts(of: GIFMaker.file(GIFMaker.loop(7, name: "ANIMEXTS1.0"), two)).loopCount == 8)
  }

  @Test func `metadata ends with the first frame`() throws {
    let file = GIFMaker.file(
      GIFMaker.loop(3), GIFMaker.control(delay: 4, transparent: true), GIFMaker.frame(data: 100_000)
    )
    let fetch = Fetch(file, .metadata)
    #expect(fetch.facts?.hasAlpha == true && fetch.facts?.loopCount == 4)
    #expect(fetch.facts?.frameCount == nil && fetch.ranges == [0..<4_096])
  }

  @Test func `frames take the whole file in few ranges`() throws {
    let frames = [[UInt8]](repeating: GIFMaker.frame(data: 40_000), count: 50).flatMap { $0 }
    let file = GIFMaker.file(frames)
    let fetch = Fetch(file, .all)
    #expect(fetch.facts?.frameCount == 50 && fetch.ranges.count <= 7)
  }

  @Test func `the frames of a cut animation are counted up to the cut`() throws {
    // In the last frame, behind its descriptor.
    let cut = try Fetch.record(Array(Samples.gif.dropLast(10)), .all)
    #expect(cut.status == .truncated && cut.facts.isAnimated == true)
    #expect(cut.facts.frameDelays == [100, 10, 0] && cut.facts.loopCount == 6)
    let trailerless = try Fetch.record(Array(Samples.gif.dropLast()), .all)
    #expect(trailerless.status == .truncated && trailerless.facts.frameCount == 3)
    // Whether more frames follow the first one is unknown.
    let still = try Fetch.record(Array(GIFMaker.file(GIFMaker.frame(data: 600)).dropLast(9)), .all)
    #expect(still.status == .truncated && still.facts.frameCount == 1)
    #expect(still.facts.isAnimated == nil)
    let frameless = try Fetch.record(Array(GIFMaker.file(GIFMaker.loop(0)).dropLast(3)), .all)
    #expect(frameless.status == .truncated && frameless.facts.frameCount == nil)
  }

  @Test func `files without a canvas, without frames and with too many are refused`() throws {
    #expect(error(of: GIFMaker.file(width: 0)) == .invalid("a canvas without pixels"))
    #expect(error(of: GIFMaker.file()) == .invalid("no frame"))
    let comments = [[UInt8]](repeating: [0x21, 0xFE, 0], count: 262_144).flatMap { $0 }
    #expect(error(of: GIFMaker.file(comments)) == .unsupported("GIF of more than 262144 blocks"))
    let many = [[UInt8]](repeating: GIFMaker.frame(data: 0), count: 65_537).flatMap { $0 }
    #expect(error(of: GIFMaker.file(many)) == .unsupported("more than 65536 frames"))
    let source = WholeBytes(GIFMaker.file(many))
    #expect(try PictureFacts.headerWithFrames(in: source).frameCount == 65_537)
  }
}

@Suite struct WebPFactsTests {
  @Test func `both bitstreams tell size and samples`() throws {
    let maker = try PictureMaker.start()
    let lossy = try facts(of: maker.card(index: 1, width: 80, height: 60, format: .webp))
    #expect(lossy.format == .webp && lossy.width == 80 && lossy.height == 60)
    #expect(lossy.encoding == "lossy" && lossy.colourModel == .ycbcr && lossy.bitsPerSample == 8)
    #expect(lossy.bands == 3 && lossy.hasAlpha == false && lossy.frameCount == 1)
    let lossless = try facts(
      of: maker.card(index: 1, width: 80, height: 60, format: .losslessWebP, hasAlpha: true))
    #expect(lossless.width == 80 && lossless.height == 60 && lossless.hasAlpha == true)
    #expect(lossless.encoding == "lossless" && lossless.colourModel == .rgb)
    let bare = try facts(of: WebPMaker.file(WebPMaker.lossless(width: 300, hasAlpha: true)))
    #expect(bare.width == 300 && bare.height == 10 && bare.bands == 4)
  }

  @Test func `metadata stands behind the pixels`() throws {
    let found = try facts(of: Samples.webp, .metadata)
    #expect(found.orientation == 6 && found.width == 10 && found.storedWidth == 20)
    #expect(found.exif?.ifd0["Model"] == .text("C-1") && found.xmp?.title == "Sea & sky ☺")
    #expect(found.profileDescription == "Of a WebP")
    #expect(try facts(of: Samples.webp, .header).width == 10)
  }

  @Test func `an animation's frames, delays and passes are counted`() throws {
    let found = try facts(of: Samples.animatedWebP)
    #expect(found.isAnimated == true && found.frameCount == 3 && found.loopCount == 2)
    #expect(found.frameDelays == [40, 0, 1_000] && found.duration == 1_140)
    #expect(found.encoding == "lossy" && found.hasAlpha == true)
    let made = try facts(of: PictureMaker.start().animation(index: 1, frameCount: 3, format: .webp))
    #expect(made.frameDelays == [100, 100, 100] && made.loopCount == 0)
  }

  @Test func `pixels are passed over`() throws {
    let exif = WebPMaker.chunk("EXIF", Samples.exif)
    let still = WebPMaker.file(
      WebPMaker.extended(flags: 0x08), WebPMaker.lossy(data: 4 << 20), exif)
    let fetch = Fetch(still, .metadata)
    #expect(fetch.facts?.exif != nil && fetch.facts?.orientation == 6)
    #expect(fetch.ranges == [0..<4_096, still.count - exif.count..<still.count])
    #expect(Fetch(WebPMaker.file(WebPMaker.lossy(data: 4 << 20)), .all).ranges == [0..<4_096])
    let frames = [[UInt8]](
      repeating: WebPMaker.frame(duration: 10, data: 3 << 20), count: 5
    ).flatMap { $0 }
    let animation = WebPMaker.file(
      WebPMaker.extended(flags: 0x02), WebPMaker.animation(loopCount: 0), frames)
    #expect(Fetch(animation, .header).ranges == [0..<4_096])
    #expect(Fetch(animation, .metadata).ranges == [0..<4_096])
    let all = Fetch(animation, .all)
    #expect(all.facts?.frameCount == 5 && all.ranges.count == 5 && all.byteCount < 1_400_000)
  }

  @Test(arguments: [FactsExtent.header, .metadata, .all])
  func `a file that is cut has the facts before the cut, and says so`(extent: FactsExtent) throws {
    let whole = Samples.webp
    for count in [40, whole.count / 2, whole.count - 1] {
      let record = try Fetch.record(Array(whole.prefix(count)), extent)
      #expect(record.status == .truncated, "\(count)")
      #expect(record.facts.storedWidth == 20 && record.facts.storedHeight == 10)
    }
    let record = try Fetch.record(Array(whole.dropLast()), extent)
    #expect(record.facts.encoding == "lossy" && record.facts.orientation == 6)
    #expect(throws: Failure.self) { try Fetch.record(Array(whole.prefix(29)), extent) }
  }

  @Test func `the frames of a cut animation are counted up to the cut`() throws {
    let record = try Fetch.record(Array(Samples.animatedWebP.dropLast(60)), .all)
    #expect(record.status == .truncated && record.facts.isAnimated == true)
    #expect(record.facts.frameDelays == [40, 0] && record.facts.loopCount == 2)
  }

  @Test func `a file of very many chunks is unsupported`() {
    let chunks = [[UInt8]](repeating: WebPMaker.chunk("abcd", []), count: 131_073)
    #expect(
      error(of: WebPMaker.file(chunks.flatMap { $0 }))
        == .unsupported("WebP of more than 131072 chunks"))
  }

  @Test func `files without a picture are invalid`() {
    #expect(
      error(of: WebPMaker.file(WebPMaker.chunk("VP9 ", zeros(20))))
        == .invalid("no picture in the file"))
    #expect(
      error(of: WebPMaker.file(WebPMaker.chunk("VP8 ", zeros(20))))
        == .invalid("no key frame of VP8"))
    #expect(
      error(of: WebPMaker.file(WebPMaker.chunk("VP8L", zeros(20))))
        == .invalid("no signature of VP8L"))
    #expect(
      error(of: WebPMaker.file(WebPMaker.lossy(width: 0))) == .invalid("a picture without pixels"))
  }
}
