import ImgFacts
import ImgModel
import TestPictures
import Testing

@testable import ImgDecode

/// Thumbnails of frames, and of whole animations.
@Suite(.timeLimit(.minutes(20))) struct FrameChoiceTests {
  private static let animated: [PictureFormat] = [.gif, .losslessWebP, .png, .jxl]

  private let fixture = ThumbnailFixture()

  private func card(_ index: Int) -> Raster { Card(index: index, width: 64, height: 48).raster }

  /// Four cards of 64 × 48 pixels, 100 ms each.
  private func animation(_ format: PictureFormat) throws -> [UInt8] {
    switch format {
    case .png:
      APNGWriter.file(
        try (0..<4).map { .init(try fixture.maker.encode(card($0), as: .png)) }, loopCount: 2)
    case .jxl: JXLWriter.file((0..<4).map { .init(card($0)) })
    default: try fixture.maker.animation(index: 0, frameCount: 4, format: format)
    }
  }

  private func thumbnail(
    of file: [UInt8], _ frames: ImageVariant.Frames, format: ImageVariant.Format = .png
  ) throws -> RenderedThumbnail {
    let variant = try Variant(ImageVariant(width: 64, height: 64, format: format, frames: frames))
    return try fixture.thumbnailer.thumbnail(of: file, as: variant)
  }

  private func shows(_ frames: ImageVariant.Frames, of file: [UInt8], _ index: Int) throws -> Bool {
    let shown = try fixture.reader.raster(of: thumbnail(of: file, frames).bytes)
    let errors = (0..<5).map { shown.meanSquaredError(against: card($0)) }
    return errors[index] < 300 && errors.min() == errors[index]
  }

  private func failureCode(
    of file: [UInt8], _ frames: ImageVariant.Frames, format: ImageVariant.Format = .auto
  ) throws -> Failure.Code? {
    fixture.failureCode(
      of: file, as: try Variant(ImageVariant(width: 64, height: 64, format: format, frames: frames))
    )
  }

  // MARK: - One frame

  @Test(arguments: animated, 0..<4)
  func `a frame is chosen by its number`(format: PictureFormat, number: Int) throws {
    #expect(try shows(.number(number), of: animation(format), number))
  }

  @Test(arguments: animated)
  func `there is no frame behind the last`(format: PictureFormat) throws {
    let file = try animation(format)
    let failure = #expect(throws: Failure.self) { try thumbnail(of: file, .number(4)) }
    #expect(failure?.code == .frameOutOfRange)
    #expect(failure?.detail == "frame 4 does not exist: the picture has 4 frames, numbered 0 to 3")
  }

  @Test(arguments: [PictureFormat.jpeg, .png])
  func `a still has one frame`(format: PictureFormat) throws {
    let picture = try fixture.maker.card(index: 1, width: 64, height: 48, format: format)
    #expect(try shows(.number(0), of: picture, 1))
    let failure = #expect(throws: Failure.self) { try thumbnail(of: picture, .number(1)) }
    #expect(failure?.code == .frameOutOfRange)
    #expect(failure?.detail == "frame 1 does not exist: the picture has 1 frame, numbered 0")
  }

  @Test(arguments: animated)
  func `a frame is chosen by the time at which it is shown`(format: PictureFormat) throws {
    let file = try animation(format)
    #expect(try shows(.time(.zero), of: file, 0))
    #expect(try shows(.time(.milliseconds(199)), of: file, 1))
    #expect(try shows(.time(.milliseconds(200)), of: file, 2))
    #expect(try shows(.time(.milliseconds(60_000)), of: file, 3))
  }

  @Test func `the pages of a document are chosen by their number`() throws {
    let file = try fixture.maker.animation(index: 0, frameCount: 3, format: .tiff)
    #expect(try shows(.number(2), of: file, 2))
    #expect(try shows(.time(.milliseconds(1_000)), of: file, 0))
    #expect(try thumbnail(of: file, .all, format: .auto).thumbnail.format == .jpeg)
  }

  @Test func `the picture for other readers is shown first, and is no frame`() throws {
    let pngs = try (0..<3).map { try fixture.maker.encode(card($0), as: .png) }
    let file = APNGWriter.file([.init(pngs[1]), .init(pngs[2])], defaultImage: pngs[0])
    #expect(try shows(.first, of: file, 0))
    #expect(try shows(.number(0), of: file, 1))
    #expect(try thumbnail(of: file, .first).source.frames == 2)
  }

  @Test(arguments: [(PictureFormat.avif, "avis"), (.heif, "hevc")])
  func `of a sequence without a movie only the still is shown`(
    format: PictureFormat, brand: String
  ) throws {
    let still = try fixture.maker.card(index: 2, width: 64, height: 48, format: format)
    var file = still
    file.replaceSubrange(8..<12, with: brand.utf8)
    #expect(try thumbnail(of: file, .first).bytes == thumbnail(of: still, .first).bytes)
    #expect(try thumbnail(of: file, .poster).bytes == thumbnail(of: still, .first).bytes)
    for frames in [ImageVariant.Frames.all, .number(0), .number(1), .time(.zero)] {
      #expect(try failureCode(of: file, frames) == .corruptImage)
    }
  }

  // MARK: - A frame that shows something

  private func poster(_ pictures: Raster...) throws -> Raster {
    let frames = try pictures.map { APNGWriter.Frame(try fixture.maker.encode($0, as: .png)) }
    return try fixture.reader.raster(of: thumbnail(of: APNGWriter.file(frames), .poster).bytes)
  }

  private func blank(_ level: UInt8) -> Raster {
    Raster(width: 64, height: 48) { _, _ in .init(level, level, level) }
  }

  @Test func `the poster is the first frame that is not blank`() throws {
    let shown = try poster(blank(0), blank(255), card(2), card(3))
    #expect(shown.meanSquaredError(against: card(2)) < 1)
  }

  @Test func `if all frames are blank, the poster is the first`() throws {
    let shown = try poster(blank(40), blank(90))
    #expect(shown.meanSquaredError(against: blank(40)) < 1)
  }

  // MARK: - All frames

  @Test(arguments: animated, [ImageVariant.Format.auto, .webp, .gif])
  func `an animation keeps its frames, delays and loops`(
    format: PictureFormat, output: ImageVariant.Format
  ) throws {
    let file = try animation(format)
    let rendered = try thumbnail(of: file, .all, format: output)
    let wanted = try PictureFacts.reading(WholeBytes(file), .all)
    let facts = try PictureFacts.reading(WholeBytes(rendered.bytes), .all)
    #expect(facts.format == (output == .gif ? .gif : .webp))
    #expect(rendered.thumbnail.format == facts.format)
    #expect(facts.frameDelays == [100, 100, 100, 100])
    #expect(facts.loopCount == wanted.loopCount)
    #expect((facts.width, facts.height) == (64, 48))
    for number in 0..<4 { #expect(try shows(.number(number), of: rendered.bytes, number)) }
  }

  @Test func `every frame is scaled, cropped and changed alike`() throws {
    let variant = try Variant(
      ImageVariant(
        width: 20, height: 20, mode: .fill, crop: .attention, format: .webp, frames: .all,
        effects: ImageVariant.Effects(isGrayscale: true, radius: 10, padding: 3)))
    let rendered = try fixture.thumbnailer.thumbnail(of: animation(.gif), as: variant)
    #expect((rendered.thumbnail.width, rendered.thumbnail.height) == (26, 26))
    for number in 0..<4 {
      let frame = try fixture.reader.raster(
        of: thumbnail(of: rendered.bytes, .number(number)).bytes)
      #expect(frame[1, 13].alpha == 0 && frame[3, 3].alpha == 0 && frame[13, 13].alpha == 255)
      let centre = frame[13, 13]
      #expect(abs(Int(centre.red) - Int(centre.blue)) < 12)
    }
  }

  @Test(
    arguments: [
      (.auto, 40, 20, 40, 20), (.auto, 20, 40, 20, 15), (.fillDown, 400, 100, 64, 16),
    ] as [(ImageVariant.Mode, Int, Int, Int, Int)])
  func `frames have the size that their proportions give in the box`(
    mode: ImageVariant.Mode, boxWidth: Int, boxHeight: Int, width: Int, height: Int
  ) throws {
    let variant = try Variant(
      ImageVariant(
        width: boxWidth, height: boxHeight, mode: mode, crop: .entropy, format: .webp, frames: .all)
    )
    let rendered = try fixture.thumbnailer.thumbnail(of: animation(.gif), as: variant)
    let facts = try PictureFacts.reading(WholeBytes(rendered.bytes), .all)
    #expect((facts.width, facts.height) == (width, height))
    #expect(facts.frameDelays == [100, 100, 100, 100])
  }

  @Test(arguments: [PictureFormat.jpeg, .png, .avif, .jxl])
  func `a still stays one`(format: PictureFormat) throws {
    let picture = try fixture.maker.card(index: 1, format: format)
    #expect(try thumbnail(of: picture, .all, format: .auto).thumbnail.format == .jpeg)
    #expect(try thumbnail(of: picture, .all, format: .gif).thumbnail.format == .gif)
  }

  @Test func `the pixels of all frames count`() throws {
    let narrow = ThumbnailFixture(maxPixels: 64 * 48 * 4 - 1)
    let file = try animation(.gif)
    let variants = try [ImageVariant.Frames.all, .first].map {
      try Variant(ImageVariant(width: 64, height: 64, frames: $0))
    }
    #expect(narrow.failureCode(of: file, as: variants[0]) == .tooManyPixels)
    #expect(narrow.failureCode(of: file, as: variants[1]) == nil)
  }

  @Test(arguments: animated)
  func `an animation that is cut in a later frame is damaged`(format: PictureFormat) throws {
    let file = try animation(format)
    let cut = Array(file[..<(file.count * 9 / 10)])
    #expect(try failureCode(of: cut, .all) == .corruptImage)
    #expect(try failureCode(of: cut, .time(.milliseconds(300))) == .corruptImage)
  }

  @Test func `a frame of a GIF is damaged if its own pixels are cut`() throws {
    let file = try animation(.gif)
    // In the third frame.
    let cut = Array(file[..<(file.count * 7 / 10)])
    let codes = try (0..<3).map { try failureCode(of: cut, .number($0)) }
    #expect(codes == [nil, nil, .corruptImage])
  }
}

/// Animations as they are written.
@Suite(.timeLimit(.minutes(20))) struct AnimationEncodingTests {
  private let fixture = ThumbnailFixture()

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

  @Test(arguments: [AnimationEncoding(.webp), AnimationEncoding(.gif)], [0, 1, 3])
  func `delays and loops are written`(encoding: AnimationEncoding, loopCount: Int) throws {
    let file = try animation(encoding, loopCount: loopCount)
    let facts = try PictureFacts.reading(WholeBytes(file), .all)
    #expect(facts.format == encoding.format)
    #expect(facts.frameDelays == [50, 200, 100])
    #expect(facts.loopCount == loopCount)
    #expect((facts.width, facts.height) == (64, 48))
  }

  @Test(arguments: [(AnimationEncoding(.webp), 16_777_215), (AnimationEncoding(.gif), 655_350)])
  func `a delay is at most as long as the format can tell`(
    encoding: AnimationEncoding, longest: Int
  ) throws {
    let file = try animation(encoding, delays: [200, 65_535_000, 100])
    let facts = try PictureFacts.reading(WholeBytes(file), .all)
    #expect(facts.frameDelays == [200, longest, 100])
  }

  @Test(arguments: [AnimationEncoding(.webp), AnimationEncoding(.gif)])
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
