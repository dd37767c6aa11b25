import TestPictures
import Testing

@testable import ImgDecode

@Suite struct WebPContainerTests {
  private let maker: PictureMaker
  private let reader: PictureReader

  init() throws {
    let runtime = try VipsRuntime.start()
    maker = PictureMaker(runtime: runtime)
    reader = PictureReader(runtime: runtime)
  }

  @Test(arguments: [true, false])
  func `metadata is removed and the picture stays`(hasAlpha: Bool) throws {
    let picture = try maker.card(index: 3, format: .webp, orientation: 3, hasAlpha: hasAlpha)
    #expect(try reader.metadata(of: picture) == ["exif-data", "orientation"])
    let stripped = WebPContainer.strippingMetadata(picture)
    #expect(try reader.metadata(of: stripped) == [])
    // A reader that obeys the header overlooks a chunk that is still there.
    #expect(!stripped.indices.contains { stripped[$0...].starts(with: "EXIF".utf8) })
    #expect(try reader.hasAlpha(stripped) == hasAlpha)
    #expect(try reader.raster(of: stripped).bytes == reader.raster(of: picture).bytes)
  }

  @Test func `the size in the file header is that of the rest`() throws {
    let stripped = WebPContainer.strippingMetadata(try maker.card(index: 3, format: .webp))
    let declared = stripped[4..<8].reversed().reduce(0) { $0 << 8 | Int($1) }
    #expect(declared == stripped.count - 8)
  }

  @Test func `stripping twice changes nothing`() throws {
    let once = WebPContainer.strippingMetadata(try maker.card(index: 3, format: .webp))
    #expect(WebPContainer.strippingMetadata(once) == once)
  }

  @Test func `anything but a whole WebP file is returned as it is`() throws {
    let picture = try maker.card(index: 3, format: .webp)
    for count in [0, 4, 15, picture.count - 1] {
      let cut = Array(picture.prefix(count))
      #expect(WebPContainer.strippingMetadata(cut) == cut)
    }
    let jpeg = try maker.card(index: 3)
    #expect(WebPContainer.strippingMetadata(jpeg) == jpeg)
  }
}
