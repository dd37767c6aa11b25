import ImgModel
import TestPictures
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
  func `a BlurHash is the reference's`(width: Int, height: Int, text: String) throws {
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
    let palette = ColourPalette(try #require(SmallPicture(width: 8, height: 10, samples: samples)))
    let expected: [([UInt8], Double)] = [
      ([200, 30, 30], 40 / 70.0), ([30, 160, 60], 20 / 70.0), ([30, 60, 200], 10 / 70.0),
    ]
    #expect(palette.colours.map { [$0.red, $0.green, $0.blue] } == expected.map(\.0))
    #expect(palette.colours.map(\.share) == expected.map(\.1))
    #expect(palette.dominant == palette.colours.first)
  }

  @Test func `colours that look alike are one`() throws {
    let samples = (0..<100).flatMap { pixel -> [UInt8] in [UInt8(100 + pixel % 4), 120, 140, 255] }
    let palette = ColourPalette(try #require(SmallPicture(width: 10, height: 10, samples: samples)))
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

/// The ThumbHash that comes with thumbnails.
@Suite(.timeLimit(.minutes(20))) struct DecodedThumbHashTests {
  private let fixture = ThumbnailFixture()

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
      of: file, as: try Variant(ImageVariant(width: 256, height: 256, format: .png)))
    let planes = try fixture.thumbnailer.thumbnail(of: file, as: .standard)
    #expect(planes.source.decodePath == .planar && pixels.source.decodePath == .general)
    #expect(difference(planes.thumbHash, pixels.thumbHash) <= 1)
    let gray = try fixture.maker.card(index: 3, format: .grayJPEG)
    let grayPlanes = try hash(of: gray)
    let grayPixels = try hash(
      of: gray, as: try Variant(ImageVariant(width: 256, height: 256, format: .png)))
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
    let whole = try Variant(ImageVariant(width: 24, height: 24))
    let variants = [
      whole, try Variant(ImageVariant(width: 16, height: 16, mode: .fill, crop: .centre)),
      try Variant(
        ImageVariant(
          width: 24, height: 24,
          effects: ImageVariant.Effects(isGrayscale: true, blur: .one, radius: 5))),
    ]
    #expect(try hash(of: file, as: whole) == expected)
    #expect(try hash(of: file, as: variants[2]) == expected)
    for variant in variants {
      #expect(difference(try hash(of: file, as: variant), expected) <= 2)
    }
    // The shape is that of the picture: three quarters as high as wide.
    let scene = try fixture.maker.scene(width: 400, height: 300, format: .png)
    let stretched = try Variant(ImageVariant(width: 90, height: 256, mode: .stretch))
    #expect(
      try hash(of: scene, as: stretched).bytes.prefix(5).suffix(2).map { $0 & 0x87 }
        == hash(of: scene).bytes.prefix(5).suffix(2).map { $0 & 0x87 })
  }

  @Test func `several sizes share one ThumbHash, that of the largest`() throws {
    let file = try fixture.maker.encode(raster(24, 16, hasAlpha: false), as: .png)
    let variants = try [5, 24, 8].map { try Variant(ImageVariant(width: $0, height: $0)) }
    let made = try fixture.thumbnailer.thumbnails(of: file.span, as: variants)
    #expect(made.thumbHash == (try hash(of: raster(24, 16, hasAlpha: false))))
  }

  @Test func `the ThumbHash of an animation is of the frame that is shown`() throws {
    let blank = Raster(width: 20, height: 12) { _, _ in .init(255, 255, 255) }
    let rasters = [blank] + (0..<3).map { Card(index: $0, width: 20, height: 12).raster }
    let file = APNGWriter.file(
      try rasters.map { .init(try fixture.maker.encode($0, as: .png)) }, loopCount: 1)
    let selections: [(ImageVariant.Frames, Int)] = [
      (.first, 0), (.number(2), 2), (.poster, 1), (.all, 0),
    ]
    for (frames, index) in selections {
      let variant = try Variant(ImageVariant(width: 20, height: 20, frames: frames))
      #expect(try hash(of: file, as: variant) == hash(of: rasters[index]), "\(frames)")
    }
  }

  @Test func `the ThumbHash is in sRGB also where the thumbnail keeps another profile`() throws {
    let file = try fixture.maker.card(index: 2, width: 320, height: 240, format: .displayP3PNG)
    let kept = try Variant(
      ImageVariant(
        width: 256, height: 256, format: .png,
        keptData: ImageVariant.KeptData(profile: true, metadata: false)))
    let plain = try Variant(ImageVariant(width: 256, height: 256, format: .png))
    #expect(difference(try hash(of: file, as: kept), try hash(of: file, as: plain)) <= 1)
  }
}

/// What is told of the pixels of pictures.
@Suite(.timeLimit(.minutes(20))) struct PixelFactsTests {
  private let fixture = ThumbnailFixture()

  private func facts(of file: [UInt8]) throws(Failure) -> PixelFacts {
    try fixture.thumbnailer.pixelFacts(of: file.span)
  }

  /// As in ``PlaceholderTests``, whose hashes a reference implementation gave.
  @Test func `the hashes of a small picture are those of the reference implementations`() throws {
    let raster = Raster(width: 7, height: 5) { x, y in
      let samples = [x * 37 + y * 91, x * x * 3 + y * 7, x * y * 5 + x]
        .map { UInt8(truncatingIfNeeded: $0) }
      return .init(samples[0], samples[1], samples[2])
    }
    let facts = try facts(of: try fixture.maker.encode(raster, as: .png))
    #expect(facts.thumbHash.bytes.prefix(5) == [0x91, 0x79, 0x0A, 0x1D, 0x88])
    #expect(facts.blurHash.text == "LIGY=sU|KJ$*|=JCOD,WR%S#A?E}")
  }

  @Test func `the palette has the colours of the picture, the most frequent first`() throws {
    let raster = Raster(width: 20, height: 10) { x, _ in
      x < 12 ? .init(200, 30, 30) : .init(30, 60, 200)
    }
    let palette = try facts(of: try fixture.maker.encode(raster, as: .png)).palette
    #expect(palette.map(\.colour.cssText) == ["#c81e1e", "#1e3cc8"])
    #expect(palette.map(\.share) == [0.6, 0.4])
  }

  @Test(arguments: PictureFormat.allCases)
  func `pictures of every format are described`(format: PictureFormat) throws {
    let file = try fixture.maker.card(index: 1, width: 320, height: 240, format: format)
    #expect(try !facts(of: file).palette.isEmpty)
  }

  @Test func `of an animation the first frame is described`() throws {
    let raster = Raster(width: 20, height: 12) { _, _ in .init(10, 200, 10) }
    let other = Raster(width: 20, height: 12) { _, _ in .init(200, 10, 10) }
    let file = APNGWriter.file(
      try [raster, other].map { .init(try fixture.maker.encode($0, as: .png)) }, loopCount: 1)
    #expect(try facts(of: file).dominant?.cssText == "#0ac80a")
  }

  private func frameDelays(of file: [UInt8]) throws(Failure) -> [Int]? {
    try fixture.thumbnailer.description(of: file.span).frameDelays
  }

  @Test func `of an animated JPEG XL the frames are told, as the file says them`() throws {
    let frames = [1, 40, 1_320].map { ticks in
      JXLWriter.Frame(Card(index: 1, width: 16, height: 12).raster, ticks: ticks)
    }
    #expect(try frameDelays(of: JXLWriter.file(frames)) == [1, 40, 1_320])
    #expect(try frameDelays(of: JXLWriter.file([frames[1]])) == [40])
  }

  @Test func `frames that are counted without a decoder are not told`() throws {
    for format in [PictureFormat.gif, .losslessWebP] {
      let file = try fixture.maker.animation(index: 0, frameCount: 3, format: format)
      #expect(try frameDelays(of: file) == nil)
    }
    #expect(try frameDelays(of: fixture.maker.card(index: 1, format: .jxl)) == nil)
  }

  @Test func `what is damaged or beyond a limit is not described`() throws {
    let file = try fixture.maker.card(index: 1, format: .png)
    let cut = Array(file.prefix(file.count / 2))
    #expect(throws: Failure.self) { try facts(of: cut) }
    let strict = ThumbnailFixture(maxPixels: 100).thumbnailer
    let failure = #expect(throws: Failure.self) { try strict.pixelFacts(of: file.span) }
    #expect(failure?.code == .tooManyPixels)
  }
}
