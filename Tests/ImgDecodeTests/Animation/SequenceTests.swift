import ImgFacts
import ImgModel
import TestPictures
import Testing

@testable import ImgDecode

/// The frames of AVIF and HEIC sequences.
@Suite(.timeLimit(.minutes(20))) struct SequenceTests {
  private var options = SequenceWriter.Options()
  private static let formats: [PictureFormat] = [.avif, .heif]

  private let fixture = ThumbnailFixture()

  private func card(_ index: Int) -> Raster { Card(index: index, width: 64, height: 64).raster }

  /// Five cards of 64 × 64 pixels.
  private func file(
    _ format: PictureFormat, alpha: [UInt8] = [], _ options: SequenceWriter.Options = .init()
  ) throws -> [UInt8] {
    let frames = try (0..<5).map { try fixture.maker.encode(card($0), as: format) }
    let levels = try alpha.map { level in
      let flat = Raster(width: 64, height: 64) { _, _ in .init(level, level, level) }
      return try fixture.maker.encode(flat, as: format)
    }
    let writer = SequenceWriter(format, options)
    return try #require(writer.file(frames, alpha: levels, size: (64, 64)))
  }

  private func thumbnail(
    of file: [UInt8], _ frames: ImageVariant.Frames, format: ImageVariant.Format = .png
  ) throws -> RenderedThumbnail {
    let variant = try Variant(ImageVariant(width: 64, height: 64, format: format, frames: frames))
    return try fixture.thumbnailer.thumbnail(of: file, as: variant)
  }

  private func raster(of file: [UInt8], _ frames: ImageVariant.Frames) throws -> Raster {
    try fixture.reader.raster(of: thumbnail(of: file, frames).bytes)
  }

  private func failureCode(_ file: [UInt8], _ frames: ImageVariant.Frames) throws -> Failure.Code? {
    fixture.failureCode(
      of: file, as: try Variant(ImageVariant(width: 64, height: 64, frames: frames)))
  }

  /// Expects that it looks like a card, and like no other.
  private func expectCard(_ index: Int, _ shown: Raster) {
    let errors = (0..<5).map { shown.meanSquaredError(against: card($0)) }
    #expect(errors[index] < 300)
    #expect(errors.min() == errors[index])
  }

  // MARK: - Frames

  @Test(arguments: formats, 0..<5)
  func `a frame is chosen by its number`(format: PictureFormat, number: Int) throws {
    expectCard(number, try raster(of: file(format), .number(number)))
  }

  @Test(arguments: formats)
  func `a frame is decoded like a still`(format: PictureFormat) throws {
    let still = try fixture.maker.encode(card(3), as: format)
    let shown = try raster(of: file(format), .number(3))
    #expect(shown.meanSquaredError(against: try raster(of: still, .first)) < 3)
  }

  @Test(arguments: formats)
  func `a frame is chosen by its time, with none behind the last`(format: PictureFormat) throws {
    let file = try file(format)
    expectCard(2, try raster(of: file, .time(.milliseconds(250))))
    expectCard(4, try raster(of: file, .time(.milliseconds(60_000))))
    #expect(try failureCode(file, .number(5)) == .frameOutOfRange)
  }

  @Test(arguments: formats)
  func `without a still the first frame is the picture`(format: PictureFormat) throws {
    let rendered = try thumbnail(of: file(format), .first)
    expectCard(0, try fixture.reader.raster(of: rendered.bytes))
    #expect(rendered.source.frames == 5)
    #expect((rendered.source.width, rendered.source.height) == (64, 64))
  }

  @Test(arguments: formats)
  mutating func `a still is the picture, and no frame`(format: PictureFormat) throws {
    options.still = try fixture.maker.encode(card(4), as: format)
    let file = try file(format, options)
    expectCard(4, try raster(of: file, .first))
    expectCard(0, try raster(of: file, .number(0)))
    #expect(try thumbnail(of: file, .first).source.frames == 5)
  }

  @Test(arguments: formats, [ImageVariant.Format.webp, .gif])
  func `a sequence keeps its frames, delays and loops`(
    format: PictureFormat, output: ImageVariant.Format
  ) throws {
    for repeats in [true, false] {
      var options = SequenceWriter.Options()
      options.repeats = repeats
      let rendered = try thumbnail(of: file(format, options), .all, format: output)
      let facts = try PictureFacts.reading(WholeBytes(rendered.bytes), .all)
      #expect(facts.frameDelays == [100, 100, 100, 100, 100])
      #expect(facts.loopCount == (repeats ? 0 : 1))
      for number in 0..<5 { expectCard(number, try raster(of: rendered.bytes, .number(number))) }
    }
  }

  @Test(arguments: [
    (ImageVariant.Format.webp, [33, 34, 33, 33, 34]), (.gif, [30, 40, 30, 30, 40]),
  ])
  func `delays of no whole units do not drift`(output: ImageVariant.Format, delays: [Int]) throws {
    var options = SequenceWriter.Options()
    // 166.8 ms for the five frames.
    (options.timescale, options.delay) = (30_000, 1_001)
    let rendered = try thumbnail(of: file(.avif, options), .all, format: output)
    let facts = try PictureFacts.reading(WholeBytes(rendered.bytes), .all)
    #expect(facts.frameDelays == delays)
  }

  @Test(arguments: [(ImageVariant.Format.webp, [200, 300]), (.gif, [100, 100, 100, 100, 100])])
  func `WebP has one frame for several that look alike, shown as long as they are`(
    output: ImageVariant.Format, delays: [Int]
  ) throws {
    let cards = try [0, 0, 1, 1, 1].map { try fixture.maker.encode(card($0), as: .avif) }
    let file = try #require(SequenceWriter(.avif).file(cards, size: (64, 64)))
    let rendered = try thumbnail(of: file, .all, format: output)
    let facts = try PictureFacts.reading(WholeBytes(rendered.bytes), .all)
    #expect(facts.frameDelays == delays)
    expectCard(0, try raster(of: rendered.bytes, .time(.milliseconds(199))))
    expectCard(1, try raster(of: rendered.bytes, .time(.milliseconds(200))))
  }

  @Test(arguments: formats)
  func `the poster is the first frame that is not blank`(format: PictureFormat) throws {
    let blank = Raster(width: 64, height: 64) { _, _ in .init(9, 9, 9) }
    let frames = try [blank, card(1), card(2)].map { try fixture.maker.encode($0, as: format) }
    let file = try #require(SequenceWriter(format).file(frames, size: (64, 64)))
    expectCard(1, try raster(of: file, .poster))
  }

  // MARK: - Transparency and orientation

  @Test(arguments: formats)
  func `each frame has its own transparency`(format: PictureFormat) throws {
    let file = try file(format, alpha: [255, 192, 128, 64, 0])
    for (number, level) in [255, 192, 128, 64, 0].enumerated() {
      let shown = try raster(of: file, .number(number))[32, 32]
      #expect(abs(Int(shown.alpha) - level) <= 2)
    }
  }

  @Test func `a sequence without as many frames of transparency is damaged`() throws {
    let file = try file(.avif, alpha: [255, 128])
    #expect(try failureCode(file, .number(1)) == .corruptImage)
  }

  @Test(arguments: [
    ([1, 0, 0, 1], 1), ([-1, 0, 0, 1], 2), ([-1, 0, 0, -1], 3), ([1, 0, 0, -1], 4),
    ([0, 1, 1, 0], 5), ([0, 1, -1, 0], 6), ([0, -1, -1, 0], 7), ([0, -1, 1, 0], 8),
  ])
  func `the matrix of the track turns frames upright`(matrix: [Int32], orientation: Int) throws {
    var options = SequenceWriter.Options()
    options.matrix = matrix
    try expectUpright(options, orientation: orientation)
  }

  @Test(
    arguments: [
      (1, nil, 8), (2, nil, 3), (3, nil, 6), (0, 1, 2), (0, 0, 4), (1, 1, 7), (1, 0, 5),
    ] as [(UInt8, UInt8?, Int)])
  func `frames are turned upright by the description of the samples`(
    quarters: UInt8, axis: UInt8?, orientation: Int
  ) throws {
    var options = SequenceWriter.Options()
    options.transformations = [("irot", [quarters])]
    if let axis { options.transformations.append(("imir", [axis])) }
    try expectUpright(options, orientation: orientation)
  }

  @Test mutating func `the matrix turns what the description of the samples has turned`() throws {
    // Against the clock and with it; mirrored, and then turned with the clock.
    (options.transformations, options.matrix) = ([("irot", [1])], [0, 1, -1, 0])
    try expectUpright(options, orientation: 1)
    options.transformations = [("imir", [1])]
    try expectUpright(options, orientation: 7)
  }

  /// Expects that a frame that is stored in that orientation is shown upright.
  private func expectUpright(_ options: SequenceWriter.Options, orientation: Int) throws {
    let upright = Card(index: 1, width: 128, height: 64).raster
    let stored = upright.stored(forOrientation: orientation)
    let frame = try fixture.maker.encode(stored, as: .heif)
    let size = (width: UInt16(stored.width), height: UInt16(stored.height))
    let file = try #require(SequenceWriter(.heif, options).file([frame], size: size))
    let facts = try PictureFacts.reading(WholeBytes(file), .all)
    #expect((facts.width, facts.height, facts.orientation) == (128, 64, orientation))
    let variant = try Variant(
      ImageVariant(width: 128, height: 128, format: .png, frames: .number(0)))
    let shown = try fixture.raster(of: file, as: variant)
    #expect((shown.width, shown.height) == (128, 64))
    #expect(shown.meanSquaredError(against: upright) < 300)
  }

  @Test(arguments: formats)
  mutating func `only the clean aperture is shown`(format: PictureFormat) throws {
    // 32 × 16 pixels, 16 to the left of the centre and 8 above it.
    options.transformations = [("clap", fractions(32, 16, -16, -8)), ("irot", [1])]
    let file = try file(format, options)
    let facts = try PictureFacts.reading(WholeBytes(file), .all)
    #expect((facts.width, facts.height, facts.orientation) == (16, 32, 8))
    #expect((facts.storedWidth, facts.storedHeight) == (64, 64))
    let rendered = try thumbnail(of: file, .number(2))
    #expect((rendered.source.width, rendered.source.height) == (16, 32))
    let card = card(2)
    let part = Raster(width: 16, height: 32) { x, y in card[31 - y, 16 + x] }
    let shown = try fixture.reader.raster(of: rendered.bytes)
    #expect((shown.width, shown.height) == (16, 32))
    #expect(shown.meanSquaredError(against: part) < 300)
  }

  @Test mutating func `a clean aperture that leaves the picture is ignored`() throws {
    options.transformations = [("clap", fractions(32, 16, -17, -8))]
    expectCard(2, try raster(of: file(.avif, options), .number(2)))
  }

  @Test mutating func `pixels outside the clean aperture count for the limit`() throws {
    options.transformations = [("clap", fractions(8, 8, 0, 0))]
    let limited = ThumbnailFixture(maxPixels: 64 * 64 - 1)
    let code = limited.failureCode(
      of: try file(.avif, options), as: try Variant(ImageVariant(width: 8, height: 8)))
    #expect(code == .tooManyPixels)
  }

  /// Whole numbers as fractions of 1.
  private func fractions(_ numbers: Int32...) -> [UInt8] {
    numbers.flatMap { number in
      [number, 1].flatMap { value in
        stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: value >> $0) }
      }
    }
  }

  @Test func `transparency in HEVC takes all values of a sample`() throws {
    let file = try file(.heif, alpha: [255, 192, 128, 64, 0])
    let sequence = try #require(SequenceFile(WholeBytes(file), as: .heif)).sequence()
    #expect(sequence.alpha?.codePoints?.isFullRange == true)
    #expect(sequence.colours.codePoints == nil)
  }

  // MARK: - What is refused

  @Test(arguments: formats)
  mutating func `several sample descriptions leave only the still`(format: PictureFormat) throws {
    options.descriptionNumber = 2
    #expect(try failureCode(file(format, options), .first) == .unsupportedAnimation)
    options.still = try fixture.maker.encode(card(2), as: format)
    expectCard(2, try raster(of: file(format, options), .first))
    #expect(try failureCode(file(format, options), .all) == .unsupportedAnimation)
  }

  @Test(arguments: formats)
  func `a chunk that declares billions of samples costs nothing`(format: PictureFormat) throws {
    var file = try file(format)
    let table = try #require(file.indices.last { file[$0...].starts(with: "stsc".utf8) })
    let count = table + 4 + 4 + 4 + 4
    file.replaceSubrange(count..<count + 4, with: [0xFF, 0xFF, 0xFF, 0xFF])
    let sequence = try #require(SequenceFile(WholeBytes(file), as: format.imageFormat))
    #expect(try sequence.sequence().frameCount == 5)
  }

  @Test(arguments: formats)
  mutating func `a sequence cut before its tables is damaged`(format: PictureFormat) throws {
    for still in [nil, try fixture.maker.encode(card(4), as: format)] {
      options.still = still
      let whole = try file(format, options)
      let movie = try #require(whole.indices.last { whole[$0...].starts(with: "moov".utf8) })
      for end in [movie - 4, movie] {
        let cut = Array(whole[..<end])
        for selection in [ImageVariant.Frames.number(0), .number(1), .time(.zero), .all] {
          #expect(try failureCode(cut, selection) == .corruptImage)
        }
        for selection in [ImageVariant.Frames.first, .poster] {
          #expect(try failureCode(cut, selection) == (still == nil ? .corruptImage : nil))
        }
      }
    }
  }

  @Test mutating func `the still is the poster of a sequence whose tables are damaged`() throws {
    options.still = try fixture.maker.encode(card(4), as: .avif)
    var file = try file(.avif, options)
    let table = try #require(file.indices.last { file[$0...].starts(with: "stsc".utf8) })
    file[table] = 0
    expectCard(4, try raster(of: file, .poster))
    expectCard(4, try raster(of: file, .first))
    #expect(try failureCode(file, .number(1)) == .corruptImage)
  }

  @Test(arguments: formats)
  mutating func `another codec leaves only the still`(format: PictureFormat) throws {
    options.sampleType = "avc1"
    #expect(try failureCode(file(format, options), .first) == .unsupportedAnimation)
    options.still = try fixture.maker.encode(card(2), as: format)
    let file = try file(format, options)
    for selection in [ImageVariant.Frames.first, .poster, .number(0)] {
      expectCard(2, try raster(of: file, selection))
    }
    for selection in [ImageVariant.Frames.all, .number(1), .time(.zero)] {
      #expect(try failureCode(file, selection) == .unsupportedAnimation)
    }
  }

  @Test(arguments: formats)
  func `a frame of another size than the track is damage`(format: PictureFormat) throws {
    let frames = try [card(0), Card(index: 1, width: 128, height: 128).raster].map {
      try fixture.maker.encode($0, as: format)
    }
    let file = try #require(SequenceWriter(format).file(frames, size: (64, 64)))
    #expect(try failureCode(file, .number(1)) == .corruptImage)
  }

  @Test(arguments: formats)
  func `a frame is damaged if its own sample is`(format: PictureFormat) throws {
    let whole = try file(format)
    let track = try #require(SequenceFile(WholeBytes(whole), as: format.imageFormat)).sequence()
    let sample = track.colours.samples[2]
    var changed = whole
    for index in sample.prefix(16) { changed[index] = 0xFF }
    let codes = try (0..<3).map { try failureCode(changed, .number($0)) }
    #expect(codes == [nil, nil, .corruptImage])
    #expect(try failureCode(changed, .all) == .corruptImage)
  }

  @Test(arguments: formats)
  func `a sequence with damaged tables is refused or decoded`(format: PictureFormat) throws {
    let whole = try file(format, alpha: [255, 128, 0, 9, 7])
    let movie = try #require(whole.indices.last { whole[$0...].starts(with: "moov".utf8) })
    for index in stride(from: movie, to: whole.count, by: 3) {
      var changed = whole
      changed[index] ^= 0x81
      _ = try failureCode(changed, .number(4))
    }
  }
}
