import ImgModel
import Testing

@testable import ImgFacts

@Suite struct AnymapFactsTests {
  @Test(
    arguments: [
      ("P1\n20 10\n", "bitmap", 1, 1, "plain"), ("P2 20 10 1000\n", "graymap", 1, 10, "plain"),
      ("P3\t20\r\n10 # of ten rows\n255 ", "pixmap", 3, 8, "plain"),
      ("P4#a\n# b\n20 10\n", "bitmap", 1, 1, "raw"), ("P5\n20\n10\n7\n", "graymap", 1, 3, "raw"),
      ("P6 20 10 65535\n", "pixmap", 3, 16, "raw"), ("PF\n20 10\n-1.0\n", "floatmap", 3, 32, "raw"),
      ("Pf\n20 10\n2.5\n", "floatmap", 1, 32, "raw"),
      (
        "P7\n#\nWIDTH 20\nHEIGHT  10\n\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n",
        "arbitrarymap", 4, 8, "raw"
      ),
      (
        "P7\nMAXVAL 1\nTUPLTYPE BLACKANDWHITE\nWIDTH 20\nHEIGHT 10\nDEPTH 1\nENDHDR\n",
        "arbitrarymap", 1, 1, "raw"
      ),
      ("P7\nWIDTH 20\nHEIGHT 10\nDEPTH 2\nMAXVAL 15\nENDHDR\n", "arbitrarymap", 2, 4, "raw"),
    ] as [(String, String, Int, Int, String)])
  func `every header is read`(
    header: String, kind: String, bands: Int, bits: Int, encoding: String
  ) throws {
    let found = try facts(of: ascii(header) + [0])
    #expect(found.format == .pnm && found.width == 20 && found.height == 10)
    #expect(found.mediaType == "image/x-portable-\(kind)" && found.encoding == encoding)
    #expect(found.bands == bands && found.bitsPerSample == bits && found.frameCount == 1)
    #expect(found.hasAlpha == [2, 4].contains(bands))
    #expect(found.colourModel == (bands < 3 ? .gray : .rgb))
  }

  @Test(
    arguments: [
      ("P6\n0 10\n255\n", "width"), ("P6\n20 4294967296\n255\n", "height"),
      ("P6\n20 10\n65536\n", "maximum"), ("P6\n20 10\n0\n", "maximum"),
      ("P6\n20 ten\n255\n", "ten"),
      ("P6\n20 -1 255\n", "-1"), ("PF\n20 10\n0\n", "scale"), ("PF\n20 10\nnan\n", "scale"),
      ("P7\nWIDTH 20\nHEIGHT 10\nMAXVAL 255\nENDHDR\n", "DEPTH"),
      ("P7\nWIDTH 20\nHEIGHT 10\nDEPTH 1\nMAXVAL 255\nTUPLTYPE RGB\nENDHDR\n", "DEPTH"),
      ("P7\nWIDTH 20\nHEIGHT 10\nDEPTH 1\nMAXVAL 70000\nENDHDR\n", "MAXVAL"),
      ("P7\nWIDTH 20\nCOLOUR red\n", "COLOUR"),
      ("P6\n#" + String(repeating: " ", count: 65_536), "longer"),
    ] as [(String, String)])
  func `a header that breaks the rules is named`(header: String, word: String) {
    guard case .invalid(let reason) = error(of: ascii(header) + zeros(9)) else {
      Issue.record("\(header) is read")
      return
    }
    #expect(reason.contains(word), "\(reason)")
  }

  @Test func `tuples that are no colours are not read`() {
    let file = "P7\nWIDTH 2\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nTUPLTYPE CMYK\nENDHDR\n"
    #expect(error(of: ascii(file)) == .unsupported("PAM of the tuple type \"CMYK\""))
    #expect(
      error(of: ascii("P7\nWIDTH 2\nHEIGHT 1\nDEPTH 9\nMAXVAL 255\nENDHDR\n"))
        == .unsupported("PAM of 9 samples a pixel"))
  }

  @Test func `a header behind a long comment is fetched whole`() {
    let comment = "# " + String(repeating: "long ", count: 4_000) + "\n"
    let fetch = Fetch(ascii("P5\n\(comment)300 200 255\n") + zeros(60_000), .all)
    #expect(fetch.facts?.width == 300 && fetch.facts?.height == 200)
  }
}
