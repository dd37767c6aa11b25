import Glibc
import ImgDecode
import ImgModel
import TestPictures
import Testing

/// Pictures in files instead of memory.
@Suite(.timeLimit(.minutes(20))) struct PictureFileTests {
  private let fixture: ThumbnailFixture

  init() throws {
    fixture = try ThumbnailFixture()
  }

  @Test(arguments: PictureFormat.allCases)
  func `a picture in a file has the same thumbnail as in memory`(
    format: PictureFormat
  ) throws {
    let picture = try fixture.maker.card(index: 3, format: format)
    let fromMemory = try fixture.thumbnailer.thumbnail(of: picture, as: .standard)
    let fromFile = try thumbnail(ofFileHolding: picture)
    #expect(fromFile.bytes == fromMemory.bytes)
    #expect(fromFile.source == fromMemory.source)
  }

  @Test(arguments: PictureFormat.allCases, [10, 50, 90])
  func `a picture in a file that ends early fails`(format: PictureFormat, percent: Int) throws {
    let picture = try fixture.maker.noise(seed: 7, width: 200, height: 150, format: format)
    let cut = Array(picture.prefix(picture.count * percent / 100))
    let failure = #expect(throws: Failure.self) { try thumbnail(ofFileHolding: cut) }
    #expect(failure?.code == .corruptImage)
  }

  @Test func `one file can be decoded several times`() throws {
    let picture = try fixture.maker.card(index: 1, format: .png)
    let file = unsafe try #require(tmpfile())
    defer { unsafe fclose(file) }
    unsafe fwrite(picture, 1, picture.count, file)
    unsafe fflush(file)
    let source = EncodedPicture.file(descriptor: unsafe fileno(file), head: picture)
    for width in [16, 64] {
      let variant = try Variant(width: width, height: width)
      let rendered = try fixture.thumbnailer.thumbnail(of: source, as: variant)
      #expect(rendered.thumbnail.width == width)
    }
  }

  private func thumbnail(ofFileHolding bytes: [UInt8]) throws -> RenderedThumbnail {
    let file = unsafe try #require(tmpfile())
    defer { unsafe fclose(file) }
    unsafe fwrite(bytes, 1, bytes.count, file)
    unsafe fflush(file)
    let head = Array(bytes.prefix(FormatSniffer.examinedByteCount))
    return try fixture.thumbnailer.thumbnail(
      of: .file(descriptor: unsafe fileno(file), head: head), as: .standard)
  }
}
