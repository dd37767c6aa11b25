import ImgFacts
import ImgModel
import TestPictures
import Testing

@testable import ImgDecode

/// Thumbnails that keep more than 8 bits of each sample.
@Suite(.timeLimit(.minutes(20))) struct DepthTests {
  private let fixture = ThumbnailFixture()

  /// A way to store a gradient.
  struct Source: CustomTestStringConvertible {
    let suffix: String
    let bandCount: Int
    var profile: [UInt8]?
    /// How many levels of 65,536 the encoding may be off.
    var tolerance = 40

    var testDescription: String {
      "\(suffix), \(bandCount) bands\(profile == nil ? "" : ", profile")"
    }

    func file(
      _ maker: PictureMaker, width: Int = 700, height: Int = 500, orientation: Int = 1
    ) throws -> [UInt8] {
      let raster = WideRaster.gradient(width: width, height: height, bandCount: bandCount)
      return try maker.encode(
        raster, suffix: suffix, orientation: orientation, profile: profile)
    }
  }

  private static let displayP3 = ColourProfile.rgb(primaries: .displayP3, curve: .sRGB)
  private static let sources =
    (1...4).flatMap { bandCount in
      [".png[compression=1]", ".tif"].map { Source(suffix: $0, bandCount: bandCount) }
    } + [
      Source(suffix: ".ppm", bandCount: 1), Source(suffix: ".ppm", bandCount: 3),
      Source(suffix: ".jxl[lossless,effort=3]", bandCount: 1),
      Source(suffix: ".jxl[lossless,effort=3]", bandCount: 3),
      Source(suffix: ".jxl[lossless,effort=3]", bandCount: 4),
      Source(suffix: ".avif[effort=1,Q=95,bitdepth=12]", bandCount: 3, tolerance: 400),
      Source(suffix: ".avif[effort=1,Q=95,bitdepth=12]", bandCount: 4, tolerance: 600),
      Source(suffix: ".heic[Q=95,bitdepth=10]", bandCount: 3, tolerance: 600),
      Source(suffix: ".png[compression=1]", bandCount: 3, profile: displayP3),
      Source(suffix: ".png[compression=1]", bandCount: 4, profile: displayP3),
      Source(suffix: ".tif", bandCount: 3, profile: displayP3),
      // Adobe RGB has such a curve, and levels of linear light are evened before they are scaled.
      Source(
        suffix: ".png[compression=1]", bandCount: 3,
        profile: ColourProfile.rgb(primaries: .displayP3, curve: .gamma(2.2))),
      Source(
        suffix: ".png[compression=1]", bandCount: 3,
        profile: ColourProfile.rgb(primaries: .displayP3, curve: .gamma(1))),
      Source(
        suffix: ".png[compression=1]", bandCount: 4,
        profile: ColourProfile.rgb(primaries: .sRGB, curve: .gamma(1))),
      Source(suffix: ".tif", bandCount: 1, profile: ColourProfile.gray(gamma: 1.8)),
      Source(suffix: ".png[compression=1]", bandCount: 2, profile: ColourProfile.gray(gamma: 1)),
    ]

  private static func variant(
    _ change: (inout ImageVariant) -> Void = { _ in }
  ) throws -> Variant {
    try Variant(ImageVariant(size: 256, format: .png)).changed {
      $0.depth = .sixteen
      change(&$0)
    }
  }

  private func wide(
    _ picture: [UInt8], as variant: Variant,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> WideRaster {
    let bytes = try fixture.thumbnailer.thumbnail(of: picture, as: variant).bytes
    let raster = try fixture.reader.wideRaster(of: bytes)
    return try #require(raster, "it has 8 bits", sourceLocation: sourceLocation)
  }

  /// The greatest difference of the upper 8 bits from a thumbnail of 8 bits, where something is seen.
  private func difference(_ picture: [UInt8], as variant: Variant) throws -> Int {
    let wide = try wide(picture, as: variant)
    let narrow = try fixture.raster(of: picture, as: variant.inEightBits)
    guard (wide.width, wide.height) == (narrow.width, narrow.height) else { return 256 }
    var greatest = 0
    for y in 0..<wide.height {
      for x in 0..<wide.width {
        let pixel = narrow[x, y]
        let alpha = wide.bandCount == 4 ? Int(wide[x, y, 3] >> 8) : 255
        greatest = max(greatest, abs(alpha - Int(pixel.alpha)))
        // Of a pixel that is hardly seen, 8 bits hardly tell the colour.
        guard alpha > 60 else { continue }
        for (band, level) in [pixel.red, pixel.green, pixel.blue].enumerated() {
          greatest = max(greatest, abs(Int(wide[x, y, band] >> 8) - Int(level)))
        }
      }
    }
    return greatest
  }

  private func expectEqualUpperBits(
    _ picture: [UInt8], as variant: Variant, within tolerance: Int = 2,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let difference = try difference(picture, as: variant)
    #expect(difference <= tolerance, sourceLocation: sourceLocation)
  }

  // MARK: - Sources

  @Test(arguments: sources)
  func `more than 8 bits stay, and the upper 8 are those of a thumbnail of 8 bits`(
    source: Source
  ) throws {
    let file = try source.file(fixture.maker)
    let variant = try Self.variant()
    try expectEqualUpperBits(file, as: variant)
    let shown = try wide(file, as: variant)
    #expect(shown.bandCount == (source.bandCount % 2 == 0 ? 4 : 3))
    #expect(Set(shown.samples).count > 2_000)
    // No profile moves the levels, and means of a straight line are on it.
    guard source.profile == nil, source.bandCount > 2 else { return }
    let expected = WideRaster.gradient(width: 700, height: 500, bandCount: source.bandCount)
    for (x, y) in [(30, 30), (128, 91), (220, 150)] {
      let place = { (position: Int, count: Int, stored: Int) in
        Int((Double(position) + 0.5) * Double(stored) / Double(count))
      }
      for band in 0..<source.bandCount {
        let stored = expected[
          place(x, shown.width, 700), place(y, shown.height, 500), band]
        // A pixel of the source to either side.
        let isNear = abs(Int(shown[x, y, band]) - Int(stored)) <= 200 + source.tolerance
        #expect(isNear, "\(x), \(y), \(band): \(shown[x, y, band]), not \(stored)")
      }
    }
  }

  @Test(arguments: [".avif[effort=1,Q=95,bitdepth=12]", ".heic[Q=95,bitdepth=10]"])
  func `white of fewer bits is white of 16, and opaque is opaque`(suffix: String) throws {
    let white = WideRaster(width: 64, height: 64, bandCount: 3) { _, _, _ in .max }
    let shown = try wide(fixture.maker.encode(white, suffix: suffix), as: Self.variant())
    #expect(shown.bandCount == 3)
    #expect(shown.samples.allSatisfy { $0 > 65_535 - 128 }, "\(shown.samples[0])")
  }

  @Test func `floating-point numbers of linear light become 16 bits`() throws {
    let raster = Raster(width: 256, height: 64) { x, y in
      Raster.Pixel(UInt8(x), UInt8(x / 2 + y), 100, alpha: UInt8(128 + y))
    }
    let file = try fixture.maker.linearJPEGXL(raster)
    let variant = try Self.variant { ($0.width, $0.height) = (200, 200) }
    try expectEqualUpperBits(file, as: variant)
    #expect(Set(try wide(file, as: variant).samples).count > 1_000)
  }

  @Test(arguments: [UInt8(16), 18])
  func `light brighter than white is compressed in 16 bits, too`(transfer: UInt8) throws {
    for bandCount in 1...4 {
      let file = try Source(suffix: ".png[compression=1]", bandCount: bandCount)
        .file(fixture.maker)
      var chunks = PNGChunk.chunks(of: file)
      chunks.insert(PNGChunk("cICP", [9, transfer, 0, 1]), at: 1)
      let picture = PNGChunk.file(chunks)
      try expectEqualUpperBits(picture, as: Self.variant())
      #expect(Set(try wide(picture, as: Self.variant()).samples).count > 2_000)
    }
  }

  @Test(arguments: [
    PictureFormat.jpeg, .png, .grayPNG, .displayP3PNG, .tiff, .cmykTIFF, .webp, .gif, .avif, .heif,
    .jxl, .bmp, .ico, .pnm,
  ])
  func `a picture of 8 bits gives the thumbnail of 8 bits`(format: PictureFormat) throws {
    let file = try fixture.maker.scene(width: 300, height: 200, format: format)
    for output in [ImageVariant.Format.auto, .compatible, .png, .avif] {
      let variant = try Self.variant { $0.format = output }
      let made = try fixture.thumbnailer.thumbnail(of: file, as: variant)
      #expect(made == (try fixture.thumbnailer.thumbnail(of: file, as: variant.inEightBits)))
    }
  }

  @Test(arguments: [
    (PictureFormat.avif, ".avif[effort=1,Q=95,bitdepth=12]"), (.heif, ".heic[Q=95,bitdepth=10]"),
  ])
  func `a frame of a sequence keeps its bits`(format: PictureFormat, suffix: String) throws {
    let frames = try [3, 3].map { bandCount in
      try fixture.maker.encode(
        .gradient(width: 512, height: 256, bandCount: bandCount), suffix: suffix)
    }
    let file = try #require(SequenceWriter(format).file(frames, size: (512, 256)))
    let variant = try Self.variant { $0.frames = .number(1) }
    try expectEqualUpperBits(file, as: variant)
    #expect(Set(try wide(file, as: variant).samples).count > 1_000)
    let poster = try fixture.thumbnailer.thumbnail(
      of: file, as: Self.variant { $0.frames = .poster })
    #expect(try fixture.reader.wideRaster(of: poster.bytes) == nil)
  }

  @Test func `a frame of an animated JPEG XL keeps its bits`() throws {
    let raster = Raster(width: 256, height: 128) { x, y in
      Raster.Pixel(UInt8(x / 2 + y / 2), UInt8(x), 100, alpha: UInt8(128 + y / 2))
    }
    var settings = JXLWriter.Settings()
    (settings.hasAlpha, settings.bitsPerSample) = (true, 12)
    let file = JXLWriter.file([.init(raster), .init(raster)], settings)
    for frames in [ImageVariant.Frames.first, .number(1)] {
      let variant = try Self.variant {
        ($0.width, $0.height, $0.frames) = (100, 100, frames)
      }
      try expectEqualUpperBits(file, as: variant)
      #expect(Set(try wide(file, as: variant).samples).count > 300)
    }
  }

  @Test func `frames of animated PNGs have 8 bits`() throws {
    let file = try fixture.maker.encode(
      .gradient(width: 64, height: 48, bandCount: 3), suffix: ".png")
    let frames = [file, file].map { APNGWriter.Frame($0) }
    let animation = PNGChunk.file(APNGWriter.chunks(frames))
    #expect(try wide(animation, as: Self.variant()).width == 64)
    for selection in [ImageVariant.Frames.number(1), .poster] {
      let made = try fixture.thumbnailer.thumbnail(
        of: animation, as: Self.variant { $0.frames = selection })
      #expect(try fixture.reader.wideRaster(of: made.bytes) == nil)
    }
  }

  // MARK: - Formats

  @Test func `automatic formats are PNG for a picture of more than 8 bits`() throws {
    for bandCount in [3, 4] {
      let file = try Source(suffix: ".tif", bandCount: bandCount).file(fixture.maker)
      for output in [ImageVariant.Format.auto, .compatible] {
        let variant = try Self.variant { $0.format = output }
        let made = try fixture.thumbnailer.thumbnail(of: file, as: variant)
        #expect(made.thumbnail.format == .png)
        #expect(try fixture.reader.wideRaster(of: made.bytes) != nil)
        let narrow = try fixture.thumbnailer.thumbnail(of: file, as: variant.inEightBits)
        #expect(try fixture.reader.wideRaster(of: narrow.bytes) == nil)
        // The means of its picture.
        #expect(made.thumbHash.bytes.prefix(3) == narrow.thumbHash.bytes.prefix(3))
      }
    }
  }

  @Test(arguments: [3, 4], [50, 95])
  func `AVIF keeps 12 bits`(bandCount: Int, quality: Int) throws {
    let file = try Source(suffix: ".tif", bandCount: bandCount).file(fixture.maker)
    let variant = try Self.variant { ($0.format, $0.quality) = (.avif, quality) }
    let made = try fixture.thumbnailer.thumbnail(of: file, as: variant)
    #expect(made.thumbnail.format == .avif)
    #expect(try PictureFacts.reading(WholeBytes(made.bytes), .header).bitsPerSample == 12)
    let shown = try wide(made.bytes, as: Self.variant())
    let exact = try wide(file, as: Self.variant())
    #expect(shown.bandCount == bandCount)
    #expect(Set(shown.samples).count > 700)
    for (x, y) in [(30, 30), (128, 91), (220, 150)] {
      for band in 0..<bandCount {
        #expect(abs(Int(shown[x, y, band]) - Int(exact[x, y, band])) < 3_000)
      }
    }
  }

  // MARK: - What is done to the pixels

  private static let effects: [ImageVariant.Effects] = [
    .init(isGrayscale: true), .init(blur: 3), .init(sharpen: 1), .init(radius: 40),
    .init(radius: 30, padding: 20), .init(background: RGBColour(red: 200, green: 100, blue: 50)),
    .init(radius: 30, padding: 20, background: .white),
    .init(isGrayscale: true, blur: 1, sharpen: 0.5, radius: 12, padding: 3),
  ]

  @Test(arguments: effects, 1...4)
  func `effects work in 16 bits`(effects: ImageVariant.Effects, bandCount: Int) throws {
    let file = try Source(suffix: ".png[compression=1]", bandCount: bandCount)
      .file(fixture.maker, width: 400, height: 300)
    let variant = try Self.variant { $0.effects = effects }
    // In 8 bits, transparency is rounded at the corners and once more on the background.
    let isRoundedTwice = effects.background != nil && bandCount == 4
    try expectEqualUpperBits(file, as: variant, within: isRoundedTwice ? 3 : 2)
    #expect(Set(try wide(file, as: variant).samples).count > 1_000)
  }

  @Test(arguments: [ImageVariant.Crop.centre, .attention, .entropy, .point(x: 0.2, y: 0.9)])
  func `a crop shows the part that it shows in 8 bits`(crop: ImageVariant.Crop) throws {
    let picture = WideRaster(width: 600, height: 200, bandCount: 3) { x, y, band in
      let isSpot = (x - 450) * (x - 450) + (y - 100) * (y - 100) < 60 * 60
      guard isSpot else { return UInt16(20_000 + x * 7 + y * 11) }
      return band == 0 ? 60_000 : UInt16(9_000 + (x * 37 + y * 91) % 7_000)
    }
    let file = try fixture.maker.encode(picture, suffix: ".png[compression=1]")
    // The edge of the spot differs where another resize meets it.
    let variant = try Self.variant {
      ($0.width, $0.height, $0.mode, $0.crop) = (200, 200, .fill, crop)
    }
    try expectEqualUpperBits(file, as: variant)
  }

  @Test(arguments: 1...8)
  func `the picture is upright`(orientation: Int) throws {
    let file = try Source(suffix: ".tif", bandCount: 3)
      .file(fixture.maker, width: 300, height: 200, orientation: orientation)
    let shown = try wide(file, as: Self.variant())
    #expect((shown.width > shown.height) == (orientation < 5))
    try expectEqualUpperBits(file, as: Self.variant())
  }

  @Test func `several sizes come from one decode`() throws {
    let file = try Source(suffix: ".png[compression=1]", bandCount: 4, profile: Self.displayP3)
      .file(fixture.maker)
    let variants = try [256, 100, 30].map { side in
      try Self.variant { ($0.width, $0.height) = (side, side) }
    }
    let made = try fixture.thumbnailer.thumbnails(of: file.span, as: variants)
    for (variant, thumbnail) in zip(variants, made.thumbnails) {
      let alone = try fixture.thumbnailer.thumbnails(of: file.span, as: [variant])
      #expect(thumbnail == alone.thumbnails[0])
    }
  }

  @Test func `a profile that is kept says what 16 bits mean`() throws {
    let file = try Source(suffix: ".png[compression=1]", bandCount: 3, profile: Self.displayP3)
      .file(fixture.maker)
    let variant = try Self.variant { $0.keptData.profile = true }
    let bytes = try fixture.thumbnailer.thumbnail(of: file, as: variant).bytes
    #expect(try fixture.reader.metadata(of: bytes).contains("icc-profile-data"))
    let (kept, plain) = (
      try #require(try fixture.reader.wideRaster(of: bytes)),
      try wide(Source(suffix: ".tif", bandCount: 3).file(fixture.maker), as: Self.variant())
    )
    #expect(kept.samples == plain.samples)
    try expectEqualUpperBits(file, as: variant)
  }

  @Test func `pixels of a picture have 8 bits`() throws {
    let file = try Source(suffix: ".tif", bandCount: 3).file(fixture.maker)
    let variant = try Self.variant()
    let pixels = try fixture.thumbnailer.pixels(of: file.span, as: variant)
    #expect(pixels == (try fixture.thumbnailer.pixels(of: file.span, as: variant.inEightBits)))
  }
}
