import ImgModel
import TestPictures
import Testing

@testable import ImgDecode

/// What is told of the pixels of pictures.
@Suite(.timeLimit(.minutes(20))) struct PixelFactsTests {
  private let fixture: ThumbnailFixture

  init() throws {
    fixture = try ThumbnailFixture()
  }

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

  @Test func `a transparent picture has no colours`() throws {
    let raster = Raster(width: 20, height: 10) { _, _ in .init(200, 30, 30, alpha: 0) }
    let file = try fixture.maker.encode(raster, as: .png, hasAlpha: true)
    #expect(try facts(of: file).palette.isEmpty && facts(of: file).dominant == nil)
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
    var limits = Limits()
    limits.maxPixels = 100
    let strict = try ThumbnailFixture(limits: limits).thumbnailer
    let failure = #expect(throws: Failure.self) { try strict.pixelFacts(of: file.span) }
    #expect(failure?.code == .tooManyPixels)
  }
}
