import CVips
import ImgModel
import SeededRandom
import TestPictures
import Testing

@testable import ImgDecode

/// From profiles that are made of curves and a matrix to sRGB.
struct ColourConversionTests {
  private let fixture = ThumbnailFixture()

  /// lcms rounds light to 14 bits before it mixes it, which tells in the darkest levels.
  @Test(arguments: [
    ColourProfile.rgb(primaries: .displayP3, curve: .sRGB),
    ColourProfile.rgb(primaries: .displayP3, curve: .sampledSRGB),
    ColourProfile.rgb(primaries: .sRGB, curve: .gamma(1.8)),
    ColourProfile.rgb(primaries: .displayP3, curve: .gamma(2.2)),
  ])
  func `levels become those that lcms has, but for rounding`(profile: [UInt8]) throws {
    #expect(ICCProfile(profile)?.conversion != nil)
    var random = SeededGenerator(seed: 1)
    let side: UInt32 = 64
    let levels = (0..<Int(side * side) * 3).map { _ in UInt8.random(in: 0...255, using: &random) }
    let bytes = try unsafe Image.filled(
      width: side, height: side, bandCount: 3, interpretation: VIPS_INTERPRETATION_sRGB
    ) { unsafe $0.update(from: levels, count: levels.count) }
    bytes.setProfile(profile)
    let expected = try unsafe Image.result(of: "profile") {
      unsafe img_vips_icc_transform_to_srgb(bytes.pointer, &$0, VIPS_INTENT_RELATIVE, 8)
    }.raster()
    let converted = try bytes.inSRGB(.eight).raster()
    #expect(converted.differences(from: expected).greatest <= 2)
    #expect(converted.differences(from: expected).mean < 0.05)

    let words = try unsafe Image.filled(
      with: UInt16.self, width: side, height: side, bandCount: 3,
      interpretation: VIPS_INTERPRETATION_RGB16
    ) { unsafe $0.update(from: levels.map { UInt16($0) * 257 }, count: levels.count) }
    words.setProfile(profile)
    let deep = try words.inSRGB(.sixteen).inUpperBytes().raster()
    #expect(deep.differences(from: converted).greatest <= 1)
  }

  @Test func `transparency stays as it is`() throws {
    let profile = ColourProfile.rgb(primaries: .displayP3, curve: .sRGB)
    let conversion = try #require(ICCProfile(profile)?.conversion)
    var pixels: [UInt8] = [200, 60, 60, 0, 200, 60, 60, 128, 255, 255, 255, 255]
    conversion.convert(&pixels, bandCount: 4)
    #expect(pixels[3] == 0 && pixels[7] == 128 && Array(pixels[8...]) == [255, 255, 255, 255])
    #expect(Array(pixels[0..<3]) == Array(pixels[4..<7]) && pixels[0] > 210)
  }

  /// Its light is without bound between two levels of 8 bits.
  @Test func `a hostile curve does no harm`() throws {
    let curve = ToneCurve.parameters(g: -1, a: 1, b: -0.500_3, c: 0, d: 0.500_1)
    let profile = ICCProfile.rgb(RGBSpace.sRGB.colorants, curve)
    for level in stride(from: UInt16(32_770), through: 32_790, by: 1) {
      let image = try unsafe Image.filled(
        with: UInt16.self, width: 1, height: 1, bandCount: 3,
        interpretation: VIPS_INTERPRETATION_RGB16
      ) { unsafe $0.update(repeating: level, count: 3) }
      image.setProfile(profile)
      #expect(try image.inSRGB(.sixteen).inMemory().bandCount == 3)
    }
  }

  @Test func `the profile of a WebP counts if its header announces it, and ends with the file`()
    throws
  {
    let profile = ColourProfile.rgb(primaries: .displayP3, curve: .sRGB)
    let announced = try fixture.maker.card(index: 2, format: .webp, profile: profile)
    let plain = try fixture.raster(of: fixture.maker.card(index: 2, format: .webp))
    #expect(try fixture.raster(of: announced).bytes != plain.bytes)
    // The header of the file and that of the chunk VP8X come before the flags.
    var unannounced = announced
    unannounced[20] &= ~0x20
    #expect(try fixture.raster(of: unannounced).meanSquaredError(against: plain) < 30)
    var wider = announced
    wider[24] &+= 1
    #expect(throws: Failure.self) { try fixture.raster(of: wider) }
    let chunk = try #require(announced.indices.first { announced[$0...].starts(with: "ICCP".utf8) })
    for count in chunk..<chunk + profile.count {
      #expect(throws: Failure.self) { try fixture.raster(of: Array(announced.prefix(count))) }
    }
  }

  @Test func `only curves and a balanced matrix are converted by tables`() {
    func conversion(_ profile: [UInt8]) -> ColourConversion? { ICCProfile(profile)?.conversion }
    #expect(conversion(ColourProfile.rgb(primaries: .sRGB, curve: .sRGB)) == nil)
    #expect(conversion(ColourProfile.swappedPerceptual) == nil)
    #expect(conversion(ColourProfile.gray(gamma: 2.2)) == nil)
    // Levels of linear light are evened before they are scaled.
    #expect(conversion(ColourProfile.rgb(primaries: .displayP3, curve: .gamma(1))) == nil)
    var damaged = ColourProfile.rgb(primaries: .displayP3, curve: .sRGB)
    let kind = Array("XYZ \0\0\0\0".utf8)
    for place in damaged.indices where damaged[place...].starts(with: kind) { damaged[place] = 0 }
    #expect(conversion(damaged) == nil)
    let unbalanced = ICCProfile.rgb(
      Matrix3(RGBSpace.sRGB.colorants.columns.map { $0 * 2 }), .power(2.2))
    #expect(conversion(unbalanced) == nil)
  }

  /// Both are converted: a JPEG's small planes, and the pixels of a PNG.
  @Test(arguments: JPEGSampling.allCases)
  func `a photograph in Display P3 looks the same by planes and by pixels`(
    sampling: JPEGSampling
  ) throws {
    let raster = Raster(width: 500, height: 376) { x, y in
      Raster.Pixel(UInt8(40 + x * 200 / 500), UInt8(200 - y * 150 / 376), UInt8((x + y) / 5))
    }
    let profile = ColourProfile.rgb(primaries: .displayP3, curve: .sRGB)
    let jpeg = JPEGSegments.insert(
      Array("ICC_PROFILE\0".utf8) + [1, 1] + profile, marker: 0xE2,
      into: fixture.maker.jpeg(of: raster, sampling: sampling))
    let made = try [ImageVariant.Format.jpeg, .png].map { format in
      let variant = try Variant(ImageVariant(width: 200, height: 200, format: format, quality: 95))
      return try fixture.thumbnailer.thumbnail(of: jpeg, as: variant)
    }
    #expect(made.map(\.source.decodePath) == [.planar, .general])
    let rasters = try made.map { try fixture.reader.raster(of: $0.bytes) }
    #expect(rasters[0].meanSquaredError(against: rasters[1]) < 2 * Raster.fortyDecibels)
    let hashes = made.map(\.thumbHash.bytes)
    #expect(zip(hashes[0], hashes[1]).count { $0 != $1 } <= 2)
  }
}
