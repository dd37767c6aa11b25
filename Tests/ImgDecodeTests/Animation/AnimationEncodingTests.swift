import ImgFacts
import ImgModel
import TestPictures
import Testing

@testable import ImgDecode

/// Animations as they are written.
@Suite(.timeLimit(.minutes(20))) struct AnimationEncodingTests {
  private let fixture: ThumbnailFixture

  init() throws {
    fixture = try ThumbnailFixture()
  }

  /// Cards of 64 × 48 pixels, 50 ms and 200 ms long, and so on.
  private func animation(
    _ encoding: AnimationEncoding, hasAlpha: Bool = false, delays: [Int] = [50, 200, 0],
    loopCount: Int = 3
  ) throws -> [UInt8] {
    var strip = try FrameStrip(.init(width: 64, height: 48), capacity: 3)
    for index in 0..<3 {
      let png = try fixture.maker.card(
        index: index, width: 64, height: 48, format: .png, hasAlpha: hasAlpha)
      try unsafe png.withUnsafeBufferPointer { buffer in
        let picture = try VipsPicture(unsafe PictureInput(buffer), in: .png, .whole)
        try strip.append(try picture.firstFrame(for: picture.header.stored).inMemory())
      }
    }
    let timeline = Timeline(delays: delays, loopCount: loopCount)
    return try encoding.encode(strip, timeline, quality: 80)
  }

  @Test(arguments: [AnimationEncoding.webp, .gif], [0, 1, 3])
  func `delays and loops are written`(encoding: AnimationEncoding, loopCount: Int) throws {
    let file = try animation(encoding, loopCount: loopCount)
    let facts = try PictureFacts.reading(WholeBytes(file), .all)
    #expect(facts.format == encoding.format)
    #expect(facts.frameDelays == [50, 200, 100])
    #expect(facts.loopCount == loopCount)
    #expect((facts.width, facts.height) == (64, 48))
  }

  @Test(arguments: [(AnimationEncoding.webp, 16_777_215), (.gif, 655_350)])
  func `a delay is at most as long as the format can tell`(
    encoding: AnimationEncoding, longest: Int
  ) throws {
    let file = try animation(encoding, delays: [200, 65_535_000, 100])
    let facts = try PictureFacts.reading(WholeBytes(file), .all)
    #expect(facts.frameDelays == [200, longest, 100])
  }

  @Test(arguments: [AnimationEncoding.webp, .gif])
  func `frames are written in their order`(encoding: AnimationEncoding) throws {
    let file = try animation(encoding)
    let frames = try unsafe file.withUnsafeBufferPointer { buffer in
      try VipsFrames(unsafe PictureInput(buffer), in: encoding.format).rasters()
    }
    for (index, frame) in frames.enumerated() {
      let card = Card(index: index, width: 64, height: 48).raster
      #expect(frame.meanSquaredError(against: card) < 200, "frame \(index)")
    }
  }

  @Test(arguments: [AnimationEncoding.webp, .gif])
  func `transparent pixels stay transparent`(encoding: AnimationEncoding) throws {
    let file = try animation(encoding, hasAlpha: true)
    let frames = try unsafe file.withUnsafeBufferPointer { buffer in
      try VipsFrames(unsafe PictureInput(buffer), in: encoding.format).rasters()
    }
    let card = Card(index: 0, width: 64, height: 48, hasAlpha: true).raster
    for frame in frames { #expect(frame.transparentCount == card.transparentCount) }
    #expect(card.transparentCount > 0)
  }

  @Test func `frames without a transparent pixel have no alpha channel`() throws {
    var strip = try FrameStrip(.init(width: 2, height: 1), capacity: 1)
    var canvas = FrameCanvas(.init(width: 2, height: 1))
    let area = FrameArea(left: 0, top: 0, width: 2, height: 1)
    let samples = [UInt8](repeating: 255, count: 8)
    canvas.draw(samples.span, on: area, .source)
    try strip.append(try canvas.image())
    let animation = try strip.animation(delays: [100], loopCount: 0)
    #expect(animation.bandCount == 3)
  }

  @Test func `more frames than libvips has rows for are no trap`() throws {
    #expect(throws: VipsError.self) {
      _ = try FrameStrip(.init(width: 1, height: 16_383), capacity: 65_536)
    }
  }
}

extension Raster {
  fileprivate var transparentCount: Int {
    stride(from: 3, to: bytes.count, by: 4).count { bytes[$0] == 0 }
  }
}
