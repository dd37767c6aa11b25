import ImgDecode
import ImgModel
import TestPictures
import Testing

/// Thumbnails as their pixels, for programs that draw them.
@Suite(.timeLimit(.minutes(20))) struct PixelRendererTests {
  private let fixture: ThumbnailFixture

  init() throws {
    fixture = try ThumbnailFixture()
  }

  private func raster(of picture: [UInt8], frames: FrameSelection = .first) throws -> Raster {
    let side = Variant.sideRange.upperBound
    let variant = try Variant(width: side, height: side, frames: frames)
    let made = try fixture.thumbnailer.pixels(of: picture.span, as: variant).thumbnails[0]
    let (thumbnail, bytes) = (made.thumbnail, made.bytes)
    #expect(thumbnail.byteCount == bytes.count)
    #expect(bytes.count == thumbnail.width * thumbnail.height * 4)
    return Raster(width: thumbnail.width, height: thumbnail.height) { x, y in
      let start = (y * thumbnail.width + x) * 4
      return Raster.Pixel(
        bytes[start], bytes[start + 1], bytes[start + 2], alpha: bytes[start + 3])
    }
  }

  private func failure(
    of picture: [UInt8], frames: FrameSelection = .first, limits: Limits = Limits()
  ) throws -> Failure? {
    let side = Variant.sideRange.upperBound
    let variant = try Variant(width: side, height: side, frames: frames)
    let thumbnailer = try ThumbnailFixture(limits: limits).thumbnailer
    do throws(Failure) {
      _ = try thumbnailer.pixels(of: picture.span, as: variant)
      return nil
    } catch {
      return error
    }
  }

  @Test(arguments: [PictureFormat.jpeg, .png, .webp, .avif, .gif, .grayJPEG, .cmykJPEG, .heif])
  func `pixels are those of the picture in its own size`(format: PictureFormat) throws {
    let picture = try fixture.maker.card(index: 1, width: 160, height: 120, format: format)
    let raster = try raster(of: picture)
    #expect([raster.width, raster.height] == [160, 120])
    guard format != .grayJPEG else {
      let pixel = raster[10, 10]
      #expect(pixel.red == pixel.green && pixel.green == pixel.blue && pixel.alpha == 255)
      return
    }
    #expect(raster.isUprightCard(encodedIn: format))
  }

  @Test func `pixels of a lossless picture are exact, and its colours are not multiplied by alpha`()
    throws
  {
    let colour = Raster.Pixel(200, 100, 50, alpha: 128)
    let drawn = Raster(width: 3, height: 2) { x, _ in
      x == 0 ? colour : Raster.Pixel(1, 2, 3, alpha: x == 1 ? 255 : 0)
    }
    let picture = try fixture.maker.encode(drawn, as: .png, hasAlpha: true)
    let raster = try raster(of: picture)
    #expect(raster[0, 1] == colour)
    #expect(raster[1, 0] == Raster.Pixel(1, 2, 3))
    #expect(raster[2, 0].alpha == 0)
  }

  @Test(arguments: 1...8)
  func `pixels are upright`(orientation: Int) throws {
    let picture = try fixture.maker.card(
      index: 5, width: 160, height: 120, format: .jpeg, orientation: orientation)
    let raster = try raster(of: picture)
    #expect([raster.width, raster.height] == [160, 120])
    #expect(raster.isUprightCard())
  }

  @Test(arguments: [PictureFormat.gif, .webp])
  func `each frame of an animation has pixels of its own`(format: PictureFormat) throws {
    let frames = [Raster.Pixel(250, 0, 0), .init(0, 250, 0), .init(0, 0, 250)]
    let picture = try fixture.maker.animation(
      of: frames.map { colour in Raster(width: 16, height: 12) { _, _ in colour } }, as: format)
    #expect(try raster(of: picture)[8, 6].resembles(frames[0]))
    for (number, colour) in frames.enumerated() {
      #expect(try raster(of: picture, frames: .number(number))[8, 6].resembles(colour))
    }
    #expect(try failure(of: picture, frames: .number(3))?.code == .frameOutOfRange)
    #expect(try failure(of: picture, frames: .all)?.code == .unsupportedAnimation)
  }

  @Test func `pixels beyond the limits are refused before they are decoded`() throws {
    let picture = try fixture.maker.card(index: 1, width: 160, height: 120)
    var limits = Limits()
    limits.maxThumbnailByteCount = 160 * 120 * 4 - 1
    let failure = try failure(of: picture, limits: limits)
    #expect(failure?.code == .tooLarge)
    #expect(failure?.detail == "160 × 120 pixels take 76800 bytes; 76799 are the most")
    limits.maxPixels = 100
    #expect(try self.failure(of: picture, limits: limits)?.code == .tooManyPixels)
  }

  @Test func `a damaged picture has no pixels`() throws {
    let picture = try fixture.maker.card(index: 1, width: 160, height: 120)
    #expect(try failure(of: Array(picture.prefix(picture.count / 2)))?.code == .corruptImage)
    #expect(try failure(of: Array("no picture at all".utf8))?.code == .notAnImage)
  }
}
