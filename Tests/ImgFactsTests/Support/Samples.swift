import ImgFacts

/// Small whole files with as many facts as possible, by their names.
enum Samples {
  static let iptc =
    JPEGMaker.dataset(1, 90, [0x1B, 0x25, 0x47]) + JPEGMaker.dataset(2, 105, ascii("Große Welle"))
    + JPEGMaker.dataset(2, 25, ascii("sea")) + JPEGMaker.dataset(2, 25, ascii("wave"))
    + JPEGMaker.dataset(2, 90, ascii("Kanagawa"))

  static let xmp = """
    <?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">
    <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
    <rdf:Description rdf:about="" xmp:Rating="4" xmp:CreateDate="2024-05-06T07:08:09+02:00">
    <dc:title><rdf:Alt><rdf:li xml:lang="x-default">Sea &amp; sky &#x263A;</rdf:li></rdf:Alt></dc:title>
    <dc:creator><rdf:Seq><rdf:li>Ann</rdf:li><rdf:li>Bob</rdf:li></rdf:Seq></dc:creator>
    <dc:rights><rdf:Alt><rdf:li>CC0</rdf:li></rdf:Alt></dc:rights>
    <!-- a comment --><dc:description><rdf:Alt><rdf:li><![CDATA[a < b]]></rdf:li></rdf:Alt>
    </dc:description></rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>
    """

  /// EXIF with tags in every directory.
  static let exif = TIFFMaker.file(
    [
      [
        .text(0x010F, "Camera Works"), .text(0x0110, "C-1"), .short(0x0112, 6),
        .rational(0x011A, (300, 1)), .long(0x8769, 2), .long(0x8825, 4),
      ],
      [.short(0x0103, 6), .long(0x0201, 1_000), .long(0x0202, thumbnail.count)],
      [
        .rational(0x829A, (1, 250)), .rational(0x829D, (28, 10)), .short(0x8827, 400),
        .bytes(0x9000, ascii("0232")), .text(0x9003, "2024:05:06 07:08:09"),
        .bytes(0x9101, [1, 2, 3, 0]), .rational(0x9204, type: 10, (-1, 3)),
        .bytes(0x9286, ascii("ASCII\0\0\0Hello")), .bytes(0xA300, [3]),
        .rational(0xA432, (24, 1), (70, 1), (28, 10), (0, 0)), .text(0xA434, "24-70mm"),
        .short(0xFFF0, 1), .long(0xA005, 3), .bytes(0x927C, zeros(200)),
      ],
      [.text(0x0001, "R98"), .bytes(0x0002, ascii("0100"))],
      [
        .bytes(0x00, type: 1, [2, 3, 0, 0]), .text(0x01, "S"),
        .rational(0x02, (33, 1), (51, 1), (3_645, 100)), .text(0x03, "E"),
        .rational(0x04, (151, 1), (12, 1), (36, 1)), .bytes(0x05, type: 1, [1]),
        .rational(0x06, (125, 10)), .rational(0x07, (7, 1), (8, 1), (95, 10)),
        .text(0x1D, "2024:05:06"),
      ],
    ], chained: 2)

  /// ``exif`` with the thumbnail where its second directory says.
  static let exifWithThumbnail = exif + zeros(1_000 - exif.count) + thumbnail

  static let thumbnail = JPEGMaker.file(JPEGMaker.frame(width: 16, height: 12))

  static let jpeg = JPEGMaker.file(
    JPEGMaker.segment(0xE0, ascii("JFIF\0") + [1, 1, 0, 0, 1, 0, 1, 0, 0]),
    JPEGMaker.exif(exifWithThumbnail), JPEGMaker.xmp(xmp),
    JPEGMaker.segment(0xE1, ascii("http://ns.adobe.com/xmp/extension/\0") + zeros(40)),
    JPEGMaker.profile(ProfileMaker.described("Test RGB")), JPEGMaker.photoshop(iptc: iptc),
    JPEGMaker.frame(marker: 0xC2))

  static let png = PNGMaker.file(
    header: PNGMaker.header(width: 20, height: 10, bits: 8, type: 3, interlaced: true),
    [
      PNGMaker.chunk("acTL", big(2, 4) + big(3, 4)), PNGMaker.chunk("gAMA", big(45_455, 4)),
      PNGMaker.chunk("cICP", [9, 16, 0, 1]), PNGMaker.chunk("eXIf", exif),
      PNGMaker.chunk("PLTE", zeros(6)), PNGMaker.chunk("tRNS", [0]),
      PNGMaker.chunk("iTXt", ascii("XML:com.adobe.xmp\0") + [0, 0, 0, 0] + ascii(xmp)),
      PNGMaker.frame(delay: (1, 10)), PNGMaker.chunk("IDAT", zeros(20)),
      PNGMaker.frame(delay: (5, 0)), PNGMaker.chunk("fdAT", zeros(20)),
    ])

  static let all: [String: [UInt8]] = ["jpeg": jpeg, "png": png]
}
