import ImgFacts
import ImgModel
import TestPictures
import Testing

@testable import ImgDecode

/// Pictures whose end has not arrived.
@Suite(.timeLimit(.minutes(20))) struct PreviewMakerTests {
  private let fixture: ThumbnailFixture
  private let maker: PreviewMaker
  /// Of the size of the pictures, and lossless.
  private let variant: Variant

  init() throws {
    fixture = try ThumbnailFixture()
    maker = PreviewMaker(runtime: try VipsRuntime.start(), limits: Limits())
    variant = try Variant(width: 320, height: 320, format: .png)
  }

  private func preview(of part: [UInt8], as variant: Variant? = nil) throws -> Raster {
    let made = try maker.preview(of: part.span, as: variant ?? self.variant)
    return try fixture.reader.raster(of: made.thumbnails[0].bytes)
  }

  /// What a worker has shown of a part.
  private func shown(_ part: [UInt8]) -> [UInt8] {
    guard case .now(let byteCount) = PreviewProspect(of: part.span) else { return [] }
    return Array(part[..<byteCount])
  }

  private func failureCode(of part: [UInt8], limits: Limits = Limits()) throws -> Failure.Code? {
    let maker = PreviewMaker(runtime: try VipsRuntime.start(), limits: limits)
    do throws(Failure) {
      _ = try maker.preview(of: part.span, as: variant)
      return nil
    } catch {
      return error.code
    }
  }

  @Test(arguments: ArrivingPicture.Form.allCases)
  func `each part of a picture shows the whole of it, nearer to the thumbnail`(
    form: ArrivingPicture.Form
  ) throws {
    let picture = try ArrivingPicture(form)
    let final = try fixture.raster(of: picture.bytes)
    let previews = try picture.steps.indices.map { try preview(of: shown(picture.part($0))) }
    let differences = previews.map { $0.meanDifference(from: final) }
    #expect(differences == differences.sorted(by: >), "\(differences)")
    #expect(differences[0] < 40, "not the picture: \(differences)")
    #expect(previews.allSatisfy { $0.isOpaque }, "pixels that have not arrived are filled")
  }

  @Test(arguments: ArrivingPicture.Form.allCases)
  func `all bytes of a picture show the thumbnail itself`(form: ArrivingPicture.Form) throws {
    let picture = try ArrivingPicture(form)
    let final = try fixture.raster(of: picture.bytes)
    #expect(try preview(of: picture.bytes).meanDifference(from: final) < 0.01)
  }

  @Test func `a compressed GIF is decompressed as libvips does it`() throws {
    let gif = try fixture.maker.scene(width: 320, height: 240, format: .gif)
    let final = try fixture.raster(of: gif)
    #expect(try preview(of: gif).meanDifference(from: final) == 0)
    let half = try preview(of: Array(gif[..<(gif.count / 2)]))
    #expect(half[0, 0] == final[0, 0])
    #expect(half[0, 239].alpha == 0, "the rows of a GIF that is not interlaced come one by one")
  }

  @Test func `a transparent colour of a GIF stays transparent`() throws {
    let raster = Raster(width: 16, height: 16) { x, _ in
      Raster.Pixel(224, 0, 0, alpha: x < 8 ? 0 : 255)
    }
    let shown = try preview(of: InterlacedGIF.file(raster))
    #expect(shown[3, 3].alpha == 0)
    #expect(shown[12, 3] == Raster.Pixel(252, 0, 0))
  }

  @Test func `a preview has the size, the crop and the format of the thumbnail`() throws {
    let picture = try ArrivingPicture(.interlacedPNG)
    let variant = try Variant(
      width: 64, height: 64, mode: .fill, crop: .centre, format: .webp)
    let made = try maker.preview(of: picture.part(1).span, as: variant)
    #expect(made.thumbnails[0].thumbnail.format == .webp)
    #expect([made.thumbnails[0].thumbnail.width, made.thumbnails[0].thumbnail.height] == [64, 64])
    #expect([made.source.width, made.source.height] == [320, 240])
    #expect(!made.thumbnails[0].thumbnail.isDamaged)
  }

  @Test func `a preview is turned upright`() throws {
    let card = try fixture.maker.scene(width: 320, height: 240, format: .progressiveJPEG)
    let turned = EXIFSegment.insert(orientation: 6, into: card)
    let made = try maker.preview(of: Array(turned.dropLast(500)).span, as: variant)
    #expect(
      [made.thumbnails[0].thumbnail.width, made.thumbnails[0].thumbnail.height] == [240, 320])
  }

  @Test(arguments: [
    PictureFormat.jpeg, .png, .webp, .tiff, .avif, .heif, .jxl, .bmp, .ico, .pnm,
  ])
  func `other formats have no preview`(format: PictureFormat) throws {
    let picture = try fixture.maker.scene(width: 320, height: 240, format: format)
    #expect(try failureCode(of: Array(picture.dropLast(10))) == .unsupportedFormat)
  }

  @Test(arguments: ArrivingPicture.Form.allCases)
  func `a part that does not show the whole picture is corrupt`(form: ArrivingPicture.Form) throws {
    let picture = try ArrivingPicture(form)
    // The header and little more.
    let byteCount = form == .progressiveJPEG ? 100 : 850
    #expect(try failureCode(of: Array(picture.bytes[..<byteCount])) == .corruptImage)
  }

  @Test(arguments: ArrivingPicture.Form.allCases)
  func `a picture beyond the limit of pixels has no preview`(form: ArrivingPicture.Form) throws {
    var limits = Limits()
    limits.maxPixels = 1_000
    let part = try shown(ArrivingPicture(form).part(1))
    #expect(try failureCode(of: part, limits: limits) == .tooManyPixels)
  }
}
