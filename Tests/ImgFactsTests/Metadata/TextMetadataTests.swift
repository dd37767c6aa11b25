import Testing

@testable import ImgFacts

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
