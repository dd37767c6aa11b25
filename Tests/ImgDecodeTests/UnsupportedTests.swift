import ImgDecode
import ImgModel
import TestPictures
import Testing

/// Pictures that are whole and of a kind that is not decoded: each fails by the name of that kind.
@Suite(.timeLimit(.minutes(20))) struct UnsupportedTests {
  private let fixture: ThumbnailFixture

  init() throws {
    fixture = try ThumbnailFixture()
  }

  private func failure(of picture: [UInt8]) -> Failure? {
    #expect(throws: Failure.self) {
      try fixture.thumbnailer.thumbnail(of: picture, as: .standard)
    }
  }

  /// A JPEG whose frame header has other bytes from an offset behind its marker on.
  private func jpeg(replacing offset: Int, by byte: UInt8) throws -> [UInt8] {
    var picture = try fixture.maker.card(index: 1, width: 64, height: 48)
    let marker = try #require(picture.indices.first { picture[$0...].starts(with: [0xFF, 0xC0]) })
    picture[marker + offset] = byte
    return picture
  }

  @Test func `a lossless JPEG is named so`() throws {
    let failure = try failure(of: jpeg(replacing: 1, by: 0xC3))
    #expect(failure?.code == .unsupportedFormat)
    #expect(failure?.detail.contains("lossless") == true)
  }

  @Test func `a JPEG with 12-bit samples is named so`() throws {
    let failure = try failure(of: jpeg(replacing: 4, by: 12))
    #expect(failure?.code == .unsupportedFormat)
    #expect(failure?.detail.contains("12-bit") == true)
  }

  /// A TIFF of 2 × 2 samples, its directory behind the pixels.
  private func tiff(
    bits: Int, photometric: Int = 1, compression: Int = 1, sampleFormat: Int = 1
  ) -> [UInt8] {
    func short(_ value: Int) -> [UInt8] { [UInt8(value & 0xFF), UInt8(value >> 8)] }
    let pixels = [UInt8](repeating: 0x40, count: 32)
    let entries = [
      (256, 2), (257, 2), (258, bits), (259, compression), (262, photometric), (273, 8), (277, 1),
      (278, 2), (279, (2 * bits + 7) / 8 * 2), (339, sampleFormat),
    ]
    var file = Array("II*\0".utf8) + [40, 0, 0, 0] + pixels + short(entries.count)
    for (tag, value) in entries {
      file += short(tag) + short(3)
      file += [1, 0, 0, 0] + short(value) + [0, 0]
    }
    return file + [0, 0, 0, 0]
  }

  @Test func `a plain TIFF passes`() {
    #expect(fixture.failureCode(of: tiff(bits: 8)) == nil)
  }

  @Test(arguments: [
    (12, 1, 1, 1, "12-bit"), (32, 1, 1, 3, "floating-point"), (8, 1, 1, 2, "signed"),
    (8, 32_803, 1, 1, "32803"), (8, 1, 34_712, 1, "34712"), (8, 6, 1, 1, "YCbCr"),
    (8, 6, 5, 1, "YCbCr"),
  ])
  func `a TIFF of a kind that is not decoded is named so`(
    bits: Int, photometric: Int, compression: Int, sampleFormat: Int, word: String
  ) {
    let failure = failure(
      of: tiff(
        bits: bits, photometric: photometric, compression: compression,
        sampleFormat: sampleFormat))
    #expect(failure?.code == .unsupportedFormat)
    #expect(failure?.detail.contains(word) == true, "\(failure?.detail ?? "")")
  }
}
