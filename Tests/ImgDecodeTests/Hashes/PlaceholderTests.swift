import ImgModel
import Testing

@testable import ImgDecode

@Suite struct PlaceholderTests {
  /// Samples by a formula, so that a reference implementation can be asked about the same picture.
  private func picture(_ width: Int, _ height: Int, hasAlpha: Bool = false) throws -> SmallPicture {
    let samples = (0..<width * height).flatMap { pixel -> [UInt8] in
      let (x, y) = (pixel % width, pixel / width)
      let alpha = hasAlpha ? x * 29 + y * 3 : 255
      return [x * 37 + y * 91, x * x * 3 + y * 7, x * y * 5 + x, alpha].map {
        UInt8(truncatingIfNeeded: $0)
      }
    }
    return try #require(SmallPicture(width: width, height: height, samples: samples))
  }

  private func flat(_ samples: [UInt8], _ width: Int, _ height: Int) throws -> SmallPicture {
    let all = [[UInt8]](repeating: samples, count: width * height).flatMap { $0 }
    return try #require(SmallPicture(width: width, height: height, samples: all))
  }

  @Test(arguments: [
    (7, 5, false, "91790a1d888086767487777766789497961ff7b264"),
    (20, 30, false, "5ef80515043443405447855887837778ff79aafaaf"),
    (30, 20, true, "5ff8810b82176912337760bc5c3f68cf26076766778867"),
    (100, 100, false, "1f0802070055455656678676767665057829ffce4976860f"),
    (1, 1, false, "000802070000000000000000000000000000000000000000"),
    (12, 12, true, "9ef885150426418e709ca36a89877eff9b9806997797877888"),
  ])
  func `a ThumbHash is that of the reference implementation`(
    width: Int, height: Int, hasAlpha: Bool, digits: String
  ) throws {
    let bytes = ThumbHash(of: try picture(width, height, hasAlpha: hasAlpha)).bytes
    #expect(bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() == digits)
  }

  @Test(arguments: [
    (7, 5, "LIGY=sU|KJ$*|=JCOD,WR%S#A?E}"), (20, 30, "LAHLk[-2iY+bh$mAl[ZRRNN;kkXj"),
    (30, 20, "LAHB;?z:u+zp%DM2R5n6Z_RhTZNM"), (100, 100, "L1HV9u?9W6-z.JMxrdidZlR~NIRi"),
    (1, 1, "L00000fQfQfQfQfQfQfQfQfQfQfQ"), (12, 12, "LNG*jD*fUd%=v^M}W@P9W6WZT1NZ"),
  ])
  func `a BlurHash is that of the reference implementation`(
    width: Int, height: Int, text: String
  ) throws {
    // Transparency does not change it.
    #expect(BlurHash(of: try picture(width, height)).text == text)
    #expect(BlurHash(of: try picture(width, height, hasAlpha: true)).text == text)
  }

  @Test func `a ThumbHash of any shape has the form that a worker checks`() throws {
    for (width, height) in [(1, 100), (100, 1), (3, 100), (100, 64), (64, 100), (99, 100)] {
      for hasAlpha in [false, true] {
        let hash = ThumbHash(of: try picture(width, height, hasAlpha: hasAlpha))
        #expect(ThumbHash(bytes: hash.bytes) == hash, "\(width)x\(height) \(hasAlpha)")
      }
    }
  }

  @Test func `a transparent picture has a ThumbHash`() throws {
    #expect(ThumbHash(of: try flat([9, 9, 9, 0], 3, 2)).bytes.count > 6)
  }

  @Test func `a picture is small, and each pixel has four samples`() {
    let samples = [UInt8](repeating: 0, count: 101 * 4)
    #expect(SmallPicture(width: 101, height: 1, samples: samples) == nil)
    #expect(SmallPicture(width: 0, height: 0, samples: []) == nil)
    #expect(SmallPicture(width: 10, height: 10, samples: samples) == nil)
    #expect(SmallPicture(width: 1, height: 100, samples: Array(samples.dropLast(4))) != nil)
  }

  // MARK: - Colours

  @Test func `a palette has the colours of a picture by their shares`() throws {
    let samples = (0..<80).flatMap { pixel -> [UInt8] in
      switch pixel {
      case ..<40: [200, 30, 30, 255]
      case ..<60: [30, 160, 60, 255]
      case ..<70: [30, 60, 200, 255]
      // What is hardly visible does not count.
      default: [240, 210, 40, 127]
      }
    }
    let palette = ColourPalette(
      try #require(SmallPicture(width: 8, height: 10, samples: samples)))
    let expected: [([UInt8], Double)] = [
      ([200, 30, 30], 40 / 70.0), ([30, 160, 60], 20 / 70.0), ([30, 60, 200], 10 / 70.0),
    ]
    #expect(palette.colours.map { [$0.red, $0.green, $0.blue] } == expected.map(\.0))
    #expect(palette.colours.map(\.share) == expected.map(\.1))
    #expect(palette.dominant == palette.colours.first)
  }

  @Test func `colours that look alike are one`() throws {
    let samples = (0..<100).flatMap { pixel -> [UInt8] in [UInt8(100 + pixel % 4), 120, 140, 255] }
    let palette = ColourPalette(
      try #require(SmallPicture(width: 10, height: 10, samples: samples)))
    #expect(palette.colours.count == 1 && palette.dominant?.share == 1)
    #expect(palette.dominant?.red == 102 && palette.dominant?.green == 120)
  }

  @Test func `a palette has at most six colours, and is the same every time`() throws {
    let picture = try picture(64, 48)
    let palette = ColourPalette(picture)
    #expect((2...PixelFacts.maximumColourCount).contains(palette.colours.count))
    #expect(abs(palette.colours.reduce(0) { $0 + $1.share } - 1) < 1e-9)
    #expect(palette.colours.map(\.share) == palette.colours.map(\.share).sorted(by: >))
    for _ in 0..<3 { #expect(ColourPalette(picture) == palette) }
  }

  @Test func `a transparent picture has no colours`() throws {
    #expect(ColourPalette(try flat([200, 30, 30, 0], 4, 4)).dominant == nil)
  }

  @Test func `distances between colours are those that are seen`() {
    let white = PerceptualColour([255, 255, 255])
    #expect(abs(white.lightness - 1) < 1e-6 && abs(white.a) < 1e-6 && abs(white.b) < 1e-6)
    #expect(PerceptualColour([0, 0, 0]).lightness == 0)
    // Published: red has 0.628, 0.225, 0.126.
    let red = PerceptualColour([255, 0, 0])
    #expect(abs(red.lightness - 0.628) < 1e-3 && abs(red.a - 0.225) < 1e-3)
    #expect(abs(red.b - 0.126) < 1e-3)
  }
}
