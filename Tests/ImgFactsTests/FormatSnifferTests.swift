import ImgFacts
import ImgModel
import Testing

@Suite struct FormatSnifferTests {
  @Test(arguments: [
    ("\0\0\0\u{1C}ftypmif1\0\0\0\0mif1heicmiaf", FormatSniffer.Finding.picture(.heif)),
    ("\0\0\0\u{1C}ftypmif1\0\0\0\0mif1avifmiaf", .picture(.avif)),
    ("\0\0\0\u{18}ftypmif1\0\0\0\0avismiaf", .picture(.avif)),
    ("\0\0\0\u{18}ftypavis\0\0\0\0avifmiaf", .picture(.avif)),
    ("\0\0\0\u{18}ftypavis\0\0\0\0msf1miaf", .picture(.avif)),
    ("\0\0\0\u{18}ftypmsf1\0\0\0\0msf1iso8", .picture(.heif)),
    ("\0\0\0\u{18}ftyphevc\0\0\0\0hevciso8", .picture(.heif)),
    ("\0\0\0\u{18}ftypisom\0\0\0\0isommp41", .notAnImage),
    ("\0\0\0\u{18}ftypcrx \0\0\0\u{1}crx isom", .unsupported("cr3")),
    ("\0\0\0\u{08}ftypavif\0\0\0\0avif", .notAnImage),
    ("\0\0\0\u{0C}JXL \r\n", .notAnImage),
    ("II*\0\u{8}\0\0\0", .picture(.tiff)),
    ("MM\0*\0\0\0\u{8}", .picture(.tiff)),
    ("RIFF\0\0\0\0WAVEfmt ", .notAnImage),
    ("GIF88a", .notAnImage),
    ("BM\0\0\0\0\0\0\0\0\0\0\0\0\u{28}\0\0\0", .picture(.bmp)),
    ("BM\0\0\0\0\0\0\0\0\0\0\0\0\u{29}\0\0\0", .notAnImage),
    ("BMW makes cars and motorcycles", .notAnImage),
    ("P6\n3 2\n255\n", .picture(.pnm)),
    ("P1 # black and white\n3 2\n", .picture(.pnm)),
    ("P2#gray\n3 2\n255\n", .picture(.pnm)),
    ("PF\n3 2\n-1\n", .picture(.pnm)),
    ("P7\nWIDTH 3\n", .picture(.pnm)),
    ("P7\n# a comment\n", .picture(.pnm)),
    ("P6 is a name", .notAnImage),
    ("P6", .notAnImage),
    ("P7 332\n", .notAnImage),
    ("P8\n3 2\n255\n", .notAnImage),
    ("%PDF-1.7\n", .unsupported("pdf")),
    ("8BPS\0\u{1}", .unsupported("psd")),
    ("PK\u{3}\u{4}", .notAnImage),
    ("plain words", .notAnImage),
    ("{\"error\": \"not found\"}", .notAnImage),
    ("", .notAnImage),
  ])
  func `the first bytes tell the format`(head: String, finding: FormatSniffer.Finding) {
    #expect(FormatSniffer.sniff(Array(head.utf8)) == finding)
  }

  @Test(arguments: [
    ([0xFF, 0x0A, 0xFA], FormatSniffer.Finding.picture(.jxl)),
    ([0, 0, 0, 0x0C, 0x4A, 0x58, 0x4C, 0x20, 0x0D, 0x0A, 0x87, 0x0A], .picture(.jxl)),
    ([0, 0, 0, 0x0C, 0x6A, 0x50, 0x20, 0x20, 0x0D, 0x0A, 0x87, 0x0A], .picture(.jp2)),
    ([0xFF, 0xD8, 0xFF, 0xE0], .picture(.jpeg)),
    ([0xFF, 0xD8], .notAnImage),
    ([0x4D, 0x4D, 0x00, 0x2B], .picture(.tiff)),
    ([0, 0, 1, 0, 1, 0], .picture(.ico)),
    ([0, 0, 2, 0, 0, 1], .picture(.ico)),
    // No picture, as in a TGA.
    ([0, 0, 2, 0, 0, 0, 0, 0], .notAnImage),
    ([0, 0, 1, 0, 1], .notAnImage),
    ([0, 0, 3, 0, 1, 0], .notAnImage),
    ([0x76, 0x2F, 0x31, 0x01], .unsupported("exr")),
  ])
  func `bytes outside of ASCII tell the format`(head: [UInt8], finding: FormatSniffer.Finding) {
    #expect(FormatSniffer.sniff(head) == finding)
  }

  @Test(arguments: [
    "<svg/>",
    "<svg xmlns='http://www.w3.org/2000/svg'>",
    "\u{FEFF}<?xml version='1.0'?>\n<!-- drawn by hand -->\n<svg>",
    "<!DOCTYPE svg [ <!ENTITY red \"<a>\"> ]>\r\n<svg\twidth='1'>",
    "<svg:svg xmlns:svg='http://www.w3.org/2000/svg'>",
    "<!--\(String(repeating: "long ", count: 5_000))--><svg>",
  ])
  func `a document whose root element is svg is one`(text: String) {
    #expect(FormatSniffer.sniff(Array(text.utf8)) == .picture(.svg))
  }

  @Test(arguments: [
    "<!DOCTYPE html><html><svg></svg></html>",
    "<html><body><svg></svg></body></html>",
    "<!-- <svg> -->",
    "<!-- never closed <svg>",
    "<?xml version='1.0'?><rss></rss>",
    "<svgs>",
    "<svg:html>",
    "<",
  ])
  func `a document that merely mentions svg is not one`(text: String) {
    #expect(FormatSniffer.sniff(Array(text.utf8)) == .notAnImage)
  }

  @Test(arguments: [[0xFE, 0xFF] as [UInt8], [0xFF, 0xFE]])
  func `a drawing in UTF-16 is one`(byteOrderMark: [UInt8]) {
    let units = "<?xml version='1.0'?><svg/>".utf16.flatMap { unit -> [UInt8] in
      let bytes = [UInt8(unit >> 8), UInt8(unit & 0xFF)]
      return byteOrderMark == [0xFE, 0xFF] ? bytes : bytes.reversed()
    }
    #expect(FormatSniffer.sniff(byteOrderMark + units) == .picture(.svg))
  }

  /// `<svg/>` and `<rss/>`, each as gzip makes it without compression (RFC 1951 section 3.2.4).
  @Test(arguments: [("<svg/>", true), ("<rss/>", false)])
  func `a compressed drawing is one, and no other compressed file`(text: String, isDrawing: Bool) {
    let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]
    let block: [UInt8] = [1, UInt8(text.utf8.count), 0, ~UInt8(text.utf8.count), 0xFF]
    let finding = FormatSniffer.sniff(header + block + Array(text.utf8))
    #expect(finding == (isDrawing ? .picture(.svg) : .notAnImage))
  }

  @Test func `an optional format is decoded where it is allowed`() throws {
    let head: [UInt8] = [0xFF, 0x4F, 0xFF, 0x51]
    let failure = #expect(throws: Failure.self) { try FormatSniffer.format(of: head) }
    #expect(failure?.code == .unsupportedFormat)
    #expect(failure?.detail.contains("--allow-format jp2") == true)
    #expect(FormatSniffer.rejection(of: head) == failure)
    #expect(try FormatSniffer.format(of: head, allowing: [.jp2]) == .jp2)
    #expect(FormatSniffer.rejection(of: head, allowing: [.jp2]) == nil)
  }

  @Test func `a body is not rejected by its first bytes while its root element may come`() {
    let comment = "<!--" + String(repeating: " ", count: FormatSniffer.rejectedByteCount)
    #expect(FormatSniffer.rejection(of: Array(comment.utf8)) == nil)
    #expect(FormatSniffer.rejection(of: Array("<html><!--".utf8))?.code == .notAnImage)
    #expect(FormatSniffer.rejection(of: Array("<svg>".utf8)) == nil)
  }

  @Test(arguments: [
    ("", "empty"), ("\n<!DOCTYPE html><p>", "HTML"), ("<HTML>", "HTML"),
    ("{\"error\": 1}", "JSON"), ("<rss>", "XML"), ("words", "no image format"),
  ])
  func `a failure names what the body is instead of an image`(body: String, word: String) {
    let failure = #expect(throws: Failure.self) {
      try FormatSniffer.format(of: Array(body.utf8))
    }
    #expect(failure?.detail.contains(word) == true)
  }

  @Test func `bytes after the examined ones do not count`() {
    let padding = String(repeating: " ", count: FormatSniffer.examinedByteCount)
    #expect(FormatSniffer.sniff(Array((padding + "<svg>").utf8)) == .notAnImage)
  }
}
