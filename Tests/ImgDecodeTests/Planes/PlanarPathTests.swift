import ImgModel
import TestPictures
import Testing

@testable import ImgDecode

/// JPEG to JPEG, where planes of luma and chroma are resized, against the same as PNG, where pixels
/// are.
@Suite(.timeLimit(.minutes(20))) struct PlanarPathTests {
  private let fixture: ThumbnailFixture

  init() throws {
    fixture = try ThumbnailFixture()
  }

  /// Soft light with a colour edge in each direction, where a shift of half a sample would show.
  private func picture(width: Int, height: Int) -> Raster {
    Raster(width: width, height: height) { x, y in
      let isRight = 5 * x > 3 * width
      let isLow = 5 * y > 2 * height
      return Raster.Pixel(
        isRight ? 220 : 60, UInt8(60 + 120 * y / height), isLow ? 200 : UInt8(40 + 80 * x / width))
    }
  }

  /// The mean squared error between the thumbnails of both paths.
  private func difference(
    _ picture: [UInt8], width: Int, height: Int, mode: Variant.Mode = .fit,
    crop: Crop? = nil, quality: Int = 100
  ) throws -> Double {
    let raster = { (format: Variant.Format) in
      let variant = try Variant(
        width: width, height: height, mode: mode, crop: crop, format: format,
        quality: quality)
      return try fixture.reader.raster(
        of: fixture.thumbnailer.thumbnail(of: picture, as: variant).bytes)
    }
    return try raster(.jpeg).meanSquaredError(against: raster(.png))
  }

  private func path(
    of picture: [UInt8], format: Variant.Format = .auto, isLenient: Bool = false
  ) throws -> DecodePath {
    let variant = try Variant(width: 64, height: 64, format: format)
    return try fixture.thumbnailer.thumbnail(of: picture, as: variant, isLenient: isLenient)
      .source.decodePath
  }

  @Test func `a JPEG in standard colours that becomes a JPEG takes the planar path`() throws {
    let plain = try fixture.maker.card(index: 1, format: .jpeg)
    #expect(try path(of: plain) == .planar)
    #expect(try path(of: plain, format: .jpeg, isLenient: true) == .planar)
    #expect(try path(of: fixture.maker.card(index: 1, format: .grayJPEG)) == .planar)
    let profiled = try fixture.maker.card(
      index: 1, format: .jpeg, profile: ColourProfile.rgb(primaries: .sRGB, curve: .sRGB))
    #expect(try path(of: profiled) == .planar)
  }

  @Test func `all else takes the general path`() throws {
    let plain = try fixture.maker.card(index: 1, format: .jpeg)
    #expect(try path(of: plain, format: .webp) == .general)
    #expect(try path(of: fixture.maker.card(index: 1, format: .cmykJPEG)) == .general)
    #expect(try path(of: fixture.maker.card(index: 1, format: .png)) == .general)
    let profiled = try fixture.maker.card(
      index: 1, format: .jpeg, profile: ColourProfile.rgb(primaries: .displayP3, curve: .sRGB))
    #expect(try path(of: profiled) == .general)
    let cut = Array(plain.prefix(plain.count * 3 / 4))
    #expect(try path(of: cut, isLenient: true) == .general)
  }

  @Test(arguments: JPEGSampling.allCases, [100, 80])
  func `the planar path shows what the general path shows`(
    sampling: JPEGSampling, quality: Int
  ) throws {
    for (width, height) in [(401, 300), (300, 401), (900, 640), (2_049, 1_537)] {
      let jpeg = fixture.maker.jpeg(
        of: picture(width: width, height: height), sampling: sampling)
      let difference = try difference(jpeg, width: 200, height: 200, quality: quality)
      #expect(difference < 2 * Raster.fortyDecibels, "\(width) × \(height): \(difference)")
    }
  }

  @Test(arguments: 1...8)
  func `a turned picture of an odd size is the same on both paths`(orientation: Int) throws {
    let jpeg = fixture.maker.jpeg(
      of: picture(width: 333, height: 251), sampling: .yuv420,
      orientation: orientation)
    for crop in [nil, Crop.centre, .point(x: .zero, y: Thousandths(count: 900))] {
      #expect(
        try difference(
          jpeg, width: 101, height: 67, mode: crop == nil ? .fit : .fill, crop: crop)
          < 2 * Raster.fortyDecibels)
    }
    for mode in [Variant.Mode.auto, .fillDown] {
      #expect(
        try difference(jpeg, width: 400, height: 150, mode: mode, crop: .centre)
          < 2 * Raster.fortyDecibels)
    }
  }

  @Test func `a picture that fits is not resized`() throws {
    for sampling in JPEGSampling.allCases {
      let jpeg = fixture.maker.jpeg(of: picture(width: 61, height: 43), sampling: sampling)
      let difference = try difference(jpeg, width: 256, height: 256)
      // Libjpeg repeats each sample of 4:1:1 four times, where planes are interpolated.
      let limit = (sampling == .yuv411 ? 4 : 2) * Raster.fortyDecibels
      #expect(difference < limit, "\(sampling): \(difference)")
    }
  }

  @Test func `a picture of a single pixel is whole`() throws {
    for sampling in JPEGSampling.allCases {
      let jpeg = fixture.maker.jpeg(of: picture(width: 1, height: 1), sampling: sampling)
      #expect(try difference(jpeg, width: 256, height: 256) < Raster.fortyDecibels)
    }
  }

  @Test(arguments: [(2_000, 10), (10, 2_000)])
  func `a thumbnail of a single row or column has the right colours`(
    width: Int, height: Int
  ) throws {
    // Red turns into blue across the short side.
    let stripes = Raster(width: width, height: height) { x, y in
      let share = UInt8(width > height ? 255 * y / height : 255 * x / width)
      return Raster.Pixel(255 - share, 60, share)
    }
    let jpeg = fixture.maker.jpeg(of: stripes, sampling: .yuv420)
    let difference = try difference(jpeg, width: 200, height: 200, quality: 89)
    #expect(difference < 20 * Raster.fortyDecibels, "\(difference)")
  }

  @Test func `a progressive picture is the same on both paths`() throws {
    let jpeg = fixture.maker.jpeg(
      of: picture(width: 700, height: 500), sampling: .yuv420,
      isProgressive: true)
    #expect(try difference(jpeg, width: 128, height: 128) < 2 * Raster.fortyDecibels)
  }

  @Test func `a gray picture stays gray`() throws {
    let jpeg = try fixture.maker.card(index: 2, width: 321, height: 241, format: .grayJPEG)
    #expect(try difference(jpeg, width: 200, height: 200) < Raster.fortyDecibels)
  }

  @Test func `a picture that shrinks more on one side than on the other is the same`() throws {
    let jpeg = fixture.maker.jpeg(
      of: picture(width: 1_900, height: 40), sampling: .yuv420)
    #expect(
      try difference(jpeg, width: 20, height: 40, mode: .stretch) < 2 * Raster.fortyDecibels)
  }
}
