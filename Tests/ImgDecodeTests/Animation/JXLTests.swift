import ImgModel
import TestPictures
import Testing

@testable import ImgDecode

/// Frames of animated JPEG XL.
@Suite(.timeLimit(.minutes(20))) struct JXLTests {
  private static let colours = [
    Raster.Pixel(255, 0, 0), Raster.Pixel(0, 255, 0), Raster.Pixel(0, 0, 255),
  ]

  private let fixture: ThumbnailFixture

  init() throws {
    fixture = try ThumbnailFixture()
  }

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
    let variant = try Variant(width: 8, height: 8, format: .png, frames: .number(1))
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
    let variant = try Variant(width: 8, height: 8, frames: .all)
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
    #expect(try ThumbnailFixture(limits: limits).failureCode(of: cut) == .tooManyPixels)
    limits.maxPixels = 32
    limits.maxFrames = 2
    #expect(try ThumbnailFixture(limits: limits).failureCode(of: file()) == .tooManyFrames)
    limits.maxFrames = 3
    let variant = try Variant(width: 8, height: 8)
    #expect(try ThumbnailFixture(limits: limits).failureCode(of: file(), as: variant) == nil)
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
    let variant = try Variant(width: 8, height: 8, format: .webp, frames: .all)
    var limits = Limits()
    limits.maxPixels = 10_000
    let narrow = try ThumbnailFixture(limits: limits)
    for index in file.indices {
      var changed = file
      changed[index] ^= 0x55
      let code = narrow.failureCode(of: changed, as: variant)
      #expect(codes.contains(code) || code == .tooManyPixels, "byte \(index): \(code as Any)")
    }
  }
}
