import FoundationEssentials
import ImgFacts
import ImgModel
import TestPictures
import Testing

@testable import ImgDecode

/// Colours: what a profile says, and what the samples of a format mean without one.
@Suite(.timeLimit(.minutes(20))) struct ColourTests {
  private let fixture = ThumbnailFixture()

  private static let png = Result {
    try Variant(ImageVariant(width: 256, height: 256, format: .png))
  }

  private func raster(of picture: [UInt8]) throws -> Raster {
    return try fixture.raster(of: picture, as: Self.png.get())
  }

  @Test(arguments: [PictureFormat.grayJPEG, .grayTIFF])
  func `a gray picture with a gray profile stays gray and opaque`(format: PictureFormat) throws {
    let plain = try raster(of: fixture.maker.card(index: 2, format: format))
    // About the tone curve of sRGB, so that hardly anything changes.
    let profiled = try raster(
      of: fixture.maker.card(index: 2, format: format, profile: ColourProfile.gray(gamma: 2.2)))
    for (x, y) in [(5, 5), (250, 5), (5, 187), (250, 187)] {
      let pixel = profiled[x, y]
      #expect(pixel.resembles(plain[x, y], tolerance: 6), "\(pixel) for \(plain[x, y])")
      #expect(pixel.red == pixel.green && pixel.green == pixel.blue && pixel.alpha == 255)
    }
  }

  @Test(arguments: [PictureFormat.grayJPEG, .grayTIFF])
  func `a gray profile is obeyed`(format: PictureFormat) throws {
    let plain = try raster(of: fixture.maker.card(index: 2, format: format))
    let profiled = try raster(
      of: fixture.maker.card(index: 2, format: format, profile: ColourProfile.gray(gamma: 1)))
    #expect(Int(profiled[5, 5].red) > Int(plain[5, 5].red) + 30)
  }

  @Test(arguments: [PictureFormat.jpeg, .tiff])
  func `a profile with one intent's table is used with that intent`(format: PictureFormat) throws {
    let picture = try raster(
      of: fixture.maker.card(index: 2, format: format, profile: ColourProfile.swappedPerceptual))
    let corner = picture[5, 5]
    #expect(corner.blue > 150 && corner.red < 100, "\(corner)")
  }

  @Test func `a profile for other pixels is ignored`() throws {
    let plain = try raster(of: fixture.maker.card(index: 2, format: .png))
    let profiled = try raster(
      of: fixture.maker.card(index: 2, format: .png, profile: ColourProfile.gray(gamma: 1)))
    #expect(profiled.bytes == plain.bytes)
  }

  @Test func `CMYK with transparency has the colours of CMYK`() throws {
    let opaque = try raster(
      of: fixture.maker.card(index: 2, width: 256, height: 192, format: .cmykTIFF))
    let transparent = try raster(
      of: fixture.maker.card(
        index: 2, width: 256, height: 192, format: .cmykTIFF, hasAlpha: true))
    for (x, y) in [(5, 5), (250, 5), (5, 187), (250, 187)] {
      #expect(transparent[x, y].resembles(opaque[x, y], tolerance: 4))
    }
    #expect(transparent[128, 180].alpha < 10)
  }

  @Test func `the canvas around the first frame of an animation is transparent`() throws {
    // A canvas of 4 × 4 with one frame of 2 × 2 at (1, 1) in the only colour, red.
    let canvas: [UInt8] = Array("GIF89a".utf8) + [4, 0, 4, 0, 0x80, 0, 0]
    let colours: [UInt8] = [200, 0, 0, 0, 0, 0]
    let frame: [UInt8] = [0x2C, 1, 0, 1, 0, 2, 0, 2, 0, 0]
    // LZW in codes of three bits: clear, four pixels of colour 0 in codes of three and four bits,
    // end.
    let data: [UInt8] = [2, 3, 0x04, 0x00, 0x05, 0]
    let picture = try raster(of: canvas + colours + frame + data + [0x3B])
    #expect(picture[0, 0].alpha == 0 && picture[3, 3].alpha == 0)
    #expect(picture[1, 1] == Raster.Pixel(200, 0, 0) && picture[2, 2] == Raster.Pixel(200, 0, 0))
  }

  // MARK: - Gray of video

  /// A file whose only item has these properties.
  private func file(properties: [[UInt8]]) -> [UInt8] {
    func box(_ type: String, _ payload: [UInt8]) -> [UInt8] {
      let count = payload.count + 8
      return [0, 0, UInt8(count >> 8), UInt8(count & 0xFF)] + Array(type.utf8) + payload
    }
    let container = box(
      "ipco",
      properties.flatMap { box(String(decoding: $0[..<4], as: UTF8.self), Array($0[4...])) })
    return box("ftyp", Array("avif".utf8) + [0, 0, 0, 0])
      + box("meta", [0, 0, 0, 0] + box("iprp", container))
  }

  @Test func `gray from 16 to 235 is told by the stream and by the file`() {
    // Reduced header of a still of profile 0: level 0, sides of 6 bits (16 × 16), no tool, 8 bits,
    // gray, no description of colours, then the bit of the range.
    func stream(isGray: Bool, isFull: Bool) -> [UInt8] {
      var bits = "00011" + "00000" + "0101" + "0101" + "001111" + "001111" + "000000" + "0"
      bits += (isGray ? "1" : "0") + "0" + (isFull ? "1" : "0")
      bits += String(repeating: "0", count: 8 - bits.count % 8)
      let bytes = stride(from: 0, to: bits.count, by: 8).map { start in
        UInt8(bits.dropFirst(start).prefix(8), radix: 2) ?? 0
      }
      return Array("av1C".utf8) + [0x81, 0, isGray ? 0x1C : 0x0C, 0, 0x0A, UInt8(bytes.count)]
        + bytes
    }
    func nclx(isFull: Bool) -> [UInt8] {
      Array("colrnclx".utf8) + [0, 1, 0, 13, 0, 6, isFull ? 0x80 : 0]
    }
    #expect(AV1Gray.isLimited(in: file(properties: [stream(isGray: true, isFull: false)])))
    #expect(!AV1Gray.isLimited(in: file(properties: [stream(isGray: true, isFull: true)])))
    #expect(!AV1Gray.isLimited(in: file(properties: [stream(isGray: false, isFull: false)])))
    #expect(
      AV1Gray.isLimited(
        in: file(properties: [stream(isGray: true, isFull: true), nclx(isFull: false)])))
    #expect(
      !AV1Gray.isLimited(
        in: file(properties: [stream(isGray: true, isFull: false), nclx(isFull: true)])))
    #expect(!AV1Gray.isLimited(in: []))
  }
}

/// Colours that a file describes by code points, or by an exponent and primaries, in place of a profile.
@Suite(.timeLimit(.minutes(20))) struct DescribedColourTests {
  private let fixture = ThumbnailFixture()

  private func raster(
    of picture: [UInt8], side: Int = 32, kept: ImageVariant.KeptData = .none
  ) throws -> Raster {
    let variant = try Variant(ImageVariant(width: side, height: side, format: .png, keptData: kept))
    return try fixture.raster(of: picture, as: variant)
  }

  private func differences(_ sample: ColourSample, side: Int) throws -> (
    mean: Double, greatest: Int
  ) {
    try raster(of: sample.bytes(), side: side)
      .differences(from: raster(of: ColourSample.standard.bytes(), side: side))
  }

  @Test(arguments: ColourSample.ofScreens)
  func `a picture looks like the same in sRGB`(sample: ColourSample) throws {
    for side in [24, 64] {
      let (mean, greatest) = try differences(sample, side: side)
      #expect(mean <= 3 && greatest <= 16, "\(side): \(mean), \(greatest)")
    }
  }

  @Test(arguments: ColourSample.ofHDR)
  func `up to white, HDR looks like the same in sRGB`(sample: ColourSample) throws {
    for side in [24, 64] {
      let (mean, greatest) = try differences(sample, side: side)
      #expect(mean <= 6 && greatest <= 16, "\(side): \(mean), \(greatest)")
    }
  }

  /// In AVIF by its property, in HEIC by the parameters of its stream, in JPEG XL by its header.
  @Test(arguments: ["avif", "heic", "png", "jxl"])
  func `facts name what a file says`(suffix: String) throws {
    let picture = WholeBytes(try ColourSample("hlg.\(suffix)").bytes())
    let facts = try PictureFacts.reading(picture, .header)
    let colours = try #require(facts.colours)
    #expect(colours.origin == .codePoints && colours.isHDR == true)
    #expect(colours.primaries == "BT.2020" && colours.transfer == "ARIB STD-B67 (HLG)")
    #expect(colours.range == "full")
    #expect(facts.bitsPerSample == (["avif", "heic"].contains(suffix) ? 10 : 16))
    let matrices = ["avif": "BT.2020, non-constant luminance", "heic": "BT.601"]
    #expect(colours.matrix == matrices[suffix, default: "identity"])
  }

  // MARK: - Light brighter than white

  @Test func `a ramp to 4,000 cd per square metre grows and keeps its hue`() throws {
    let ramp = try raster(of: ColourSample("ramp.png").bytes(), side: 64)
    for (row, colour) in [(4, "gray"), (12, "red"), (20, "blue")] {
      let pixels = (0..<ramp.width).map { ramp[$0, row] }
      for (before, after) in zip(pixels, pixels.dropFirst()) {
        #expect(before.red <= after.red && before.green <= after.green, "\(colour)")
        #expect(before.blue <= after.blue, "\(colour)")
      }
      let brightest = pixels[ramp.width - 1]
      switch colour {
      case "gray": #expect(brightest == Raster.Pixel(255, 255, 255))
      case "red":
        // 0.2 and 0.1 of the light of red, as in the whole row.
        #expect(brightest.resembles(Raster.Pixel(255, 124, 89), tolerance: 3), "\(brightest)")
      default:
        #expect(brightest.resembles(Raster.Pixel(89, 124, 255), tolerance: 3), "\(brightest)")
      }
    }
    // No step between the light that stays and the light that is compressed.
    let grays = (0..<ramp.width).map { Int(ramp[$0, 4].red) }
    #expect(zip(grays, grays.dropFirst()).allSatisfy { $1 - $0 <= 14 })
  }

  @Test func `light above white is compressed, and white hardly darker`() throws {
    let light = try #require(
      BrightLight(ColourCodePoints(primaries: 9, transfer: 16, matrix: 0, isFullRange: true)))
    let levels = light.extendedLevels(upTo: 65_535, count: 65_536)
    // PQ of 203 and 4,000 cd/m².
    let pixels = [0.580_69, 0.902_57].map { level in
      [UInt16](repeating: levels[Int(level * 65_535)], count: 3)
    }
    func shown(_ levels: [UInt16]) -> [UInt8] {
      var samples = [UInt8](repeating: 0, count: levels.count)
      var span = samples.mutableSpan
      light.show(levels.span, bandCount: 3, in: &span)
      return samples
    }
    let both = shown(pixels[0] + pixels[1])
    #expect(both[0] >= 244 && both[0] < 255 && both[3] == 255, "\(both)")
    // Alone, white has nothing above it.
    #expect(shown(pixels[0])[0] >= 254)
  }

  /// The kernel of a resize gives a rim to each step, and this one is 100 times as high as that from gray to white.
  @Test func `a lamp has no dark rim`() throws {
    let description = PNGChunk("cICP", [9, 16, 0, 1])
    // PQ of 40 and of 4,000 cd/m².
    let (wall, lamp) = (Raster.Pixel(106, 106, 106), Raster.Pixel(230, 230, 230))
    let scene = Raster(width: 256, height: 256) { x, y in
      (x - 128) * (x - 128) + (y - 128) * (y - 128) < 50 * 50 ? lamp : wall
    }
    var chunks = PNGChunk.chunks(of: try fixture.maker.encode(scene, as: .png))
    chunks.insert(description, at: 1)
    let shown = try raster(of: PNGChunk.file(chunks), side: 31)
    let levels = (0..<31).map { Int(shown[$0, 15].red) }
    #expect(levels[15] == 255)
    #expect(levels.allSatisfy { $0 >= levels[0] - 20 }, "\(levels)")
  }

  /// Between what Chromium shows, which leaves out all light that no screen can take away, and gray.
  @Test(
    arguments: [
      ([1, 0, 0], Raster.Pixel(255, 0, 20)), ([0, 1, 0], Raster.Pixel(0, 255, 20)),
      ([0, 0, 1], Raster.Pixel(0, 10, 250)), ([1, 1, 0], Raster.Pixel(255, 250, 0)),
    ] as [([Int], Raster.Pixel)])
  func `a strong colour stays strong where sRGB does not have it`(
    channels: [Int], expected: Raster.Pixel
  ) throws {
    let light = try #require(
      BrightLight(ColourCodePoints(primaries: 9, transfer: 16, matrix: 0, isFullRange: true)))
    let levels = light.extendedLevels(upTo: 65_535, count: 65_536)
    // PQ of 203 cd/m².
    let pixel = channels.map { $0 == 0 ? 0 : levels[Int(0.580_69 * 65_535)] }
    var samples = [UInt8](repeating: 0, count: 3)
    var span = samples.mutableSpan
    light.show(pixel.span, bandCount: 3, in: &span)
    let shown = Raster.Pixel(samples[0], samples[1], samples[2])
    #expect(shown.resembles(expected, tolerance: 20), "\(shown)")
  }

  /// 128 of 255 are 94 cd/m² in PQ and 51 in HLG, of a white of 203.
  @Test(arguments: [(UInt8(16), UInt8(181)), (18, 137)])
  func `gray HDR becomes a JPEG in the colours of sRGB`(transfer: UInt8, level: UInt8) throws {
    let chunks = [PNGChunk("cICP", [9, transfer, 0, 1])]
    let gray = try picture(chunks, of: .init(128, 128, 128), as: .grayPNG)
    let variant = try Variant(ImageVariant(width: 8, height: 8, format: .jpeg))
    let shown = try fixture.raster(of: gray, as: variant)[4, 4]
    #expect(shown.resembles(.init(level, level, level), tolerance: 3), "\(shown)")
  }

  @Test func `HDR is not kept with a profile`() throws {
    let picture = try ColourSample("pq.png").bytes()
    let kept = try raster(of: picture, side: 64, kept: ImageVariant.KeptData(profile: true))
    #expect(try kept.bytes == raster(of: picture, side: 64).bytes)
  }

  @Test func `a kept description becomes a profile`() throws {
    let variant = try Variant(
      ImageVariant(
        width: 64, height: 64, format: .png, keptData: ImageVariant.KeptData(profile: true)))
    for name in ["p3.avif", "p3.png", "linear.png", "gamma28.png"] {
      let made = try fixture.thumbnailer.thumbnail(of: ColourSample(name).bytes(), as: variant)
      let (mean, greatest) = try raster(of: made.bytes, side: 64)
        .differences(from: raster(of: ColourSample.standard.bytes(), side: 64))
      #expect(mean <= 3 && greatest <= 16, "\(name): \(mean), \(greatest)")
      let facts = try PictureFacts.reading(WholeBytes(made.bytes), .all)
      #expect(facts.colours?.origin == .profile, "\(name)")
    }
  }

  // MARK: - PNG

  /// A picture of one colour with these chunks behind its header.
  private func picture(
    _ chunks: [PNGChunk], of pixel: Raster.Pixel = original, as format: PictureFormat = .png
  ) throws -> [UInt8] {
    let raster = Raster(width: 8, height: 8) { _, _ in pixel }
    var all = PNGChunk.chunks(of: try fixture.maker.encode(raster, as: format))
    all.insert(contentsOf: chunks, at: 1)
    return PNGChunk.file(all)
  }

  private func colour(_ chunks: PNGChunk...) throws -> Raster.Pixel {
    try raster(of: picture(chunks))[4, 4]
  }

  private func gamma(_ value: Int) -> PNGChunk { PNGChunk("gAMA", PNGChunk.bigEndian(value)) }

  /// White, red, green and blue in units of 1/100,000.
  private func primaries(_ places: [Int]) -> PNGChunk {
    PNGChunk("cHRM", places.flatMap { PNGChunk.bigEndian($0) })
  }

  private static let displayP3 = [31_270, 32_900, 68_000, 32_000, 26_500, 69_000, 15_000, 6_000]
  private static let original = Raster.Pixel(188, 120, 60)

  /// The right values are those that Chromium shows.
  @Test func `gAMA and cHRM are obeyed`() throws {
    #expect(try colour(gamma(100_000)).resembles(.init(222, 181, 133), tolerance: 2))
    #expect(try colour(gamma(55_556)).resembles(.init(200, 139, 77), tolerance: 2))
    #expect(
      try colour(gamma(45_455), primaries(Self.displayP3))
        .resembles(.init(201, 117, 39), tolerance: 3))
    let gray = try raster(of: picture([gamma(100_000)], of: .init(128, 128, 128), as: .grayPNG))[
      4, 4]
    #expect(gray.resembles(.init(188, 188, 188), tolerance: 2))
  }

  @Test func `gAMA of a screen alone, cHRM alone and senseless numbers change nothing`() throws {
    #expect(try colour(gamma(45_455)) == Self.original)
    #expect(try colour(primaries(Self.displayP3)) == Self.original)
    #expect(try colour(gamma(0)) == Self.original)
    #expect(try colour(gamma(1)) == Self.original)
    let ofNoLights = try colour(gamma(45_455), primaries([Int](repeating: 0, count: 8)))
    #expect(ofNoLights != .init(0, 0, 0))
    // A white in whose light an eye sees next to nothing, between primaries that mix to it.
    let dark = [9_612, 13_990, 60_000, 30_000, 0, 43_990, 612, 200]
    #expect(try colour(gamma(45_455), primaries(dark)) == ofNoLights)
  }

  @Test func `cICP goes before a profile, a profile before sRGB, sRGB before gAMA`() throws {
    let sRGB = PNGChunk("sRGB", [0])
    let cicp = { (numbers: [UInt8]) in PNGChunk("cICP", numbers) }
    #expect(try colour(sRGB, gamma(100_000)) == Self.original)
    let linear = Raster.Pixel(222, 181, 133)
    #expect(try colour(cicp([1, 8, 0, 1]), sRGB, gamma(45_455)).resembles(linear, tolerance: 2))
    // What no PNG may have is as if it were not there.
    #expect(try colour(cicp([9, 16, 9, 1])) == Self.original)
    #expect(try colour(cicp([2, 2, 0, 1]), gamma(100_000)).resembles(linear, tolerance: 2))

    let raster = Raster(width: 8, height: 8) { _, _ in Self.original }
    let profiled = PNGChunk.chunks(of: try fixture.maker.encode(raster, as: .displayP3PNG))
    let converted = try self.raster(of: PNGChunk.file(profiled))[4, 4]
    #expect(converted != Self.original)
    func file(_ chunk: PNGChunk) -> [UInt8] {
      var all = profiled
      all.insert(chunk, at: 1)
      return PNGChunk.file(all)
    }
    #expect(try self.raster(of: file(cicp([1, 13, 0, 1])))[4, 4] == Self.original)
    #expect(try self.raster(of: file(gamma(100_000)))[4, 4] == converted)
  }

  /// As Chromium shows it: by an exponent of 2.4.
  @Test(arguments: [1, 6, 14, 15] as [UInt8])
  func `levels of television in a PNG are those of a screen`(transfer: UInt8) throws {
    let chunk = PNGChunk("cICP", [1, transfer, 0, 1])
    #expect(try colour(chunk).resembles(.init(184, 113, 49), tolerance: 2))
  }

  @Test func `levels from 16 to 235 are widened`() throws {
    let chunk = PNGChunk("cICP", [1, 13, 0, 0])
    let white = try raster(of: picture([chunk], of: .init(235, 126, 16)))[4, 4]
    #expect(white.resembles(.init(255, 128, 0), tolerance: 2), "\(white)")
  }

  // MARK: - Profiles

  @Test(arguments: [PictureFormat.jpeg, .png])
  func `a profile with code points of PQ is HDR`(format: PictureFormat) throws {
    let codePoints = ColourCodePoints(primaries: 1, transfer: 16, matrix: 0, isFullRange: true)
    let profile = ICCProfile.rgb(RGBSpace.sRGB.colorants, .sRGB, codePoints: codePoints)
    let picture = try fixture.maker.card(index: 2, format: format, profile: profile)
    // 148 of 255 is about white.
    let plain = try raster(of: fixture.maker.card(index: 2, format: format))
    #expect(try raster(of: picture).bytes != plain.bytes)
  }

  @Test func `a profile of one's own says what it was made of`() throws {
    let made = try #require(ICCProfile(ICCProfile.rgb(RGBSpace.sRGB.colorants, .sRGB)))
    #expect(made.isSRGB && made.codePoints == nil && made.intent == .relativeColorimetric)
    let gamma = try #require(ICCProfile(ICCProfile.rgb(RGBSpace.sRGB.colorants, .power(2.2))))
    #expect(!gamma.isSRGB && gamma.evened == nil)
    let linear = try #require(ICCProfile(ICCProfile.gray(.power(1))))
    #expect(linear.colourSpace == .gray && linear.evened != nil)
  }
}

/// A photograph that `Samples/make.py` has described in many ways, by tools and formulas of others.
struct ColourSample: CustomTestStringConvertible {
  let name: String

  init(_ name: String) { self.name = name }

  var testDescription: String { name }

  func bytes() throws -> [UInt8] {
    let directory = URL(filePath: #filePath).deletingLastPathComponent()
    return Array(try Data(contentsOf: directory.appending(path: "Samples/\(name)")))
  }

  /// The same in sRGB.
  static let standard = ColourSample("srgb.png")

  /// Without light brighter than white.
  static let ofScreens =
    ["p3", "bt2020", "bt709", "linear", "gamma22", "gamma28"].flatMap {
      [ColourSample("\($0).avif"), ColourSample("\($0).png")]
    }
    + ["p3.heic", "bt2020.heic", "p3.jxl", "bt2020.jxl", "bt709.jxl", "linear.jxl"].map {
      ColourSample($0)
    }

  /// With white at 203 cd/m², and nothing above it.
  static let ofHDR = ["pq", "hlg"].flatMap { way in
    ["avif", "heic", "png", "jxl"].map { ColourSample("\(way).\($0)") }
  }
}

extension Raster {
  /// The mean and the greatest difference of a channel.
  func differences(from other: Raster) -> (mean: Double, greatest: Int) {
    guard (width, height) == (other.width, other.height) else { return (255, 255) }
    let all = zip(bytes, other.bytes).map { abs(Int($0) - Int($1)) }
    return (Double(all.reduce(0, +)) / Double(width * height * 3), all.max() ?? 0)
  }
}

/// Which profiles are known to say nothing new.
struct SRGBProfileTests {
  private func isSRGB(_ bytes: [UInt8]) -> Bool { ICCProfile(bytes)?.isSRGB == true }

  @Test func `a profile with the curve of sRGB as parameters is sRGB`() {
    #expect(isSRGB(ColourProfile.rgb(primaries: .sRGB, curve: .sRGB)))
  }

  @Test func `a profile with the curve of sRGB as samples is sRGB`() {
    #expect(isSRGB(ColourProfile.rgb(primaries: .sRGB, curve: .sampledSRGB)))
  }

  @Test func `a profile with another curve or other primaries is not sRGB`() {
    #expect(!isSRGB(ColourProfile.rgb(primaries: .sRGB, curve: .gamma(2.2))))
    #expect(!isSRGB(ColourProfile.rgb(primaries: .displayP3, curve: .sRGB)))
  }

  @Test func `a profile with tables is not sRGB`() {
    #expect(!isSRGB(ColourProfile.swappedPerceptual))
  }

  @Test func `a gray profile is not sRGB`() {
    #expect(!isSRGB(ColourProfile.gray(gamma: 2.2)))
  }

  @Test func `no cut of a profile is sRGB, and none is read beyond its end`() {
    let bytes = ColourProfile.rgb(primaries: .sRGB, curve: .sRGB)
    // The last tag ends with the profile.
    for count in 0..<bytes.count { #expect(!isSRGB(Array(bytes.prefix(count)))) }
  }
}
