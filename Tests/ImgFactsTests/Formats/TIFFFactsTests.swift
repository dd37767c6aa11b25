import ImgModel
import TestPictures
import Testing

@testable import ImgFacts

@Suite struct TIFFFactsTests {
  @Test func `the first directory tells size, samples and encoding`() throws {
    let maker = try PictureMaker.start()
    let plain = try facts(of: maker.card(index: 1, width: 80, height: 60, format: .tiff))
    #expect(plain.format == .tiff && plain.width == 80 && plain.height == 60)
    #expect(plain.bands == 3 && plain.bitsPerSample == 8 && plain.encoding == "lzw")
    #expect(plain.colourModel == .rgb && plain.hasAlpha == false && plain.frameCount == 1)
    #expect(try facts(of: maker.card(index: 1, format: .grayTIFF)).colourModel == .gray)
    #expect(try facts(of: maker.card(index: 1, format: .cmykTIFF)).colourModel == .cmyk)
    let clear = try facts(of: maker.card(index: 1, format: .tiff, hasAlpha: true))
    #expect(clear.hasAlpha == true && clear.bands == 4)
    let turned = try facts(
      of: maker.card(index: 1, width: 80, height: 60, format: .tiff, orientation: 6))
    #expect(turned.width == 80 && turned.storedWidth == 60 && turned.orientation == 6)
  }

  @Test func `metadata is where the tags say`() throws {
    let found = try facts(of: Samples.tiff)
    #expect(found.exif?.ifd0["Make"] == .text("Scanner") && found.exif?.exif["ISO"] == .integer(50))
    #expect(found.xmp?.rights == "CC0" && found.iptc?["city"] == .text("Kanagawa"))
    #expect(found.profileDescription == "Of a TIFF" && found.frameCount == 3)
    #expect(found.gps?.latitude == 51.5)
    #expect(try facts(of: Samples.tiff, .metadata).frameCount == nil)
  }

  @Test func `defaults and unknown numbers`() throws {
    let found = try facts(
      of: TIFFMaker.file([[.short(256, 20), .long(257, 10), .short(259, 999)]]))
    #expect(found.bands == 1 && found.bitsPerSample == 1 && found.colourModel == nil)
    #expect(found.encoding == "compression 999")
    let photoshop = JPEGMaker.photoshop(iptc: Samples.iptc).dropFirst(18)
    let resources = try facts(
      of: TIFFMaker.file([
        [.short(256, 20), .short(257, 10), .bytes(34_377, type: 1, Array(photoshop))]
      ]))
    #expect(resources.iptc?["city"] == .text("Kanagawa"))
  }

  @Test func `BigTIFF is read`() throws {
    func entry(_ tag: Int, _ type: Int, _ value: Int) -> [UInt8] {
      little(tag, 2) + little(type, 2) + little(1, 8) + little(value, 8)
    }
    let entries = [entry(256, 3, 20), entry(257, 16, 10), entry(258, 3, 16), entry(274, 3, 8)]
    let file =
      ascii("II") + [43, 0, 8, 0, 0, 0] + little(16, 8) + little(entries.count, 8)
      + entries.flatMap { $0 } + zeros(8)
    let found = try facts(of: file)
    #expect(found.width == 10 && found.height == 20 && found.bitsPerSample == 16)
    #expect(found.orientation == 8 && found.frameCount == 1)
  }

  @Test func `a chain that leads back is no longer than its directories`() throws {
    var file = TIFFMaker.file([[.short(256, 2), .short(257, 2)]])
    file.replaceSubrange(file.count - 4..<file.count, with: little(8, 4))
    #expect(try facts(of: file).frameCount == 1)
  }

  @Test func `a directory at the end of a large file takes a second range`() throws {
    let file = TIFFMaker.file(
      [[.short(256, 20), .short(257, 10), .short(258, 8, 8, 8), .text(0x010F, "Scanner")]],
      padding: 4 << 20)
    let fetch = Fetch(file, .all)
    #expect(fetch.facts?.exif?.ifd0["Make"] == .text("Scanner"))
    #expect(fetch.ranges == [0..<4_096, (4 << 20) + 8..<file.count])
    let unknown = Fetch(file, .all, isLengthKnown: false)
    #expect(unknown.facts == fetch.facts && unknown.ranges.count == 2)
  }

  @Test func `a file without a size is invalid`() {
    #expect(
      error(of: TIFFMaker.file([[.short(256, 20)]])) == .invalid("the first directory has no size"))
    #expect(error(of: ascii("II") + [42, 0] + little(1_000, 4) + zeros(20)) == .truncated)
  }
}
