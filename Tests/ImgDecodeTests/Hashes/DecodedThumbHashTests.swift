import ImgModel
import TestPictures
import Testing

@testable import ImgDecode

/// The ThumbHash that comes with thumbnails.
@Suite(.timeLimit(.minutes(20))) struct DecodedThumbHashTests {
  private let fixture: ThumbnailFixture

  init() throws {
    fixture = try ThumbnailFixture()
  }

  /// As in ``PlaceholderTests``, whose bytes a reference implementation gave.
  private func raster(_ width: Int, _ height: Int, hasAlpha: Bool) -> Raster {
    Raster(width: width, height: height) { x, y in
      let samples = [x * 37 + y * 91, x * x * 3 + y * 7, x * y * 5 + x, x * 29 + y * 3]
        .map { UInt8(truncatingIfNeeded: $0) }
      return .init(samples[0], samples[1], samples[2], alpha: hasAlpha ? samples[3] : 255)
    }
  }

  private func hash(of raster: Raster) throws -> ThumbHash {
    ThumbHash(
      of: try #require(
        SmallPicture(width: raster.width, height: raster.height, samples: raster.bytes)))
  }

  private func hash(of file: [UInt8], as variant: Variant = .standard) throws -> ThumbHash {
    try fixture.thumbnailer.thumbnail(of: file, as: variant).thumbHash
  }

  @Test(arguments: [
    (7, 5, false, "91790a1d888086767487777766789497961ff7b264"),
    (1, 1, false, "000802070000000000000000000000000000000000000000"),
    (12, 12, true, "9ef885150426418e709ca36a89877eff9b9806997797877888"),
  ])
  func `the ThumbHash of a small picture is that of the reference implementation`(
    width: Int, height: Int, hasAlpha: Bool, digits: String
  ) throws {
    let raster = raster(width, height, hasAlpha: hasAlpha)
    for format in [PictureFormat.png, .losslessWebP, .tiff] {
      let file = try fixture.maker.encode(raster, as: format, hasAlpha: hasAlpha)
      let bytes = try hash(of: file).bytes
      #expect(bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() == digits)
    }
  }

  @Test(arguments: 1...8)
  func `a ThumbHash is of the upright picture`(orientation: Int) throws {
    let raster = raster(9, 6, hasAlpha: true)
    let file = try fixture.maker.encode(
      raster.stored(forOrientation: orientation), as: .png, hasAlpha: true)
    let small = try unsafe file.withUnsafeBufferPointer { buffer in
      let image = try Image.loading(unsafe PictureInput(buffer), as: .png).inMemory()
      return SmallPicture(image, showing: .init(width: 9, height: 6), orientation: orientation)
    }
    #expect((small.width, small.height) == (9, 6))
    #expect(small.samples == raster.bytes)
  }

  /// Luma and chroma are a second way to the same pixels, but for rounding.
  @Test(arguments: [1, 6])
  func `luma and chroma give the ThumbHash that pixels give`(orientation: Int) throws {
    let file = try fixture.maker.card(
      index: 3, width: 640, height: 400, format: .jpeg, orientation: orientation)
    let pixels = try fixture.thumbnailer.thumbnail(
      of: file, as: try Variant(width: 256, height: 256, format: .png))
    let planes = try fixture.thumbnailer.thumbnail(of: file, as: .standard)
    #expect(planes.source.decodePath == .planar && pixels.source.decodePath == .general)
    #expect(difference(planes.thumbHash, pixels.thumbHash) <= 1)
    let gray = try fixture.maker.card(index: 3, format: .grayJPEG)
    let grayPlanes = try hash(of: gray)
    let grayPixels = try hash(of: gray, as: try Variant(width: 256, height: 256, format: .png))
    #expect(difference(grayPlanes, grayPixels) <= 1)
  }

  /// The greatest difference between frequencies, of 15. Those of hashes of other lengths differ by
  /// more.
  private func difference(_ one: ThumbHash, _ other: ThumbHash) -> Int {
    guard one.bytes.count == other.bytes.count else { return 16 }
    let nibbles = [one, other].map { hash in
      hash.bytes.dropFirst(5).flatMap { [Int($0 & 15), Int($0 >> 4)] }
    }
    return zip(nibbles[0], nibbles[1]).map { abs($0 - $1) }.max() ?? 0
  }

  @Test func `crop, effects and shape of a thumbnail leave the ThumbHash as it is`() throws {
    let file = try fixture.maker.encode(raster(24, 16, hasAlpha: false), as: .png)
    let expected = try hash(of: raster(24, 16, hasAlpha: false))
    let whole = try Variant(width: 24, height: 24)
    let variants = [
      whole, try Variant(width: 16, height: 16, mode: .fill, crop: .centre),
      try Variant(
        width: 24, height: 24, effects: Effects(isGrayscale: true, blur: .one, radius: 5)),
    ]
    #expect(try hash(of: file, as: whole) == expected)
    #expect(try hash(of: file, as: variants[2]) == expected)
    for variant in variants {
      #expect(difference(try hash(of: file, as: variant), expected) <= 2)
    }
    // The shape is that of the picture: three quarters as high as wide.
    let scene = try fixture.maker.scene(width: 400, height: 300, format: .png)
    let stretched = try Variant(width: 90, height: 256, mode: .stretch)
    #expect(
      try hash(of: scene, as: stretched).bytes.prefix(5).suffix(2).map { $0 & 0x87 }
        == hash(of: scene).bytes.prefix(5).suffix(2).map { $0 & 0x87 })
  }

  @Test func `several sizes share one ThumbHash, that of the largest`() throws {
    let file = try fixture.maker.encode(raster(24, 16, hasAlpha: false), as: .png)
    let variants = try [5, 24, 8].map { try Variant(width: $0, height: $0) }
    let made = try fixture.thumbnailer.thumbnails(of: file.span, as: variants)
    #expect(made.thumbHash == (try hash(of: raster(24, 16, hasAlpha: false))))
  }

  @Test func `the ThumbHash of an animation is of the frame that is shown`() throws {
    let blank = Raster(width: 20, height: 12) { _, _ in .init(255, 255, 255) }
    let rasters = [blank] + (0..<3).map { Card(index: $0, width: 20, height: 12).raster }
    let file = APNGWriter.file(
      try rasters.map { .init(try fixture.maker.encode($0, as: .png)) }, loopCount: 1)
    let selections: [(FrameSelection, Int)] = [
      (.first, 0), (.number(2), 2), (.poster, 1), (.all, 0),
    ]
    for (frames, index) in selections {
      let variant = try Variant(width: 20, height: 20, frames: frames)
      #expect(try hash(of: file, as: variant) == hash(of: rasters[index]), "\(frames)")
    }
  }

  @Test func `the ThumbHash is in sRGB also where the thumbnail keeps another profile`() throws {
    let file = try fixture.maker.card(index: 2, width: 320, height: 240, format: .displayP3PNG)
    let kept = try Variant(
      width: 256, height: 256, format: .png, keptData: KeptData(profile: true, metadata: false))
    let plain = try Variant(width: 256, height: 256, format: .png)
    #expect(difference(try hash(of: file, as: kept), try hash(of: file, as: plain)) <= 1)
  }
}
