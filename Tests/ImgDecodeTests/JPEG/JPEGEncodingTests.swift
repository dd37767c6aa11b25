import ImgModel
import TestPictures
import Testing

@testable import ImgDecode

@Suite(.timeLimit(.minutes(20))) struct JPEGEncodingTests {
  private let fixture: ThumbnailFixture

  init() throws {
    fixture = try ThumbnailFixture()
  }

  /// Horizontal and vertical sampling factors of each component, a byte each, as the frame header of
  /// a baseline JPEG has them (ITU-T T.81 B.2.2).
  private func samplingFactors(of jpeg: [UInt8]) throws -> [UInt8] {
    let marker = try #require(
      jpeg.indices.dropLast().first { jpeg[$0] == 0xFF && jpeg[$0 + 1] == 0xC0 })
    let componentCount = Int(jpeg[marker + 9])
    return (0..<componentCount).map { jpeg[marker + 11 + 3 * $0] }
  }

  private func thumbnail(of format: PictureFormat, quality: Int) throws -> [UInt8] {
    let variant = try Variant(width: 50, height: 50, format: .jpeg, quality: quality)
    return try fixture.thumbnailer.thumbnail(
      of: fixture.maker.card(index: 2, format: format), as: variant
    ).bytes
  }

  @Test(arguments: [PictureFormat.jpeg, .png])
  func `chroma has half the samples along both sides below quality 90`(
    source: PictureFormat
  ) throws {
    #expect(
      try samplingFactors(of: thumbnail(of: source, quality: 89)) == [0x22, 0x11, 0x11])
    #expect(
      try samplingFactors(of: thumbnail(of: source, quality: 90)) == [0x11, 0x11, 0x11])
  }

  @Test func `a gray JPEG stays gray`() throws {
    #expect(try samplingFactors(of: thumbnail(of: .grayJPEG, quality: 80)) == [0x11])
  }

  @Test(arguments: [PictureFormat.jpeg, .png])
  func `a higher quality takes more bytes`(source: PictureFormat) throws {
    let low = try thumbnail(of: source, quality: 40)
    let high = try thumbnail(of: source, quality: 80)
    #expect(low.count < high.count)
  }
}
