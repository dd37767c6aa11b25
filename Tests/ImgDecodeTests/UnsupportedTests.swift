import ImgDecode
import ImgModel
import TestPictures
import Testing

/// Pictures that are whole and of a kind that is not decoded: each fails by the name of that kind.
@Suite(.timeLimit(.minutes(20))) struct UnsupportedTests {
  private let fixture = ThumbnailFixture()

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
    bits: Int, photometric: Int = 1, compression: Int = 1, sampleFormat: Int = 1,
    samples: [UInt8] = [], range: (low: Float, high: Float)? = nil
  ) -> [UInt8] {
    func short(_ value: Int) -> [UInt8] { [UInt8(value & 0xFF), UInt8(value >> 8)] }
    let pixels = samples + [UInt8](repeating: 0x40, count: 32 - samples.count)
    let entries = [
      (256, 2), (257, 2), (258, bits), (259, compression), (262, photometric), (273, 8), (277, 1),
      (278, 2), (279, (2 * bits + 7) / 8 * 2), (339, sampleFormat),
    ]
    let reals = range.map { [(340, $0.low), (341, $0.high)] } ?? []
    var file = Array("II*\0".utf8) + [40, 0, 0, 0] + pixels + short(entries.count + reals.count)
    for (tag, value) in entries {
      file += short(tag) + short(3)
      file += [1, 0, 0, 0] + short(value) + [0, 0]
    }
    for (tag, value) in reals {
      file += short(tag) + short(11)
      file += [1, 0, 0, 0] + Self.bytes(value.bitPattern)
    }
    return file + [0, 0, 0, 0]
  }

  private static func bytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    (0..<Number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
  }

  /// Black, a quarter, three quarters and white in the samples of a TIFF.
  enum Samples: CaseIterable, Sendable {
    case signed8, signed16, signed32, unsigned32, float, floatInRange

    fileprivate var bits: Int {
      switch self {
      case .signed8: 8
      case .signed16: 16
      case .signed32, .unsigned32, .float, .floatInRange: 32
      }
    }

    /// TIFF 6.0 section 19.
    fileprivate var format: Int {
      switch self {
      case .unsigned32: 1
      case .signed8, .signed16, .signed32: 2
      case .float, .floatInRange: 3
      }
    }

    fileprivate var bytes: [UInt8] {
      let shares = [0, 0.25, 0.75, 1]
      return switch self {
      case .signed8: [-128, -64, 64, 127].flatMap { UnsupportedTests.bytes(Int8($0)) }
      case .signed16:
        [-32_768, -16_384, 16_384, 32_767].flatMap { UnsupportedTests.bytes(Int16($0)) }
      case .signed32:
        [Int32.min, Int32.min / 2, -(Int32.min / 2), .max].flatMap { UnsupportedTests.bytes($0) }
      case .unsigned32: [0, 1 << 30, 3 << 30, UInt32.max].flatMap { UnsupportedTests.bytes($0) }
      case .float: shares.flatMap { UnsupportedTests.bytes(Float($0).bitPattern) }
      case .floatInRange:
        shares.flatMap { UnsupportedTests.bytes(Float(-200 + 1_000 * $0).bitPattern) }
      }
    }
  }

  @Test(arguments: Samples.allCases)
  func `samples of a TIFF go from black to white in each number format`(samples: Samples) throws {
    let file = tiff(
      bits: samples.bits, sampleFormat: samples.format, samples: samples.bytes,
      range: samples == .floatInRange ? (-200, 800) : nil)
    let variant = try Variant(ImageVariant(width: 2, height: 2, format: .png))
    let raster = try fixture.raster(of: file, as: variant)
    let expected: [UInt8] = [0, 64, 191, 255]
    for (index, gray) in expected.enumerated() {
      let pixel = raster[index % 2, index / 2]
      #expect(abs(Int(pixel.red) - Int(gray)) <= 1, "\(index): \(pixel)")
      #expect(pixel.red == pixel.green && pixel.green == pixel.blue)
    }
  }

  @Test func `a plain TIFF passes`() {
    #expect(fixture.failureCode(of: tiff(bits: 8)) == nil)
  }

  @Test(arguments: [
    (12, 1, 1, 1, "12-bit"), (16, 1, 1, 3, "floating-point"), (24, 1, 1, 1, "24-bit"),
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

@Suite(.timeLimit(.minutes(20))) struct RefusalTests {
  private let fixture = ThumbnailFixture()

  // MARK: - Not a picture

  @Test(arguments: ["", "words", "<html><svg/></html>", "PK\u{3}\u{4}", "{}"])
  func `a body that is no picture is named so`(body: String) {
    #expect(fixture.failureCode(of: Array(body.utf8)) == .notAnImage)
  }

  @Test(arguments: ["%PDF-1.7\n1 0 obj", "qoif\0\0\0\u{1}"])
  func `a format that is not decoded is named so`(body: String) {
    #expect(fixture.failureCode(of: Array(body.utf8)) == .unsupportedFormat)
  }

  @Test func `junk after a picture's first bytes is a corrupt picture`() {
    let junk = (0..<500).map { UInt8(truncatingIfNeeded: $0 &* 73) }
    for start: [UInt8] in [
      [0xFF, 0xD8, 0xFF], Array("GIF89a".utf8), Array("RIFF____WEBP".utf8), [0xFF, 0x0A],
      Array("II*\0".utf8), Array("<svg ".utf8), [0, 0, 1, 0, 3, 0], [0, 0, 2, 0, 1, 0],
      Array("BM".utf8) + [UInt8](repeating: 0, count: 12) + [40, 0, 0, 0],
    ] {
      #expect(fixture.failureCode(of: start + junk) == .corruptImage)
    }
  }

  @Test func `a failure has a stage and a reason`() {
    let failure = #expect(throws: Failure.self) {
      try fixture.thumbnailer.thumbnail(of: [0xFF, 0xD8, 0xFF, 0xE0], as: .standard)
    }
    #expect(failure?.stage == .decode)
    #expect(failure?.isRetryable == false)
    #expect(failure?.detail.isEmpty == false)
  }

  // MARK: - Cut short

  @Test func `a crop does not hide that the end is missing`() throws {
    let picture = try fixture.maker.noise(seed: 7, width: 100, height: 800)
    let cut = Array(picture.prefix(picture.count * 9 / 10))
    let variant = try Variant(ImageVariant(width: 50, height: 50, mode: .fill, crop: .centre))
    #expect(fixture.failureCode(of: picture, as: variant) == nil)
    #expect(fixture.failureCode(of: cut, as: variant) == .corruptImage)
  }

  @Test func `an animation whose first frame is whole passes`() throws {
    let picture = try fixture.maker.animation(index: 1, frameCount: 20)
    #expect(fixture.failureCode(of: Array(picture.prefix(picture.count * 3 / 4))) == nil)
    #expect(fixture.failureCode(of: Array(picture.prefix(picture.count / 40))) == .corruptImage)
  }

  // MARK: - Too large

  @Test func `a declared size over the limit is refused before a pixel is decoded`() throws {
    for format in [PictureFormat.png, .jpeg] {
      let picture = try fixture.maker.card(declaring: 30_000, in: format)
      #expect(fixture.failureCode(of: picture) == .tooManyPixels)
    }
    let drawing = "<svg xmlns='http://www.w3.org/2000/svg' width='30000' height='30000'/>"
    #expect(fixture.failureCode(of: Array(drawing.utf8)) == .tooManyPixels)
  }

  @Test func `a picture at the limit of pixels passes, one pixel over it does not`() throws {
    var limits = Limits()
    limits.maxPixels = 40 * 30
    let picture = try fixture.maker.card(index: 1, width: 40, height: 30)
    #expect(ThumbnailFixture(limits: limits).failureCode(of: picture) == nil)
    limits.maxPixels -= 1
    #expect(ThumbnailFixture(limits: limits).failureCode(of: picture) == .tooManyPixels)
  }

  @Test(arguments: [PictureFormat.gif, .webp])
  func `all frames count against their limit, and the pixels of the first against theirs`(
    format: PictureFormat
  ) throws {
    var limits = Limits()
    limits.maxPixels = 64 * 48
    limits.maxFrames = 6
    let picture = try fixture.maker.animation(index: 1, frameCount: 6, format: format)
    #expect(ThumbnailFixture(limits: limits).failureCode(of: picture) == nil)
    limits.maxFrames -= 1
    #expect(ThumbnailFixture(limits: limits).failureCode(of: picture) == .tooManyFrames)
    limits.maxPixels -= 1
    #expect(ThumbnailFixture(limits: limits).failureCode(of: picture) == .tooManyPixels)
  }
}
