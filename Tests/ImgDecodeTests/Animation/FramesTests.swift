import ImgModel
import TestPictures
import Testing

@testable import ImgDecode

/// Frames of GIF and WebP.
@Suite(.timeLimit(.minutes(20))) struct VipsFramesTests {
  private static let red = Raster.Pixel(255, 0, 0)
  private static let clear = Raster.Pixel(0, 0, 0, alpha: 0)

  private let fixture = ThumbnailFixture()

  private func frames(of file: [UInt8], as format: ImageFormat) throws -> [Raster] {
    try unsafe file.withUnsafeBufferPointer { buffer in
      try VipsFrames(unsafe PictureInput(buffer), in: format).rasters()
    }
  }

  @Test(arguments: [PictureFormat.gif, .losslessWebP])
  func `an animation has its frames in their order`(format: PictureFormat) throws {
    let file = try fixture.maker.animation(index: 5, frameCount: 4, format: format)
    let frames = try frames(of: file, as: format.imageFormat)
    try #require(frames.count == 4)
    for (number, frame) in frames.enumerated() {
      let card = Card(index: 5 + number, width: 64, height: 48).raster
      #expect(frame.meanSquaredError(against: card) < 60, "frame \(number)")
    }
  }

  /// A GIF of 4 × 4 pixels, without a transparent colour, whose frames are red squares of 2 × 2.
  private func squares(_ squares: (left: UInt8, top: UInt8, disposal: UInt8)...) -> [UInt8] {
    let screen: [UInt8] = [4, 0, 4, 0, 0x80, 0, 0, 255, 0, 0, 0, 0, 255]
    // Four times index 0 in codes of 3 bits: clear, 0, 0, 0, 0, end.
    let pixels: [UInt8] = [2, 3, 0x04, 0x00, 0x05, 0]
    return Array("GIF89a".utf8) + screen
      + squares.flatMap { square in
        [0x21, 0xF9, 4, square.disposal << 2, 10, 0, 0, 0]
          + [0x2C, square.left, 0, square.top, 0, 2, 0, 2, 0, 0] + pixels
      } + [0x3B]
  }

  /// The pixels on the diagonal. Those that are transparent have no colour.
  private func diagonals(of file: [UInt8]) throws -> [[Raster.Pixel]] {
    try frames(of: file, as: .gif).map { frame in
      (0..<4).map { frame[$0, $0].alpha == 0 ? Self.clear : frame[$0, $0] }
    }
  }

  @Test func `what no frame of a GIF has drawn is transparent`() throws {
    let diagonals = try diagonals(of: squares((0, 0, 1), (2, 2, 1)))
    #expect(
      diagonals == [
        [Self.red, Self.red, Self.clear, Self.clear], [Self.red, Self.red, Self.red, Self.red],
      ])
  }

  @Test func `the area of a frame of a GIF becomes transparent`() throws {
    let diagonals = try diagonals(of: squares((0, 0, 2), (2, 2, 1)))
    #expect(diagonals[1] == [Self.clear, Self.clear, Self.red, Self.red])
  }

  @Test func `the area of a frame of a GIF becomes what it was before`() throws {
    let diagonals = try diagonals(of: squares((0, 0, 1), (1, 1, 3), (3, 3, 1)))
    #expect(diagonals[1] == [Self.red, Self.red, Self.red, Self.clear])
    #expect(diagonals[2] == [Self.red, Self.red, Self.clear, Self.red])
  }

  @Test func `damage in a later frame is an error`() throws {
    var file = squares((0, 0, 1), (2, 2, 1))
    // The pixels of the second frame end before the first of them: clear, end.
    file.replaceSubrange(file.count - 6..<file.count - 1, with: [1, 0x2C, 0])
    #expect(throws: DecodeError.self) { try frames(of: file, as: .gif) }
  }
}

/// Frames of animated JPEG XL.
@Suite(.timeLimit(.minutes(20))) struct JXLTests {
  private static let colours = [
    Raster.Pixel(255, 0, 0), Raster.Pixel(0, 255, 0), Raster.Pixel(0, 0, 255),
  ]

  private let fixture = ThumbnailFixture()

  private func raster(_ colour: Raster.Pixel) -> Raster {
    Raster(width: 8, height: 4) { x, y in x + y == 0 ? Raster.Pixel(0, 0, 0) : colour }
  }

  /// A red, a green and a blue frame, each with a black pixel in the corner.
  private func file(
    ticks: [UInt32] = [100, 100, 100], _ change: (inout JXLWriter.Settings) -> Void = { _ in }
  ) -> [UInt8] {
    var settings = JXLWriter.Settings()
    change(&settings)
    let frames = zip(Self.colours, ticks).map { JXLWriter.Frame(raster($0), ticks: $1) }
    return JXLWriter.file(frames, settings)
  }

  private func frames(of file: [UInt8], startingAt first: Int = 0) throws -> [Raster] {
    try unsafe file.withUnsafeBufferPointer { buffer in
      try JXLFrames(unsafe PictureInput(buffer), startingAt: first).rasters()
    }
  }

  private func timeline(of file: [UInt8]) throws -> Timeline {
    try unsafe file.withUnsafeBufferPointer { buffer in
      try JXLDecoder(unsafe PictureInput(buffer), .headers).timeline()
    }
  }

  // MARK: - Pixels

  @Test func `the pixels are those that were stored`() throws {
    let frames = try frames(of: file())
    #expect(frames.map(\.bytes) == Self.colours.map { raster($0).bytes })
  }

  @Test(arguments: 0..<3) func `frames can be skipped`(first: Int) throws {
    let frames = try frames(of: file(), startingAt: first)
    #expect(frames.map { $0[5, 2] } == Array(Self.colours[first...]))
  }

  @Test func `there is nothing behind the last frame`() throws {
    #expect(try frames(of: file(), startingAt: 3).isEmpty)
  }

  @Test(arguments: [UInt8(0), 128, 255])
  func `transparency is kept`(alpha: UInt8) throws {
    let pixel = Raster.Pixel(200, 100, 50, alpha: alpha)
    let picture = Raster(width: 8, height: 4) { _, _ in pixel }
    var settings = JXLWriter.Settings()
    settings.hasAlpha = true
    let file = JXLWriter.file([.init(picture), .init(raster(Self.colours[0]))], settings)
    #expect(try frames(of: file).map { $0[1, 1] } == [pixel, Self.colours[0]])
  }

  /// A lossy file is decoded to sRGB. A lossless one keeps its colours, and their profile is obeyed.
  @Test(arguments: [true, false]) func `other colours become sRGB`(isLossless: Bool) throws {
    let picture = Raster(width: 8, height: 4) { _, _ in .init(200, 100, 100) }
    var settings = JXLWriter.Settings()
    (settings.isDisplayP3, settings.isLossless) = (true, isLossless)
    let file = JXLWriter.file([.init(picture), .init(picture)], settings)
    let decoded = Raster.Pixel(215, 93, 97)
    #expect(try fixture.raster(of: file)[3, 2].resembles(decoded, tolerance: 3))
    let stored = isLossless ? Raster.Pixel(200, 100, 100) : decoded
    #expect(try frames(of: file)[1][3, 2].resembles(stored, tolerance: 3))
  }

  @Test func `a gray picture stays gray`() throws {
    let frames = [UInt8(40), 200].map { level in
      JXLWriter.Frame(Raster(width: 8, height: 4) { _, _ in .init(level, level, level) })
    }
    var settings = JXLWriter.Settings()
    settings.isGray = true
    let variant = try Variant(ImageVariant(width: 8, height: 8, format: .png, frames: .number(1)))
    let rendered = try fixture.thumbnailer.thumbnail(
      of: JXLWriter.file(frames, settings), as: variant)
    #expect(try fixture.reader.raster(of: rendered.bytes)[3, 3] == .init(200, 200, 200))
  }

  @Test func `frames are turned upright`() throws {
    let file = file { $0.orientation = 6 }
    let frame = try #require(try frames(of: file).first)
    #expect((frame.width, frame.height) == (4, 8))
    #expect(frame[3, 0] == Raster.Pixel(0, 0, 0) && frame[0, 0] == Self.colours[0])
    let source = try fixture.thumbnailer.thumbnail(of: file, as: .standard).source
    #expect((source.width, source.height, source.frames) == (4, 8, 3))
  }

  // MARK: - The still

  @Test func `the still is the first frame`() throws {
    #expect(try fixture.raster(of: file())[5, 2] == Self.colours[0])
  }

  @Test func `an animation of one frame is a still`() throws {
    let file = JXLWriter.file([.init(raster(Self.colours[1]))])
    let variant = try Variant(ImageVariant(width: 8, height: 8, frames: .all))
    let rendered = try fixture.thumbnailer.thumbnail(of: file, as: variant)
    #expect(rendered.source.frames == 1 && rendered.thumbnail.format == .jpeg)
  }

  // MARK: - Time

  @Test func `ticks become milliseconds`() throws {
    let file = file(ticks: [1, 3, 25]) { settings in
      settings.ticksPerSecond = 16
      settings.loopCount = 3
    }
    #expect(try timeline(of: file) == Timeline(delays: [63, 187, 1_563], loopCount: 3))
  }

  @Test func `a delay has an end`() throws {
    let file = file(ticks: [.max, 1, 1]) { $0.ticksPerSecond = 1 }
    #expect(try timeline(of: file).delays == [Int(Int32.max), 1_000, 1_000])
  }

  // MARK: - Limits and damage

  @Test func `the pixels are counted before the frames are`() throws {
    var limits = Limits()
    limits.maxPixels = 31
    let cut = Array(file().prefix(file().count / 2))
    #expect(fixture.failureCode(of: cut) == .corruptImage)
    #expect(ThumbnailFixture(limits: limits).failureCode(of: cut) == .tooManyPixels)
    limits.maxPixels = 32
    limits.maxFrames = 2
    #expect(ThumbnailFixture(limits: limits).failureCode(of: file()) == .tooManyFrames)
    limits.maxFrames = 3
    let variant = try Variant(ImageVariant(width: 8, height: 8))
    #expect(ThumbnailFixture(limits: limits).failureCode(of: file(), as: variant) == nil)
  }

  @Test func `every cut is damage`() throws {
    let file = file()
    for count in 0..<file.count {
      #expect(throws: DecodeError.self, "\(count) bytes") { try frames(of: Array(file[..<count])) }
    }
  }

  @Test func `a byte that changed ends in pixels or in damage`() throws {
    let file = file()
    let codes: Set<Failure.Code?> = [nil, .corruptImage, .unsupportedFormat, .notAnImage]
    let variant = try Variant(ImageVariant(width: 8, height: 8, format: .webp, frames: .all))
    let narrow = ThumbnailFixture(maxPixels: 10_000)
    for index in file.indices {
      var changed = file
      changed[index] ^= 0x55
      let code = narrow.failureCode(of: changed, as: variant)
      #expect(codes.contains(code) || code == .tooManyPixels, "byte \(index): \(code as Any)")
    }
  }
}

/// Which frames show nothing yet.
struct BlankFrameTests {
  private func isBlank(_ pixelAt: (_ x: Int, _ y: Int) -> Raster.Pixel) -> Bool {
    isBlank(Raster(width: 100, height: 50, pixelAt: pixelAt).bytes, bandCount: 4)
  }

  private func isBlank(_ samples: [UInt8], bandCount: Int) -> Bool {
    BlankFrame.isBlank(samples.span, bandCount: bandCount)
  }

  @Test func `one colour is blank`() {
    #expect(isBlank { _, _ in .init(0, 0, 0) })
    #expect(isBlank { _, _ in .init(90, 200, 10) })
  }

  @Test func `what is transparent has no colour`() {
    #expect(isBlank { x, y in .init(UInt8(x), UInt8(y), 0, alpha: 0) })
  }

  @Test func `grain is blank`() {
    #expect(isBlank { x, y in .init(UInt8(10 + (x * 7 + y * 3) % 5), 12, 11) })
  }

  @Test func `few pixels of another colour are a picture`() {
    // Two of a thousand.
    #expect(!isBlank { x, y in x == 40 && y % 5 == 0 ? .init(0, 0, 0) : .init(255, 255, 255) })
  }

  @Test func `a shape that is only transparent elsewhere is a picture`() {
    #expect(!isBlank { x, _ in .init(0, 0, 0, alpha: x < 50 ? 255 : 0) })
  }

  @Test func `pixels without an alpha channel are judged, too`() {
    #expect(isBlank(Array(repeating: 0, count: 300), bandCount: 3))
    let green = (0..<300).map { UInt8($0 % 3 == 1 ? $0 % 200 : 0) }
    #expect(!isBlank(green, bandCount: 3))
  }
}

/// When the frames of an animation are shown.
struct TimelineTests {
  private let timeline = Timeline(delays: [50, 200, 30], loopCount: 0)

  @Test(arguments: [(0, 0), (49, 0), (50, 1), (249, 1), (250, 2), (279, 2)])
  func `a frame is shown until its delay is over`(milliseconds: Int, frame: Int) {
    #expect(timeline.frame(at: milliseconds) == frame)
  }

  @Test(arguments: [280, 281, 86_400_000])
  func `after the end the last frame is shown`(milliseconds: Int) {
    #expect(timeline.frame(at: milliseconds) == 2)
  }

  @Test func `a delay of at most 10 ms is played as 100 ms`() {
    let timeline = Timeline(delays: [0, 10, 11, 20], loopCount: 1)
    #expect(timeline.delays == [100, 100, 11, 20])
    #expect(timeline.frame(at: 99) == 0 && timeline.frame(at: 100) == 1)
  }
}
