import ImgModel
import TestPictures
import Testing

@testable import ImgFacts

@Suite struct EXIFTests {
  private func exif(_ file: [UInt8]) throws -> PictureFacts {
    try facts(of: JPEGMaker.file(JPEGMaker.exif(file), JPEGMaker.frame()), .metadata)
  }

  @Test func `tags of every directory have values by their types`() throws {
    let found = try exif(Samples.exif)
    #expect(
      found.exif?.ifd0 == [
        "Make": .text("Camera Works"), "Model": .text("C-1"), "Orientation": .integer(6),
        "XResolution": .integer(300),
      ])
    #expect(
      found.exif?.exif == [
        "ExposureTime": .number(0.004), "FNumber": .number(2.8), "ISO": .integer(400),
        "ExifVersion": .text("0232"), "DateTimeOriginal": .text("2024:05:06 07:08:09"),
        "ComponentsConfiguration": .list([.integer(1), .integer(2), .integer(3), .integer(0)]),
        "ExposureCompensation": .number(-1 / 3.0), "UserComment": .text("Hello"),
        "FileSource": .integer(3), "LensModel": .text("24-70mm"),
      ])
    #expect(found.exif?.interop == ["InteropIndex": .text("R98"), "InteropVersion": .text("0100")])
  }

  @Test func `the place is in degrees with a sign`() throws {
    let gps = try #require(try exif(Samples.exif).gps)
    let latitude = try #require(gps.latitude)
    let longitude = try #require(gps.longitude)
    #expect(abs(latitude + 33.860125) < 1e-9 && abs(longitude - 151.21) < 1e-9)
    #expect(gps.altitude == -12.5)
    #expect(gps.tags["GPSTimeStamp"] == .text("07:08:09.5"))
    #expect(gps.tags["GPSDateStamp"] == .text("2024:05:06"))
    #expect(gps.tags["GPSLatitudeRef"] == .text("S"))
    #expect(
      gps.tags["GPSVersionID"] == .list([.integer(2), .integer(3), .integer(0), .integer(0)]))
  }

  @Test func `the place has at most seven decimals`() throws {
    let file = TIFFMaker.file([
      [.long(0x8825, 1)],
      [
        .rational(0x02, (37, 1), (46, 1), (294_599_999, 10_000_000)), .text(0x03, "W"),
        .rational(0x04, (122, 1), (25, 1), (984, 100)),
      ],
    ])
    let gps = try #require(try exif(file).gps)
    #expect(gps.latitude == 37.7748500 && gps.longitude == -122.4194)
    #expect(gps.tags["GPSLongitude"] == .number(122.4194))
  }

  @Test func `angles that do not exist give no place`() throws {
    let file = TIFFMaker.file([
      [.long(0x8825, 1)],
      [.rational(0x02, (200, 1)), .rational(0x04, (1, 0), (1, 1)), .rational(0x07, (1, 1))],
    ])
    let gps = try #require(try exif(file).gps)
    #expect(gps.latitude == nil && gps.longitude == nil)
    #expect(gps.tags == ["GPSLatitude": .integer(200), "GPSTimeStamp": .text("01:00:00")])
  }

  @Test func `text is UTF-8, Latin-1 or UTF-16, and ends at NUL`() throws {
    let comment = { (bytes: [UInt8]) in TIFFMaker.Entry.bytes(0x9286, bytes) }
    let file = TIFFMaker.file([
      [
        .bytes(0x010E, type: 2, [0x47, 0x72, 0xFC, 0x6E, 0, 65]),
        .bytes(0x013B, type: 2, ascii("  Zoë \0")),
        .bytes(0x9C9B, type: 1, "Titel 🙂".utf16.flatMap { little(Int($0), 2) } + [0, 0]),
        comment(ascii("UNICODE\0") + "Hi".utf16.flatMap { little(Int($0), 2) }),
        .bytes(0x8298, type: 2, zeros(20)),
      ]
    ])
    let ifd0 = try #require(try exif(file).exif?.ifd0)
    #expect(ifd0["ImageDescription"] == .text("Grün") && ifd0["Artist"] == .text("Zoë"))
    #expect(ifd0["XPTitle"] == .text("Titel 🙂") && ifd0["UserComment"] == .text("Hi"))
    #expect(ifd0["Copyright"] == nil)
  }

  @Test func `a text is not cut within a character`() throws {
    for count in 4_093...4_097 {
      let text = String(repeating: "x", count: count) + "€uro"
      let ifd0 = try #require(try exif(TIFFMaker.file([[.text(0x010E, text)]])).exif?.ifd0)
      #expect(text.hasPrefix(try #require(ifd0["ImageDescription"]?.text)))
    }
  }

  @Test func `long texts are cut, and long lists left out`() throws {
    let file = TIFFMaker.file([
      [
        .text(0x010E, String(repeating: "x", count: 9_000)),
        TIFFMaker.Entry(tag: 0x0214, type: 3, count: 300, values: zeros(600)),
      ]
    ])
    let ifd0 = try #require(try exif(file).exif?.ifd0)
    #expect(ifd0["ImageDescription"]?.text?.count == 4_096 && ifd0["ReferenceBlackWhite"] == nil)
  }

  @Test func `values outside of the block and fractions without a value are left out`() throws {
    var file = TIFFMaker.file([
      [.text(0x010F, "outside"), .rational(0x829A, (1, 0)), .short(0x8827, 100)]
    ])
    // The offset of the first value.
    file.replaceSubrange(18..<22, with: little(0x7FFF_FFFF, 4))
    #expect(try exif(file).exif?.ifd0 == ["ISO": .integer(100)])
  }

  @Test func `of a tag that comes twice the first counts`() throws {
    let file = TIFFMaker.file([[.short(0x0112, 3), .short(0x0112, 6), .text(0x010F, "A")]])
    #expect(try exif(file).orientation == 3)
  }

  @Test func `a block that refers to itself is read once`() throws {
    let file = TIFFMaker.file([[.long(0x8769, 0), .short(0x8827, 100)]], chained: 1)
    let found = try exif(file)
    #expect(found.exif?.ifd0 == found.exif?.exif)
  }

  @Test func `both byte orders are read`() throws {
    let file =
      ascii("MM") + [0, 42] + big(8, 4) + big(2, 2)
      + (big(0x0112, 2) + big(3, 2) + big(1, 4) + big(8, 2) + [0, 0])
      + (big(0x9201, 2) + big(10, 2) + big(1, 4) + big(38, 4)) + big(0, 4)
      + big(-3, 4) + big(2, 4)
    let found = try exif(file)
    #expect(found.orientation == 8)
    #expect(found.exif?.ifd0["ShutterSpeedValue"] == .number(-1.5))
  }

  @Test func `damaged blocks give no facts and no error`() throws {
    for count in 0..<Samples.exif.count {
      let found = try exif(Array(Samples.exif.prefix(count)))
      #expect(found.storedWidth == 64)
    }
  }
}

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

@Suite struct TextMetadataTests {
  @Test func `XMP properties are read from elements, lists and attributes`() throws {
    let xmp = try #require(XMPFacts(ascii(Samples.xmp)))
    #expect(xmp.title == "Sea & sky ☺" && xmp.creators == ["Ann", "Bob"] && xmp.rights == "CC0")
    #expect(xmp.description == "a < b" && xmp.rating == 4)
    #expect(xmp.createDate == "2024-05-06T07:08:09+02:00")
    #expect(xmp.packet == Samples.xmp)
    let element = try #require(
      XMPFacts(ascii("<rdf:Description><xmp:Rating>-1</xmp:Rating></rdf:Description>")))
    #expect(element.rating == -1 && element.title == nil)
  }

  @Test(arguments: [
    "<", "<a", "<a b", "<a b=", "<a b='", "</", "<!--", "<?", "<![CDATA[", "<!DOCTYPE x [",
    "&", "&#x110000;", "<a/>", "</a></a>", "<a =''/>", "text",
  ])
  func `a packet that is no XML gives no properties`(text: String) throws {
    let xmp = try #require(XMPFacts(ascii(text)))
    #expect(xmp.title == nil && xmp.packet == text)
  }

  @Test func `entities are not expanded, and depth is bounded`() throws {
    let bomb = "<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]>"
    let xmp = try #require(XMPFacts(ascii(bomb + "<dc:title>&b;</dc:title>")))
    #expect(xmp.title == "&b;")
    let deep = String(repeating: "<a>", count: 100_000) + "<dc:title>t</dc:title>"
    #expect(try #require(XMPFacts(ascii(deep))).title == nil)
  }

  @Test func `packets that are too long are left out`() throws {
    #expect(XMPFacts(zeros(XMPFacts.maximumPacketByteCount + 1)) == nil)
    #expect(XMPFacts([]) == nil)
  }

  @Test func `IPTC datasets have names, and lists where they repeat`() throws {
    let record = ByteWindow(decoded: Samples.iptc)
    #expect(
      try IPTCRecord.datasets(in: record) == [
        "headline": .text("Große Welle"), "keywords": .list([.text("sea"), .text("wave")]),
        "city": .text("Kanagawa"),
      ])
  }

  @Test func `an IPTC record without an announcement may be Latin-1`() throws {
    let record = ByteWindow(decoded: JPEGMaker.dataset(2, 120, [0xC4, 0x66, 0x66, 0x69]))
    #expect(try IPTCRecord.datasets(in: record) == ["caption": .text("Äffi")])
  }

  @Test func `an IPTC dataset may be longer than 32 KB`() throws {
    let long = [0x1C, 2, 120, 0x80, 4] + big(40_000, 4) + [UInt8](repeating: 65, count: 40_000)
    let record = ByteWindow(decoded: long + JPEGMaker.dataset(2, 90, ascii("Rome")))
    let datasets = try #require(try IPTCRecord.datasets(in: record))
    #expect(datasets["caption"]?.text?.count == 4_096 && datasets["city"] == .text("Rome"))
  }

  @Test func `a profile's description is read in both versions of the format`() throws {
    let text = { (profile: [UInt8]) in
      try ICCDescription.text(in: ByteWindow(decoded: profile))
    }
    #expect(try text(ProfileMaker.described("sRGB IEC61966-2.1")) == "sRGB IEC61966-2.1")
    let localized = ProfileMaker.localized([("deDE", "Farbraum"), ("enUS", "Colours 🎨")])
    #expect(try text(localized) == "Colours 🎨")
    #expect(try text(ProfileMaker.localized([("deDE", "Farbraum")])) == "Farbraum")
    for count in 0..<localized.count { _ = try text(Array(localized.prefix(count))) }
  }
}
