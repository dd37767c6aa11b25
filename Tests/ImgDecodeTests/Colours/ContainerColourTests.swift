import ImgModel
import TestPictures
import Testing

@testable import ImgDecode

/// Wherever a container says what its colours are: for each picture in it that is shown.
@Suite(.timeLimit(.minutes(20))) struct ContainerColourTests {
  private let fixture = ThumbnailFixture()

  private static let stored = Raster.Pixel(200, 100, 100)
  /// The same numbers in Display P3, as sRGB has them.
  private static let converted = Raster.Pixel(215, 93, 97)

  private static let displayP3 = HEIFWriter.codePoints(12, 13, 6)
  private static let standard = HEIFWriter.codePoints(1, 13, 6)
  private static let profile = ColourProfile.rgb(primaries: .displayP3, curve: .sRGB)
  private static let standardProfile = ColourProfile.rgb(primaries: .sRGB, curve: .sRGB)

  /// A file whose pixels are all ``stored``, and what they look like.
  struct Sample: CustomTestStringConvertible {
    let name: String
    let isConverted: Bool
    var frames = ImageVariant.Frames.first
    var use = EmbeddedUse.auto
    let file: @Sendable (PictureMaker) throws -> [UInt8]

    var testDescription: String { name }
  }

  // MARK: - Files

  private static func flat(
    _ maker: PictureMaker, _ format: PictureFormat, width: Int = 64, height: Int = 64
  ) throws -> [UInt8] {
    try maker.encode(Raster(width: width, height: height) { _, _ in stored }, as: format)
  }

  private static func item(
    _ maker: PictureMaker, _ format: PictureFormat, _ properties: [UInt8]...
  ) throws -> HEIFWriter.Item {
    try #require(HEIFWriter.Item(flat(maker, format), format, properties))
  }

  /// Two tiles, one beside the other.
  private static func grid(
    _ maker: PictureMaker, ofGrid: [[UInt8]], ofTiles: [UInt8]...
  ) throws -> [UInt8] {
    let tile = try #require(HEIFWriter.Item(flat(maker, .heif), .heif, ofTiles))
    let grid = HEIFWriter.Item(gridOf: 2, width: 128, height: 64, ofGrid)
    return HEIFWriter([grid, tile, tile], [.init("dimg", from: 1, to: [2, 3])]).bytes
  }

  private static func sequence(_ maker: PictureMaker, _ format: PictureFormat) throws -> [UInt8] {
    var options = SequenceWriter.Options()
    options.transformations = [("colr", Array(displayP3.dropFirst(8)))]
    let frame = try flat(maker, format)
    return try #require(SequenceWriter(format, options).file([frame, frame], size: (64, 64)))
  }

  private static func animatedPNG(_ maker: PictureMaker) throws -> [UInt8] {
    let frame = try APNGWriter.Frame(flat(maker, .png))
    var chunks = APNGWriter.chunks([frame, frame])
    chunks.insert(PNGChunk("cICP", [12, 13, 0, 1]), at: 1)
    return PNGChunk.file(chunks)
  }

  private static func animatedJXL() -> [UInt8] {
    let raster = Raster(width: 64, height: 64) { _, _ in stored }
    var settings = JXLWriter.Settings()
    settings.isDisplayP3 = true
    return JXLWriter.file([.init(raster), .init(raster)], settings)
  }

  /// Behind the picture another one, which says how much brighter it may become (ISO 21496-1).
  private static func gainMapJPEG(_ maker: PictureMaker) throws -> [UInt8] {
    let name = Array("http://ns.adobe.com/xap/1.0/\0".utf8)
    let packet = "<x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF/></x:xmpmeta>"
    let gains = Raster(width: 32, height: 32) { _, _ in Raster.Pixel(255, 255, 255) }
    let base = JPEGSegments.insert(name + packet.utf8, marker: 0xE1, into: try flat(maker, .jpeg))
    let version = Array("urn:iso:std:iso:ts:21496:-1\0".utf8) + [0, 0, 0, 0]
    return JPEGSegments.insert(version, marker: 0xE2, into: base)
      + (try maker.encode(gains, as: .grayJPEG))
  }

  private static func gainMapHEIC(_ maker: PictureMaker) throws -> [UInt8] {
    let kind = HEIFWriter.auxiliaryType("urn:com:apple:photo:2020:aux:hdrgainmap")
    let gains = Raster(width: 64, height: 64) { _, _ in Raster.Pixel(255, 255, 255) }
    let map = try #require(HEIFWriter.Item(maker.encode(gains, as: .heif), .heif, [kind]))
    return HEIFWriter(
      [try item(maker, .heif, displayP3), map], [.init("auxl", from: 2, to: [1])]
    ).bytes
  }

  // MARK: - What they look like

  private static let stills = [
    Sample(name: "AVIF with code points", isConverted: true) {
      HEIFWriter([try item($0, .avif, displayP3)]).bytes
    },
    Sample(name: "AVIF that says nothing", isConverted: false) {
      HEIFWriter([try item($0, .avif)]).bytes
    },
    Sample(name: "HEIC with code points", isConverted: true) {
      HEIFWriter([try item($0, .heif, displayP3)]).bytes
    },
    Sample(name: "HEIC that says nothing", isConverted: false) {
      HEIFWriter([try item($0, .heif)]).bytes
    },
    Sample(name: "HEIC with a profile and other code points", isConverted: true) {
      HEIFWriter([try item($0, .heif, HEIFWriter.profile(profile), standard)]).bytes
    },
    Sample(name: "HEIC with code points and another profile", isConverted: false) {
      HEIFWriter([try item($0, .heif, displayP3, HEIFWriter.profile(standardProfile))]).bytes
    },
    Sample(name: "AVIF with a profile and other code points", isConverted: true) {
      HEIFWriter([try item($0, .avif, HEIFWriter.profile(profile), standard)]).bytes
    },
    Sample(name: "HEIC of tiles with code points", isConverted: true) {
      try grid($0, ofGrid: [displayP3], ofTiles: displayP3)
    },
    Sample(name: "HEIC of tiles without code points", isConverted: true) {
      try grid($0, ofGrid: [displayP3])
    },
    Sample(name: "HEIC of tiles that alone have code points", isConverted: true) {
      try grid($0, ofGrid: [], ofTiles: displayP3)
    },
  ]

  private static let parts = [
    Sample(name: "JPEG with a gain map", isConverted: false, file: gainMapJPEG),
    Sample(name: "HEIC with a gain map", isConverted: true, file: gainMapHEIC),
    Sample(name: "preview of a HEIC", isConverted: true, use: .always) { maker in
      let file = HEIFWithPreview(
        picture: try flat(maker, .heif, width: 128, height: 128),
        preview: try flat(maker, .heif), properties: [displayP3])
      return try #require(file).bytes
    },
    Sample(name: "preview of a HEIC with a profile", isConverted: true, use: .always) { maker in
      let file = HEIFWithPreview(
        picture: try flat(maker, .heif, width: 128, height: 128),
        preview: try flat(maker, .heif), properties: [HEIFWriter.profile(profile)])
      return try #require(file).bytes
    },
    Sample(name: "thumbnail of a JPEG with a profile", isConverted: true, use: .always) { maker in
      EXIFSegment.insert(
        thumbnail: try flat(maker, .jpeg, width: 32, height: 24),
        into: try maker.profiled(flat: stored, profile))
    },
    Sample(name: "thumbnail of a JPEG without one", isConverted: false, use: .always) { maker in
      EXIFSegment.insert(
        thumbnail: try flat(maker, .jpeg, width: 32, height: 24),
        into: try flat(maker, .jpeg, width: 320, height: 240))
    },
  ]

  private static let animations = [ImageVariant.Frames.first, .number(1), .all].flatMap { frames in
    [
      Sample(name: "AVIF sequence, \(frames)", isConverted: true, frames: frames) {
        try sequence($0, .avif)
      },
      Sample(name: "HEIC sequence, \(frames)", isConverted: true, frames: frames) {
        try sequence($0, .heif)
      },
      Sample(name: "animated PNG, \(frames)", isConverted: true, frames: frames, file: animatedPNG),
      Sample(name: "animated JPEG XL, \(frames)", isConverted: true, frames: frames) { _ in
        animatedJXL()
      },
    ]
  }

  @Test(arguments: stills + parts + animations)
  func `the colours are those that the file describes`(sample: Sample) throws {
    var variant = ImageVariant(
      width: 32, height: 32, format: sample.frames == .all ? .webp : .png, quality: 100,
      frames: sample.frames)
    variant.embeddedUse = sample.use
    let made = try fixture.thumbnailer.thumbnail(
      of: sample.file(fixture.maker), as: Variant(variant))
    let shown = try fixture.reader.raster(of: made.bytes)[15, 10]
    let expected = sample.isConverted ? Self.converted : Self.stored
    #expect(shown.resembles(expected, tolerance: 6), "\(shown)")
    #expect((made.source.decodePath == .embedded) == (sample.use == .always))
  }
}

extension PictureMaker {
  /// A JPEG of 320 × 240 pixels of one colour.
  fileprivate func profiled(flat colour: Raster.Pixel, _ profile: [UInt8]) throws -> [UInt8] {
    let name = Array("ICC_PROFILE\0".utf8) + [1, 1]
    let picture = Raster(width: 320, height: 240) { _, _ in colour }
    return JPEGSegments.insert(name + profile, marker: 0xE2, into: try encode(picture, as: .jpeg))
  }
}
