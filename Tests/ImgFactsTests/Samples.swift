import TestPictures
import Testing

@testable import ImgFacts

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

  static let gif = GIFMaker.file(
    GIFMaker.profile(ProfileMaker.described("Of a GIF")), GIFMaker.loop(5), GIFMaker.xmp(xmp),
    GIFMaker.comment("none"), GIFMaker.control(delay: 10, transparent: true),
    GIFMaker.frame(data: 600, interlaced: true), GIFMaker.control(delay: 1),
    GIFMaker.frame(localTable: true), GIFMaker.frame())

  static let webp = WebPMaker.file(
    WebPMaker.extended(flags: 0x2C),
    WebPMaker.chunk("ICCP", ProfileMaker.described("Of a WebP")), WebPMaker.lossy(data: 101),
    WebPMaker.chunk("EXIF", ascii("Exif\0\0") + exif), WebPMaker.chunk("XMP ", ascii(xmp)))

  static let animatedWebP = WebPMaker.file(
    WebPMaker.extended(flags: 0x12), WebPMaker.animation(loopCount: 2),
    WebPMaker.frame(duration: 40), WebPMaker.frame(duration: 0), WebPMaker.frame(duration: 1_000))

  static let tiff = TIFFMaker.file(
    [
      [
        .short(256, 20), .short(257, 10), .short(258, 8, 8, 8), .short(259, 5), .short(262, 2),
        .text(0x010F, "Scanner"), .short(277, 3), .bytes(700, type: 1, ascii(xmp)),
        .bytes(33_723, iptc), .bytes(34_675, ProfileMaker.described("Of a TIFF")),
        .long(0x8769, 3), .long(0x8825, 4),
      ],
      [.short(256, 5), .short(257, 5)], [.short(256, 3), .short(257, 3)], [.short(0x8827, 50)],
      [.text(0x01, "N"), .rational(0x02, (51, 1), (30, 1), (0, 1))],
    ], chained: 3)

  static let avifProperties = [
    ISOMaker.size(64, 48), ISOMaker.full("pixi", [3, 10, 10, 10]), ISOMaker.av1(deep: true),
    ISOMaker.colour(9, 16, 9, full: false),
    ISOMaker.box("colr", ascii("prof") + ProfileMaker.described("Of an AVIF")),
    ISOMaker.box("clap", [60, 1, 40, 1, 0, 1, 0, 1].flatMap { big($0, 4) }),
    ISOMaker.box("irot", [1]),
    ISOMaker.full("auxC", ascii("urn:mpeg:mpegB:cicp:systems:auxiliary:alpha\0")),
    ISOMaker.size(16, 12),
  ]

  static let avifItems: [ISOMaker.Item] = [
    .init(id: 1, type: "av01", properties: [1, 0x82, 0x83, 4, 5, 0x86, 0x87], data: zeros(50)),
    .init(id: 2, type: "av01", properties: [1, 3, 8], data: zeros(20)),
    .init(id: 3, type: "Exif", data: big(6, 4) + ascii("Exif\0\0") + exif),
    .init(
      id: 4, type: "mime", data: ascii(xmp), isInline: true, mediaType: "application/rdf+xml"),
    .init(id: 5, type: "jpeg", properties: [9], data: thumbnail),
  ]

  static let avifReferences = [
    ISOMaker.reference("auxl", from: 2, to: 1), ISOMaker.reference("cdsc", from: 3, to: 1),
    ISOMaker.reference("cdsc", from: 4, to: 1), ISOMaker.reference("thmb", from: 5, to: 1),
  ]

  static let avif = ISOMaker.file(
    items: avifItems, properties: avifProperties, references: avifReferences)

  static let sequence = ISOMaker.file(
    brand: "avis",
    items: [.init(id: 1, type: "av01", properties: [1, 2], data: zeros(10))],
    properties: [ISOMaker.size(64, 48), ISOMaker.av1(deep: true)],
    boxes: ISOMaker.movie(runs: [(2, 60), (1, 300)], repeats: 2))

  /// Its header: in eights, a height of one, a ratio of two; everything else by default.
  static let jxl =
    [0, 0, 0, 12] + ascii("JXL \r\n") + [0x87, 0x0A] + ISOMaker.fileType("jxl ", "jxl ")
    + ISOMaker.box("Exif", big(0, 4) + exif) + ISOMaker.box("xml ", ascii(xmp))
    + ISOMaker.box("brob", ascii("jumb") + zeros(8))
    + ISOMaker.box("jxlc", [0xFF, 0x0A, 0b1100_0001, 0b11] + zeros(8))

  static let codestream =
    [0xFF, 0x4F, 0xFF, 0x51] + big(47, 2) + big(0, 2) + big(25, 4) + big(13, 4) + big(5, 4)
    + big(3, 4) + zeros(16) + big(3, 2) + [11, 1, 1, 11, 1, 1, 11, 1, 1]

  static let jp2 = ISOMaker.jp2(
    codestream,
    metadata: ISOMaker.box(
      "uuid",
      [
        0xBE, 0x7A, 0xCF, 0xCB, 0x97, 0xA9, 0x42, 0xE8, 0x9C, 0x71, 0x99, 0x94, 0x91, 0xE3, 0xAF,
        0xAC,
      ] + ascii(xmp)))

  static let svg = ascii(
    "<?xml version='1.0'?><!-- a drawing --><svg xmlns='http://www.w3.org/2000/svg' width='20' "
      + "height='1in'><path d='M0 0'/></svg>")

  private static let pixels = Raster(width: 20, height: 10) { x, _ in Raster.Pixel(UInt8(x), 2, 3) }

  static let bmp = {
    var writer = BitmapWriter(.version5, .blueGreenRed)
    writer.profile = ProfileMaker.described("Of a BMP")
    return writer.file(pixels)
  }()

  /// A small bitmap, and a larger PNG.
  static let icon = IconWriter([
    .init(width: 16, height: 8, BitmapWriter(.info, .blueGreenRedAlpha).iconPart(pixels)),
    .init(width: 20, height: 10, png),
  ]).bytes

  static let all: [String: [UInt8]] = [
    "bmp": bmp, "icon": icon, "pgm": ascii("P5\n# 20 by 10\n20 10\n255\n") + zeros(200),
    "pam": ascii("P7\nWIDTH 20\nHEIGHT 10\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n")
      + zeros(800),
    "jpeg": jpeg, "png": png, "gif": gif, "webp": webp, "animated webp": animatedWebP,
    "tiff": tiff, "avif": avif, "avif sequence": sequence, "jxl": jxl, "jp2": jp2,
    "jpeg 2000 codestream": codestream, "svg": svg,
  ]
}

/// The facts of a whole file.
func facts(of file: [UInt8], _ extent: FactsExtent = .all) throws -> PictureFacts {
  try PictureFacts.reading(WholeBytes(file), extent)
}

/// The error that a whole file gives.
func error(of file: [UInt8], _ extent: FactsExtent = .all) -> FactsError? {
  do throws(FactsError) {
    _ = try PictureFacts.reading(WholeBytes(file), extent)
    return nil
  } catch {
    return error
  }
}

/// Answers a query from a file, as an origin that sends ranges does.
struct Fetch {
  let result: FactsQuery.Step
  let ranges: [Range<Int>]
  var byteCount: Int { ranges.reduce(0) { $0 + $1.count } }

  /// - Parameter isLengthKnown: whether the length of the file is known before the first range.
  init(_ file: [UInt8], _ extent: FactsExtent, isLengthKnown: Bool = true) {
    var query = FactsQuery(extent, byteCount: isLengthKnown ? file.count : nil)
    var ranges: [Range<Int>] = []
    while true {
      let step = query.next()
      guard case .fetch(let range) = step else {
        (result, self.ranges) = (step, ranges)
        return
      }
      let found = range.clamped(to: 0..<file.count)
      ranges.append(found)
      query.insert(Array(file[found]), at: found.lowerBound)
      query.setByteCount(file.count)
    }
  }

  /// What is reported of a file that is at hand.
  static func record(_ file: [UInt8], _ extent: FactsExtent) throws -> FactsRecord {
    try FactsQuery.record(extent, byteCount: file.count) { range in
      Array(file[range.clamped(to: 0..<file.count)])
    }
  }

  var facts: PictureFacts? {
    guard case .facts(let facts, _) = result else { return nil }
    return facts
  }
}

/// Numbers as bytes, the most significant first.
func big(_ value: Int, _ count: Int) -> [UInt8] {
  (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * (count - 1 - $0))) }
}

/// Numbers as bytes, the least significant first.
func little(_ value: Int, _ count: Int) -> [UInt8] { big(value, count).reversed() }

func ascii(_ text: String) -> [UInt8] { Array(text.utf8) }

func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
