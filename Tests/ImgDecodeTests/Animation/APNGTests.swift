import ImgFacts
import TestPictures
import Testing

@testable import ImgDecode

/// Frames of animated PNGs.
@Suite(.timeLimit(.minutes(20))) struct APNGTests {
  private static let red = Raster.Pixel(255, 0, 0)
  private static let green = Raster.Pixel(0, 255, 0)
  private static let blue = Raster.Pixel(0, 0, 255)
  private static let clear = Raster.Pixel(0, 0, 0, alpha: 0)

  private let fixture = ThumbnailFixture()

  private func png(
    _ colour: Raster.Pixel, width: Int = 4, height: Int = 2, format: PictureFormat = .png
  ) throws -> [UInt8] {
    let raster = Raster(width: width, height: height) { _, _ in colour }
    return try fixture.maker.encode(raster, as: format, hasAlpha: true)
  }

  private func frames(of file: [UInt8], startingAt first: Int = 0) throws -> [Raster] {
    try unsafe file.withUnsafeBufferPointer { buffer in
      try APNGFrames(unsafe PictureInput(buffer), startingAt: first).rasters()
    }
  }

  /// The pixels of the first row of each frame.
  private func rows(of file: [UInt8]) throws -> [[Raster.Pixel]] {
    try frames(of: file).map { frame in (0..<frame.width).map { frame[$0, 0] } }
  }

  /// A red canvas, then a green pixel on its second column, then a blue one on its third.
  private func file(
    first: APNGWriter.Disposal = .none, second: APNGWriter.Disposal = .none
  ) throws -> [UInt8] {
    APNGWriter.file([
      .init(try png(Self.red), disposal: first),
      .init(try png(Self.green, width: 1, height: 1), left: 1, disposal: second),
      .init(try png(Self.blue, width: 1, height: 1), left: 2),
    ])
  }

  // MARK: - Disposal

  @Test func `a frame stays when the next one is drawn`() throws {
    let rows = try rows(of: file())
    #expect(
      rows == [
        [Self.red, Self.red, Self.red, Self.red],
        [Self.red, Self.green, Self.red, Self.red],
        [Self.red, Self.green, Self.blue, Self.red],
      ])
  }

  @Test func `the area of a frame becomes transparent`() throws {
    let rows = try rows(of: file(second: .background))
    #expect(rows[1] == [Self.red, Self.green, Self.red, Self.red])
    #expect(rows[2] == [Self.red, Self.clear, Self.blue, Self.red])
  }

  @Test func `the area of a frame becomes what it was before`() throws {
    let rows = try rows(of: file(second: .previous))
    #expect(rows[1] == [Self.red, Self.green, Self.red, Self.red])
    #expect(rows[2] == [Self.red, Self.red, Self.blue, Self.red])
  }

  @Test func `before the first frame the canvas is transparent`() throws {
    let rows = try rows(of: file(first: .previous))
    #expect(rows[1] == [Self.clear, Self.green, Self.clear, Self.clear])
  }

  // MARK: - Blending

  @Test func `a frame replaces the pixels under it, and its transparency too`() throws {
    let faint = Raster.Pixel(0, 0, 255, alpha: 51)
    let file = APNGWriter.file([.init(try png(Self.red)), .init(try png(faint))])
    #expect(try rows(of: file)[1] == Array(repeating: faint, count: 4))
  }

  @Test func `a frame is drawn over the pixels under it`() throws {
    let faint = Raster.Pixel(0, 0, 255, alpha: 51)
    let file = APNGWriter.file([
      .init(try png(Self.red)), .init(try png(faint), blending: .over),
    ])
    // A fifth of blue, four fifths of red.
    #expect(try rows(of: file)[1] == Array(repeating: .init(204, 0, 51), count: 4))
  }

  @Test func `opaque pixels hide what is under them, and clear ones hide nothing`() throws {
    let mixed = Raster(width: 4, height: 2) { x, _ in
      Raster.Pixel(0, 255, 0, alpha: x < 2 ? 255 : 0)
    }
    let frame = try fixture.maker.encode(mixed, as: .png, hasAlpha: true)
    let file = APNGWriter.file([.init(try png(Self.red)), .init(frame, blending: .over)])
    #expect(try rows(of: file)[1] == [Self.green, Self.green, Self.red, Self.red])
  }

  @Test func `two frames that are half transparent show more together`() throws {
    let (lower, upper) = (Raster.Pixel(200, 0, 0, alpha: 128), Raster.Pixel(0, 100, 0, alpha: 128))
    let file = APNGWriter.file([
      .init(try png(lower)), .init(try png(upper), blending: .over),
    ])
    // 128 of the upper and 128 × 127 / 255 = 64 of the lower, of 192.
    #expect(try rows(of: file)[1] == Array(repeating: .init(66, 67, 0, alpha: 192), count: 4))
  }

  // MARK: - Frames

  @Test func `a picture for other readers is no frame`() throws {
    let file = APNGWriter.file(
      [.init(try png(Self.green)), .init(try png(Self.blue))], defaultImage: try png(Self.red))
    #expect(try rows(of: file).map(\.first) == [Self.green, Self.blue])
  }

  @Test(arguments: 0..<3) func `frames from one on are those of the whole`(first: Int) throws {
    let file = try file(second: .previous)
    let all = try frames(of: file).map(\.bytes)
    #expect(try frames(of: file, startingAt: first).map(\.bytes) == Array(all[first...]))
  }

  @Test(arguments: [PictureFormat.png, .interlacedPNG, .grayPNG, .sixteenBitPNG])
  func `every kind of PNG has frames`(format: PictureFormat) throws {
    let card = Card(index: 3, width: 40, height: 30).raster
    let png = try fixture.maker.encode(card, as: format)
    let frames = try frames(of: APNGWriter.file([.init(png), .init(png)]))
    let still = try fixture.reader.raster(of: png)
    try #require(frames.count == 2)
    for frame in frames { #expect(frame.meanSquaredError(against: still) < 1) }
  }

  @Test func `a frame keeps the colour profile`() throws {
    let png = try fixture.maker.card(index: 1, format: .displayP3PNG)
    let file = APNGWriter.file([.init(png), .init(png)])
    let profiles = try unsafe file.withUnsafeBufferPointer { buffer in
      let frame = try APNGFrames(unsafe PictureInput(buffer)).next()
      return try #require(try frame?.encoded(suffix: ".png"))
    }
    #expect(try fixture.reader.metadata(of: profiles).contains("icc-profile-data"))
  }

  @Test func `a PNG without an animation declares no frames`() throws {
    #expect(APNGFile.frameCount(in: WholeBytes(try png(Self.red))) == nil)
    #expect(APNGFile.frameCount(in: WholeBytes(try file())) == 3)
  }

  // MARK: - Damage

  /// The chunks of ``file(first:second:)``: IHDR, acTL, fcTL, IDAT, fcTL, fdAT, fdAT, fcTL, …
  private func chunks() throws -> [PNGChunk] { PNGChunk.chunks(of: try file()) }

  private func indexes(of name: String, in chunks: [PNGChunk]) -> [Int] {
    chunks.indices.filter { chunks[$0].name == name }
  }

  /// Whether the chunks are refused as damaged.
  private func isCorrupt(_ file: [UInt8]) -> Bool {
    do {
      _ = try frames(of: file)
      return false
    } catch DecodeError.corrupt {
      return true
    } catch {
      return false
    }
  }

  @Test func `the chunks of the tests are those of a whole file`() throws {
    #expect(!isCorrupt(PNGChunk.file(try chunks())))
  }

  @Test func `chunks in the wrong order are damage`() throws {
    var chunks = try chunks()
    let places = indexes(of: "fdAT", in: chunks)
    chunks.swapAt(places[0], places[1])
    #expect(isCorrupt(PNGChunk.file(chunks)))
  }

  @Test(arguments: ["fcTL", "fdAT", "IDAT", "IEND", "acTL"])
  func `a missing chunk is damage`(name: String) throws {
    var chunks = try chunks()
    chunks.remove(at: try #require(indexes(of: name, in: chunks).last))
    #expect(isCorrupt(PNGChunk.file(chunks)))
  }

  @Test func `more or fewer frames than declared are damage`() throws {
    for count in [2, 4] {
      var chunks = try chunks()
      chunks[indexes(of: "acTL", in: chunks)[0]].data.replaceSubrange(
        0..<4, with: PNGChunk.bigEndian(count))
      #expect(isCorrupt(PNGChunk.file(chunks)))
    }
  }

  /// Offsets in the data of an fcTL chunk, and what they may not be.
  @Test(arguments: [
    (4, 5), (4, 0), (8, 3), (8, 0), (12, 4), (12, Int(UInt32.max)), (16, 2), (16, 1 << 31),
  ])
  func `a frame outside of the canvas is damage`(offset: Int, value: Int) throws {
    var chunks = try chunks()
    let last = try #require(indexes(of: "fcTL", in: chunks).last)
    chunks[last].data.replaceSubrange(offset..<offset + 4, with: PNGChunk.bigEndian(value))
    #expect(isCorrupt(PNGChunk.file(chunks)))
  }

  @Test(arguments: [24, 25]) func `an unknown way to draw is damage`(offset: Int) throws {
    var chunks = try chunks()
    chunks[try #require(indexes(of: "fcTL", in: chunks).last)].data[offset] = 3
    #expect(isCorrupt(PNGChunk.file(chunks)))
  }

  @Test func `a first frame smaller than the canvas is damage`() throws {
    var chunks = try chunks()
    chunks[indexes(of: "fcTL", in: chunks)[0]].data.replaceSubrange(
      4..<8, with: PNGChunk.bigEndian(3))
    #expect(isCorrupt(PNGChunk.file(chunks)))
  }

  @Test func `every changed byte behind the header is damage, or changes nothing`() throws {
    let file = try file()
    let whole = try frames(of: file).map(\.bytes)
    let start = 33
    for index in start..<file.count {
      var changed = file
      changed[index] ^= 0x55
      let found = try? frames(of: changed).map(\.bytes)
      #expect(found == nil || found == whole, "byte \(index)")
    }
  }

  @Test func `every cut is damage`() throws {
    let file = try file()
    for count in 0..<file.count { #expect(isCorrupt(Array(file[..<count])), "\(count) bytes") }
  }
}
