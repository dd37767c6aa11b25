import ImgDecode
import ImgModel
import TestPictures
import Testing

@Suite(.timeLimit(.minutes(20))) struct RefusalTests {
  private let fixture: ThumbnailFixture

  init() throws {
    fixture = try ThumbnailFixture()
  }

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

  @Test(arguments: PictureFormat.allCases, [10, 50, 90])
  func `a picture that ends early fails`(format: PictureFormat, percent: Int) throws {
    let picture = try fixture.maker.noise(seed: 7, width: 200, height: 150, format: format)
    let cut = Array(picture.prefix(picture.count * percent / 100))
    #expect(fixture.failureCode(of: picture) == nil)
    #expect(fixture.failureCode(of: cut) == .corruptImage)
  }

  @Test func `a crop does not hide that the end is missing`() throws {
    let picture = try fixture.maker.noise(seed: 7, width: 100, height: 800)
    let cut = Array(picture.prefix(picture.count * 9 / 10))
    let variant = try Variant(width: 50, height: 50, mode: .fill, crop: .centre)
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
    #expect(try ThumbnailFixture(limits: limits).failureCode(of: picture) == nil)
    limits.maxPixels -= 1
    #expect(try ThumbnailFixture(limits: limits).failureCode(of: picture) == .tooManyPixels)
  }

  @Test(arguments: [PictureFormat.gif, .webp])
  func `all frames count against their limit, and the pixels of the first against theirs`(
    format: PictureFormat
  ) throws {
    var limits = Limits()
    limits.maxPixels = 64 * 48
    limits.maxFrames = 6
    let picture = try fixture.maker.animation(index: 1, frameCount: 6, format: format)
    #expect(try ThumbnailFixture(limits: limits).failureCode(of: picture) == nil)
    limits.maxFrames -= 1
    #expect(try ThumbnailFixture(limits: limits).failureCode(of: picture) == .tooManyFrames)
    limits.maxPixels -= 1
    #expect(try ThumbnailFixture(limits: limits).failureCode(of: picture) == .tooManyPixels)
  }
}
