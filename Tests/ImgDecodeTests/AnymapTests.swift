import ImgModel
import TestPictures
import Testing

@testable import ImgDecode

/// Portable anymaps of every kind, and damaged ones.
@Suite(.timeLimit(.minutes(20))) struct AnymapTests {
  private let fixture = ThumbnailFixture()

  /// A row of pixels.
  private func row(_ header: String, _ samples: [UInt8]) throws -> [Raster.Pixel] {
    let shown = try fixture.raster(of: Array(header.utf8) + samples)
    #expect(shown.height == 1)
    return (0..<shown.width).map { shown[$0, 0] }
  }

  private func gray(_ level: UInt8, alpha: UInt8 = 255) -> Raster.Pixel {
    Raster.Pixel(level, level, level, alpha: alpha)
  }

  @Test func `bits are black where they are 1`() throws {
    let expected = [0, 255, 0, 255, 255, 0, 0, 255, 0, 255].map { gray($0) }
    #expect(try row("P4\n10 1\n", [0b1010_0110, 0b1011_1111]) == expected)
    #expect(try row("P1\n10 1\n", Array("1010#0\n011\n0 10".utf8)) == expected)
  }

  @Test func `rows of bits begin with a byte of their own`() throws {
    let shown = try fixture.raster(of: Array("P4 9 2\n".utf8) + [0xFF, 0x80, 0, 0])
    #expect((0..<9).allSatisfy { shown[$0, 0] == gray(0) && shown[$0, 1] == gray(255) })
  }

  @Test(arguments: [(1, [0, 255]), (3, [0, 85]), (255, [0, 1]), (1_000, [0, 0])])
  func `the maximum of the header is white`(maximum: Int, levels: [UInt8]) throws {
    let words = maximum > 255
    let number = { (value: Int) in words ? [UInt8(value >> 8), UInt8(value & 255)] : [UInt8(value)]
    }
    // A greater number than the maximum is white, too.
    let numbers = [0, 1, maximum, words ? 65_535 : 255]
    let expected = (levels + [255, 255]).map { gray($0) }
    #expect(try row("P5\n4 1\n\(maximum)\n", numbers.flatMap(number)) == expected)
    let text = numbers.map(String.init).joined(separator: " ")
    #expect(try row("P2\n4 1\n\(maximum)\n", Array(text.utf8)) == expected)
  }

  @Test func `16 bits are rounded to 8`() throws {
    #expect(
      try row("P5 3 1 65535\n", [0x7F, 0xFF, 0x80, 0, 0x80, 0x81])
        == [127, 128, 128].map { gray($0) })
  }

  @Test func `colours are red, green and blue`() throws {
    let expected = [Raster.Pixel(255, 0, 51), Raster.Pixel(0, 102, 255)]
    #expect(try row("P6\n2 1\n255\n", [255, 0, 51, 0, 102, 255]) == expected)
    #expect(try row("P3\n2 1\n5\n", Array("5 0 1\n0 2 # blue\n5\n".utf8)) == expected)
  }

  private func pam(_ depth: Int, _ kind: String?, maximum: Int = 255) -> String {
    let type = kind.map { "TUPLTYPE \($0)\n" } ?? ""
    return "P7\nWIDTH 2\nHEIGHT 1\nDEPTH \(depth)\nMAXVAL \(maximum)\n\(type)ENDHDR\n"
  }

  @Test func `PAM has opacity, and samples that are not shown`() throws {
    let clear = Raster.Pixel(10, 20, 30, alpha: 128)
    for kind in ["RGB_ALPHA", nil] {
      #expect(
        try row(pam(4, kind), [10, 20, 30, 128, 40, 50, 60, 255]) == [
          clear, Raster.Pixel(40, 50, 60),
        ])
    }
    #expect(
      try row(pam(2, "GRAYSCALE_ALPHA"), [9, 128, 7, 255]) == [gray(9, alpha: 128), gray(7)])
    #expect(try row(pam(1, "BLACKANDWHITE", maximum: 1), [1, 0]) == [gray(255), gray(0)])
    #expect(
      try row(pam(5, "RGB"), [1, 2, 3, 99, 99, 4, 5, 6, 99, 99])
        == [Raster.Pixel(1, 2, 3), Raster.Pixel(4, 5, 6)])
  }

  @Test(arguments: [true, false])
  func `floating-point numbers are linear light, from the last row on`(isLittle: Bool) throws {
    let lights: [Float] = [0, 0.215_86, 1, 7, -1, .nan, .infinity, 0.5]
    let bytes = lights.flatMap { light in
      let number = PNGChunk.bigEndian(Int(light.bitPattern))
      return isLittle ? number.reversed() : number
    }
    let file = Array("Pf\n4 2\n\(isLittle ? "-" : "")1.0\n".utf8) + bytes
    let shown = try fixture.raster(of: file)
    #expect((0..<4).map { shown[$0, 1] } == [0, 128, 255, 255].map { gray($0) })
    #expect((0..<4).map { shown[$0, 0] } == [0, 0, 255, 188].map { gray($0) })
  }

  @Test func `what follows the first picture does not count`() throws {
    let file = Array("P5 1 1 255\n".utf8) + [7] + Array("P5 9 9 255\n".utf8)
    #expect(try fixture.raster(of: file)[0, 0] == gray(7))
  }

  // MARK: - Damage

  private static let wholes: [[UInt8]] = [
    Array("P4 11 4\n".utf8) + [UInt8](repeating: 0, count: 8),
    Array("P5 5 4 999\n".utf8) + [UInt8](repeating: 2, count: 40),
    Array("P6\n3 4\n255\n".utf8) + [UInt8](repeating: 99, count: 36),
    Array("P1 5 4\n11111 11111\n1111111111".utf8),
    Array(("P3 2 4 9\n" + [String](repeating: "9", count: 24).joined(separator: "\n")).utf8),
    Array("Pf 2 4 -1\n".utf8) + [UInt8](repeating: 63, count: 32),
  ]

  @Test(arguments: wholes)
  func `a file that is cut anywhere is damaged, and has its rows if asked`(file: [UInt8]) throws {
    #expect(fixture.failureCode(of: file) == nil)
    var shownCount = 0
    for count in 0..<file.count {
      let cut = Array(file[..<count])
      #expect(fixture.failureCode(of: cut) == (count < 3 ? .notAnImage : .corruptImage), "\(count)")
      shownCount += fixture.failureCode(of: cut, isLenient: true) == nil ? 1 : 0
    }
    #expect(shownCount > 0)
  }

  @Test(
    arguments: [
      ("P5 99999999 99999999 255\n", .tooManyPixels),
      ("P6 2147483647 2147483647 65535\n", .tooManyPixels),
      ("P5 99999999999 1 255\n", .corruptImage), ("P5 20000 2000 255\n", .corruptImage),
      ("P2 2 1 255\n1 x", .corruptImage), ("P2 2 1 255\n1 -1", .corruptImage),
      ("P1 3 1\n0 2", .corruptImage), ("P1 9000000 1\n0", .corruptImage),
      (
        "P7\nWIDTH 1\nHEIGHT 1\nDEPTH 2147483647\nMAXVAL 65535\nTUPLTYPE RGB\nENDHDR\n",
        .corruptImage
      ),
      (
        "P7\nWIDTH 1\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nTUPLTYPE CMYK\nENDHDR\nabcd",
        .unsupportedFormat
      ),
      ("P6\n#", .corruptImage),
    ] as [(String, Failure.Code)])
  func `a header that lies takes no memory`(text: String, code: Failure.Code) {
    #expect(fixture.failureCode(of: Array(text.utf8)) == code)
    #expect(fixture.failureCode(of: Array(text.utf8), isLenient: true) == code)
  }

  @Test func `a digit of a thousand digits is one number`() throws {
    let digits = String(repeating: "9", count: 1_000)
    #expect(try row("P2 2 1 255\n", Array("\(digits) 7".utf8)) == [gray(255), gray(7)])
  }
}
