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

  @Test
  func `of several EXIF segments the first counts, for an orientation the first that has one`()
    throws
  {
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
    #expect(
      error(of: JPEGMaker.file([0xFF, 0xE5, 0, 1])) == .invalid("a segment has no length"))
    let stray = [UInt8](repeating: 1, count: 70_000)
    #expect(
      error(of: JPEGMaker.file(JPEGMaker.segment(0xE5, []), stray, JPEGMaker.frame()))
        == .invalid("no marker follows a segment"))
    let many = [[UInt8]](repeating: JPEGMaker.segment(0xE5, []), count: 3_000).flatMap { $0 }
    #expect(
      error(of: JPEGMaker.file(many, JPEGMaker.frame())) == .invalid("more than 2000 segments"))
  }

  @Test func `a large file needs its first 4 KiB`() throws {
    let file = Samples.jpeg + zeros(4 << 20)
    for extent in FactsExtent.allCases {
      let fetch = Fetch(file, extent)
      #expect(fetch.ranges == [0..<4_096])
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
