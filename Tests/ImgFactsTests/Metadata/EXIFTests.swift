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
    #expect(
      found.exif?.interop
        == ["InteropIndex": .text("R98"), "InteropVersion": .text("0100")])
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
