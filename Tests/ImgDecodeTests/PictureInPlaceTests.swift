import ImgDecode
import ImgModel
import TestPictures
import Testing

/// Pictures that lie in memory with other bytes around them.
@Suite(.timeLimit(.minutes(20))) struct PictureInPlaceTests {
  private let fixture: ThumbnailFixture

  init() throws {
    fixture = try ThumbnailFixture()
  }

  @Test(arguments: PictureFormat.allCases)
  func `a picture in place has the same thumbnail as one by itself`(
    format: PictureFormat
  ) throws {
    let picture = try fixture.maker.card(index: 3, format: format)
    let byItself = try fixture.thumbnailer.thumbnail(of: picture, as: .standard)
    let inPlace = try thumbnail(of: 0..<picture.count, in: picture + picture)
    #expect(inPlace.bytes == byItself.bytes)
    #expect(inPlace.source == byItself.source)
  }

  @Test(arguments: PictureFormat.allCases, [10, 50, 90])
  func `a picture that ends early fails, although its rest follows`(
    format: PictureFormat, percent: Int
  ) throws {
    let picture = try fixture.maker.noise(seed: 7, width: 200, height: 150, format: format)
    let failure = #expect(throws: Failure.self) {
      try thumbnail(of: 0..<(picture.count * percent / 100), in: picture)
    }
    #expect(failure?.code == .corruptImage)
  }

  @Test func `one picture can be decoded several times`() throws {
    let picture = try fixture.maker.card(index: 1, format: .png)
    for width in [16, 64] {
      let variant = try Variant(width: width, height: width)
      let rendered = try fixture.thumbnailer.thumbnail(of: picture.span, as: variant)
      #expect(rendered.thumbnail.width == width)
    }
  }

  @Test func `the header is announced once, and not that of a picture beyond the limits`() throws {
    var limits = Limits()
    limits.maxPixels = 99
    let narrow = Thumbnailer(runtime: try VipsRuntime.start(), limits: limits)
    let picture = try fixture.maker.card(index: 1, width: 10, height: 10, format: .png)
    var count = 0
    _ = try fixture.thumbnailer.thumbnails(of: picture.span, as: [.standard]) { count += 1 }
    #expect(count == 1)
    #expect(throws: Failure.self) {
      try narrow.thumbnails(of: picture.span, as: [.standard]) { count += 1 }
    }
    #expect(count == 1)
  }

  private func thumbnail(of range: Range<Int>, in bytes: [UInt8]) throws -> RenderedThumbnail {
    try fixture.thumbnailer.thumbnail(of: bytes.span.extracting(range), as: .standard)
  }
}
