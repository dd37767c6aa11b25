import ImgModel
import SeededRandom
import TestPictures
import Testing

@testable import ImgDecode

/// Whatever a request asks of a picture of whatever size: each way of a decode gives a thumbnail of the
/// planned size.
@Suite(.timeLimit(.minutes(20))) struct PlannedSizesTests {
  private let fixture = ThumbnailFixture()
  private let previews: PreviewMaker

  init() throws {
    previews = PreviewMaker(runtime: try VipsRuntime.start(), limits: Limits())
  }

  /// How a source is stored.
  enum Source: Hashable, Sendable {
    case jpeg(JPEGSampling)
    case format(PictureFormat)
    case drawing

    static let all: [Source] =
      JPEGSampling.allCases.map(Source.jpeg) + PictureFormat.allCases.map(Source.format) + [
        .drawing
      ]

    /// Only some pictures in JPEG become thumbnails by way of planes.
    var count: Int {
      switch self {
      case .jpeg, .format(.grayJPEG), .format(.progressiveJPEG): 6
      case .format, .drawing: 2
      }
    }

    /// Whether the samples write one.
    var hasOrientation: Bool {
      switch self {
      case .jpeg, .format(.jpeg), .format(.webp), .format(.tiff): true
      default: false
      }
    }

    /// The longest side that such a picture may have.
    var maximumSide: Int {
      switch self {
      case .format(.ico): 256
      case .format(.avif), .format(.heif): 2_000
      case .jpeg, .format(.jpeg), .format(.grayJPEG), .format(.progressiveJPEG): 65_500
      default: ImageVariant.sideRange.upperBound
      }
    }
  }

  /// A line of as many pixels as a JPEG may be wide.
  private static let maximumSourcePixelCount = 65_500
  private static let maximumPixelCount: Int64 = 20_000

  @Test(arguments: Source.all)
  func `each thumbnail has the size that its request and its picture plan`(source: Source) throws {
    let offset = Source.all.firstIndex(of: source) ?? 0
    for seed in 0..<UInt64(source.count) {
      var random = SeededGenerator(seed: seed)
      let size = Self.size(
        upTo: source.maximumSide, pixelCount: Self.maximumSourcePixelCount, &random)
      let orientation = source.hasOrientation ? Int.random(in: 1...8, using: &random) : 1
      let picture = try picture(source, size, orientation)
      let isDrawing = source == .drawing
      let mode = Self.mode(offset + Int(seed))
      let variants = Self.variants(of: size, isDrawing: isDrawing, mode, &random)
      let comment: Comment = "seed \(seed): \(size), \(variants.map(\.canonicalText))"
      let made = try fixture.thumbnailer.thumbnails(of: picture.span, as: variants)
      try Self.check(made, size, isDrawing: isDrawing, variants, comment)
      let pixels = try fixture.thumbnailer.pixels(of: picture.span, as: variants[0])
      try Self.check(pixels, size, isDrawing: isDrawing, [variants[0]], comment)
      _ = try fixture.thumbnailer.pixelFacts(of: picture.span)
      guard [.format(.progressiveJPEG), .format(.interlacedPNG)].contains(source) else { continue }
      // Noise is not of one colour, as which a part of a picture would be refused.
      guard size.pixelCount > 16 else { continue }
      try Self.check(
        previews.preview(of: picture.span, as: variants[0]), size, [variants[0]], comment)
    }
  }

  /// Planes grow at most to four times and shrink at most to a 64th of a side; beyond that, pixels are resized.
  @Test(arguments: JPEGSampling.allCases)
  func `the borders of a resize in planes are those of a plan`(sampling: JPEGSampling) throws {
    let sizes: [(picture: ThumbnailGeometry.Size, boxes: [ThumbnailGeometry.Size])] = [
      (
        .init(width: 40, height: 16),
        [(160, 64), (161, 64), (160, 65), (161, 16), (40, 65), (400, 160)].map(Self.box)
      ),
      (.init(width: 640, height: 4), [(10, 4), (9, 4), (5, 16), (5, 17)].map(Self.box)),
    ]
    for (size, boxes) in sizes {
      let picture = fixture.maker.jpeg(
        of: Self.noise(size, seed: 1), sampling: sampling, orientation: 1)
      for box in boxes {
        let variant = try Variant(
          ImageVariant(
            width: box.width, height: box.height, mode: .stretch, enlarges: true, format: .jpeg))
        try Self.check(
          fixture.thumbnailer.thumbnails(of: picture.span, as: [variant]), size, [variant],
          "\(size), \(box)")
      }
    }
  }

  private static func box(_ width: Int, _ height: Int) -> ThumbnailGeometry.Size {
    .init(width: width, height: height)
  }

  @Test(arguments: [PictureFormat.gif, .webp])
  func `each animation has the size that its request plans`(format: PictureFormat) throws {
    for seed in 0..<UInt64(2) {
      var random = SeededGenerator(seed: seed)
      let size = Self.size(upTo: 500, pixelCount: 1_000, &random)
      let picture = try fixture.maker.animation(
        of: (0..<3).map { Self.noise(size, seed: seed + $0) }, as: format)
      let selections = [ImageVariant.Frames.all, .poster, .number(2), .time(.milliseconds(150))]
      for (index, frames) in selections.enumerated() {
        let variants = Self.variants(
          of: size, Self.mode(Int(seed) * selections.count + index), frames: frames,
          formats: [.auto, .webp, .gif], &random)
        try Self.check(
          fixture.thumbnailer.thumbnails(of: picture.span, as: variants), size, variants,
          "seed \(seed): \(size), \(variants.map(\.canonicalText))")
      }
    }
  }

  private static func check(
    _ made: RenderedThumbnails, _ size: ThumbnailGeometry.Size, isDrawing: Bool = false,
    _ variants: [Variant], _ comment: Comment
  ) throws {
    #expect(made.thumbnails.count == variants.count, comment)
    for (thumbnail, variant) in zip(made.thumbnails, variants) {
      let kept = ThumbnailGeometry(source: size, isDrawing: isDrawing, variant: variant).kept
      #expect(thumbnail.thumbnail.width == kept.width, comment)
      #expect(thumbnail.thumbnail.height == kept.height, comment)
    }
  }

  // MARK: - Random pictures and requests

  /// Sides of one pixel, of about a block, and of as many pixels as a side may have.
  private static func size(
    upTo longest: Int, pixelCount: Int, _ random: inout SeededGenerator
  ) -> ThumbnailGeometry.Size {
    let side = { (random: inout SeededGenerator) in
      let bound = [1, 2, 17, 60, longest].randomElement(using: &random) ?? 1
      return min(longest, Int.random(in: max(1, bound / 2)...bound, using: &random))
    }
    while true {
      let size = ThumbnailGeometry.Size(width: side(&random), height: side(&random))
      if size.pixelCount <= pixelCount { return size }
    }
  }

  private static func noise(_ size: ThumbnailGeometry.Size, seed: UInt64) -> Raster {
    var random = SeededGenerator(seed: seed)
    return Raster(width: size.width, height: size.height) { _, _ in
      let bits = random.next()
      return Raster.Pixel(
        UInt8(truncatingIfNeeded: bits), UInt8(truncatingIfNeeded: bits >> 8),
        UInt8(truncatingIfNeeded: bits >> 16))
    }
  }

  private func picture(
    _ source: Source, _ size: ThumbnailGeometry.Size, _ orientation: Int
  ) throws -> [UInt8] {
    switch source {
    case .jpeg(let sampling):
      return fixture.maker.jpeg(
        of: Self.noise(size, seed: 1), sampling: sampling, orientation: orientation)
    case .format(let format):
      return try fixture.maker.encode(
        Self.noise(size, seed: 1), as: format, orientation: orientation)
    case .drawing:
      let text = "<svg xmlns='http://www.w3.org/2000/svg' width='\(size.width)' "
      return Array("\(text)height='\(size.height)'><rect width='1' height='1'/></svg>".utf8)
    }
  }

  /// One mode after the other, so that each kind of source has as many as it has requests.
  private static func mode(_ number: Int) -> ImageVariant.Mode {
    ImageVariant.Mode.allCases[number % ImageVariant.Mode.allCases.count]
  }

  /// Requests that differ in their boxes alone, for thumbnails that are not too large to try many.
  private static func variants(
    of picture: ThumbnailGeometry.Size, isDrawing: Bool = false, _ mode: ImageVariant.Mode,
    frames: ImageVariant.Frames = .first,
    formats: [ImageVariant.Format] = [.auto, .auto, .jpeg, .jpeg, .png, .webp, .gif],
    _ random: inout SeededGenerator
  ) -> [Variant] {
    while true {
      var unboxed = ImageVariant(
        width: 1, height: 1, mode: mode, crop: crop(&random), enlarges: Bool.random(using: &random),
        format: formats.randomElement(using: &random) ?? .auto,
        quality: Int.random(in: ImageVariant.qualityRange, using: &random), frames: frames,
        effects: effects(&random))
      unboxed.sizing = sizing(&random)
      guard let variant = try? Variant(unboxed) else { continue }
      let count = Int.random(in: 1...3, using: &random)
      let boxes = (0..<count).map { _ in
        size(upTo: ImageVariant.sideRange.upperBound, pixelCount: .max, &random)
      }
      let variants = boxes.compactMap { box in
        try? variant.changed { ($0.width, $0.height) = (box.width, box.height) }
      }
      if variants.count == count,
        variants.allSatisfy({
          ThumbnailGeometry(source: picture, isDrawing: isDrawing, variant: $0).scaled.pixelCount
            <= maximumPixelCount
        })
      {
        return variants
      }
    }
  }

  private static func sizing(_ random: inout SeededGenerator) -> Sizing {
    let densities = [1_000, 1_000, 1, 330, 1_500, 8_000].map { Thousandths(count: $0) }
    return Sizing(
      density: densities.randomElement(using: &random) ?? .one,
      keepsDrawingSize: Bool.random(using: &random))
  }

  private static func crop(_ random: inout SeededGenerator) -> ImageVariant.Crop? {
    let place = { (random: inout SeededGenerator) in
      Thousandths(count: Int.random(in: 0...1_000, using: &random))
    }
    let crops: [ImageVariant.Crop?] = [
      nil, nil, .centre, .attention, .entropy, .point(x: place(&random), y: place(&random)),
    ]
    return crops.randomElement(using: &random) ?? nil
  }

  private static func effects(_ random: inout SeededGenerator) -> ImageVariant.Effects {
    guard Int.random(in: 0..<4, using: &random) == 0 else { return .none }
    let sigma = { (random: inout SeededGenerator) in
      Thousandths(count: [0, 1, 700, 9_999, 100_000].randomElement(using: &random) ?? 0)
    }
    return ImageVariant.Effects(
      isGrayscale: Bool.random(using: &random), blur: sigma(&random), sharpen: sigma(&random),
      radius: [0, 1, 20, 16_383].randomElement(using: &random) ?? 0,
      background: Bool.random(using: &random) ? .white : nil)
  }
}

/// Thumbnails of several sizes from one decode.
@Suite(.timeLimit(.minutes(20))) struct SeveralSizesTests {
  private let fixture = ThumbnailFixture()

  private static let sides = [64, 300, 30]

  private func variants(
    format: ImageVariant.Format = .auto, crop: ImageVariant.Crop? = nil,
    frames: ImageVariant.Frames = .first,
    effects: ImageVariant.Effects = .none
  ) throws -> [Variant] {
    try Self.sides.map {
      try Variant(
        ImageVariant(
          width: $0, height: $0, mode: crop == nil ? .fit : .fill, crop: crop, format: format,
          frames: frames, effects: effects))
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
    let variants = try [800, 32].map { try Variant(ImageVariant(width: $0, height: $0)) }
    let made = try fixture.thumbnailer.thumbnails(of: picture.span, as: variants)
    #expect(made.source.decodePath == .planar)
    try check(picture, as: variants, tolerance: 4 * Raster.fortyDecibels)
  }

  @Test func `frames, posters, animations and effects come in several sizes`() throws {
    let animation = try fixture.maker.animation(index: 1, frameCount: 4)
    for frames in [ImageVariant.Frames.number(2), .poster, .all] {
      try check(animation, as: variants(frames: frames), tolerance: 4 * Raster.fortyDecibels)
    }
    let picture = try fixture.maker.scene(width: 900, height: 600, format: .jpeg)
    try check(
      picture, as: variants(effects: ImageVariant.Effects(isGrayscale: true, radius: 5)),
      tolerance: 4 * Raster.fortyDecibels)
  }

  @Test func `boxes of different shapes are covered by one decode`() throws {
    let picture = try fixture.maker.scene(width: 900, height: 600, format: .jpeg)
    let boxes = [(400, 20), (20, 400)]
    let variants = try boxes.map {
      try Variant(ImageVariant(width: $0.0, height: $0.1, mode: .stretch, format: .png))
    }
    try check(picture, as: variants, tolerance: 4 * Raster.fortyDecibels)
  }

  @Test func `one size beyond the limits fails all`() throws {
    let strict = ThumbnailFixture(maxPixels: 900 * 600)
    let picture = try fixture.maker.scene(width: 900, height: 600, format: .jpeg)
    let variants = try [100, 3_000].map {
      try Variant(ImageVariant(width: $0, height: $0, enlarges: true))
    }
    let failure = #expect(throws: Failure.self) {
      try strict.thumbnailer.thumbnails(of: picture.span, as: variants)
    }
    #expect(failure?.code == .tooManyPixels)
  }
}
