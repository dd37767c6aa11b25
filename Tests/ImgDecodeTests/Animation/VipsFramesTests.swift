import ImgModel
import TestPictures
import Testing

@testable import ImgDecode

/// Frames of GIF and WebP.
@Suite(.timeLimit(.minutes(20))) struct VipsFramesTests {
  private static let red = Raster.Pixel(255, 0, 0)
  private static let clear = Raster.Pixel(0, 0, 0, alpha: 0)

  private let fixture: ThumbnailFixture

  init() throws {
    fixture = try ThumbnailFixture()
  }

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
