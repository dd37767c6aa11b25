import ImgDecode
import ImgModel
import TestPictures
import Testing

/// Thumbnails of several sizes from one decode.
@Suite(.timeLimit(.minutes(20))) struct SeveralSizesTests {
  private let fixture: ThumbnailFixture

  init() throws {
    fixture = try ThumbnailFixture()
  }

  private static let sides = [64, 300, 30]

  private func variants(
    format: Variant.Format = .auto, crop: Crop? = nil, frames: FrameSelection = .first,
    effects: Effects = .none
  ) throws -> [Variant] {
    try Self.sides.map {
      try Variant(
        width: $0, height: $0, mode: crop == nil ? .fit : .fill, crop: crop, format: format,
        frames: frames, effects: effects)
    }
  }

  /// Compares them with those that are made one by one.
  private func check(_ picture: [UInt8], as variants: [Variant], tolerance: Double) throws {
    let made = try fixture.thumbnailer.thumbnails(of: picture.span, as: variants)
    #expect(made.thumbnails.count == variants.count)
    for (thumbnail, variant) in zip(made.thumbnails, variants) {
      let alone = try fixture.thumbnailer.thumbnail(of: picture, as: variant)
      #expect(alone.source == made.source)
      #expect(thumbnail.thumbnail.format == alone.thumbnail.format)
      #expect(thumbnail.thumbnail.width == alone.thumbnail.width)
      #expect(thumbnail.thumbnail.height == alone.thumbnail.height)
      #expect(thumbnail.thumbnail.byteCount == thumbnail.bytes.count)
      let difference = try fixture.reader.raster(of: thumbnail.bytes)
        .meanSquaredError(against: fixture.reader.raster(of: alone.bytes))
      #expect(difference < tolerance, "\(variant.canonicalText): \(difference)")
    }
  }

  @Test(arguments: [PictureFormat.jpeg, .png, .webp, .gif, .avif, .heif, .tiff, .jxl, .bmp, .pnm])
  func `each size looks like one that is made alone`(format: PictureFormat) throws {
    let picture = try fixture.maker.scene(width: 900, height: 600, format: format)
    try check(picture, as: variants(), tolerance: 4 * Raster.fortyDecibels)
    try check(
      picture, as: variants(format: .png, crop: .centre), tolerance: 4 * Raster.fortyDecibels)
  }

  @Test func `the largest of several sizes is the one that would be made alone`() throws {
    let picture = try fixture.maker.scene(width: 900, height: 600, format: .jpeg)
    let variants = try variants()
    let made = try fixture.thumbnailer.thumbnails(of: picture.span, as: variants)
    #expect(made.source.decodePath == .planar)
    let alone = try fixture.thumbnailer.thumbnail(of: picture, as: variants[1])
    #expect(made.thumbnails[1].bytes == alone.bytes)
  }

  @Test(arguments: JPEGSampling.allCases, [1, 6])
  func `a size that is much smaller than the largest keeps luma and chroma, too`(
    sampling: JPEGSampling, orientation: Int
  ) throws {
    let scene = try fixture.reader.raster(
      of: fixture.maker.scene(width: 1_600, height: 1_200, format: .png))
    let picture = fixture.maker.jpeg(of: scene, sampling: sampling, orientation: orientation)
    let variants = try [800, 32].map { try Variant(width: $0, height: $0) }
    let made = try fixture.thumbnailer.thumbnails(of: picture.span, as: variants)
    #expect(made.source.decodePath == .planar)
    try check(picture, as: variants, tolerance: 4 * Raster.fortyDecibels)
  }

  @Test func `frames, posters, animations and effects come in several sizes`() throws {
    let animation = try fixture.maker.animation(index: 1, frameCount: 4)
    for frames in [FrameSelection.number(2), .poster, .all] {
      try check(animation, as: variants(frames: frames), tolerance: 4 * Raster.fortyDecibels)
    }
    let picture = try fixture.maker.scene(width: 900, height: 600, format: .jpeg)
    try check(
      picture, as: variants(effects: Effects(isGrayscale: true, radius: 5)),
      tolerance: 4 * Raster.fortyDecibels)
  }

  @Test func `boxes of different shapes are covered by one decode`() throws {
    let picture = try fixture.maker.scene(width: 900, height: 600, format: .jpeg)
    let boxes = [(400, 20), (20, 400)]
    let variants = try boxes.map {
      try Variant(width: $0.0, height: $0.1, mode: .stretch, format: .png)
    }
    try check(picture, as: variants, tolerance: 4 * Raster.fortyDecibels)
  }

  @Test func `one size beyond the limits fails all`() throws {
    var limits = Limits()
    limits.maxPixels = 900 * 600
    let strict = try ThumbnailFixture(limits: limits)
    let picture = try fixture.maker.scene(width: 900, height: 600, format: .jpeg)
    let variants = try [100, 3_000].map { try Variant(width: $0, height: $0, enlarges: true) }
    let failure = #expect(throws: Failure.self) {
      try strict.thumbnailer.thumbnails(of: picture.span, as: variants)
    }
    #expect(failure?.code == .tooManyPixels)
  }
}
