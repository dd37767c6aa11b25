import ImgFacts
import ImgModel
import TestPictures
import Testing

@testable import ImgDecode

/// Pictures whose end has not arrived.
@Suite(.timeLimit(.minutes(20))) struct PreviewMakerTests {
  private let fixture = ThumbnailFixture()
  private let maker: PreviewMaker
  /// Of the size of the pictures, and lossless.
  private let variant: Variant

  init() throws {
    maker = PreviewMaker(runtime: try VipsRuntime.start(), limits: Limits())
    variant = try Variant(ImageVariant(width: 320, height: 320, format: .png))
  }

  private func preview(of part: [UInt8], as variant: Variant? = nil) throws -> Raster {
    let made = try maker.preview(of: part.span, as: variant ?? self.variant)
    return try fixture.reader.raster(of: made.thumbnails[0].bytes)
  }

  /// What a worker has shown of a part.
  private func shown(_ part: [UInt8]) -> [UInt8] {
    let prospect = PreviewProspect(of: part.span, includingRows: true)
    guard case .now(let byteCount) = prospect else { return [] }
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
  func `each part of a picture shows the whole of it or more rows, nearer to the thumbnail`(
    form: ArrivingPicture.Form
  ) throws {
    let picture = try ArrivingPicture(form)
    let final = try fixture.raster(of: picture.bytes)
    let previews = try picture.steps.indices.map { try preview(of: shown(picture.part($0))) }
    let differences = previews.map { $0.meanDifference(from: final) }
    #expect(differences == differences.sorted(by: >), "\(differences)")
    #expect(differences[0] < (form.showsRows ? 80 : 40), "not the picture: \(differences)")
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
      ImageVariant(
        width: 64, height: 64, mode: .fill, crop: .centre, format: .webp))
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

  @Test func `a part of a baseline JPEG shows its rows, and the others grey`() throws {
    let picture = try ArrivingPicture(.baselineJPEG)
    let final = try fixture.raster(of: picture.bytes)
    let grey = Raster.Pixel(128, 128, 128)
    let rowCounts = try picture.steps.indices.map { step in
      let shown = try preview(of: picture.part(step))
      let rows = (0..<shown.height).prefix { y in
        !(0..<shown.width).allSatisfy { shown[$0, y] == grey }
      }
      for y in rows.dropLast(16) { #expect(shown[7, y] == final[7, y], "row \(y)") }
      return rows.count
    }
    #expect(rowCounts[0] >= 16 && rowCounts == rowCounts.sorted(), "\(rowCounts)")
    #expect(Set(rowCounts).count == rowCounts.count && rowCounts[2] < final.height)
  }

  @Test(arguments: [
    PictureFormat.png, .webp, .tiff, .avif, .heif, .jxl, .bmp, .ico, .pnm,
  ])
  func `other formats have no preview`(format: PictureFormat) throws {
    let picture = try fixture.maker.scene(width: 320, height: 240, format: format)
    #expect(try failureCode(of: Array(picture.dropLast(10))) == .unsupportedFormat)
  }

  @Test(arguments: ArrivingPicture.Form.allCases)
  func `a part that does not show the whole picture is corrupt`(form: ArrivingPicture.Form) throws {
    let picture = try ArrivingPicture(form)
    // The header and little more.
    let byteCount = [.progressiveJPEG, .baselineJPEG].contains(form) ? 100 : 850
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

/// HEIF files with a preview, as cameras and telephones write them.
@Suite(.timeLimit(.minutes(20))) struct PreviewTests {
  private let fixture = ThumbnailFixture()

  /// The preview has other colours, so that a thumbnail shows what it was made from.
  private func file(_ aperture: HEIFWithPreview.Aperture? = nil) throws -> [UInt8] {
    let picture = flat(640, 480, Raster.Pixel(200, 40, 40))
    let preview = flat(320, 240, Raster.Pixel(40, 40, 200))
    let file = try HEIFWithPreview(
      picture: fixture.maker.encode(picture, as: .heif),
      preview: fixture.maker.encode(preview, as: .heif), aperture: aperture)
    return try #require(file).bytes
  }

  private func flat(_ width: Int, _ height: Int, _ colour: Raster.Pixel) -> Raster {
    Raster(width: width, height: height) { _, _ in colour }
  }

  private func centre(
    of file: [UInt8], size: Int, _ use: EmbeddedUse = .auto, width: Int? = nil
  ) throws -> (Raster.Pixel, SourceFacts) {
    let variant = try Variant(ImageVariant(size: size, format: .png)).changed {
      $0.embeddedUse = use
    }
    let rendered = try fixture.thumbnailer.thumbnail(of: file, as: variant)
    #expect(rendered.thumbnail.width == width ?? size)
    let raster = try fixture.reader.raster(of: rendered.bytes)
    return (raster[raster.width / 2, raster.height / 2], rendered.source)
  }

  @Test(arguments: [(256, true), (320, true), (321, false)])
  func `a preview that is large enough stands for the picture`(size: Int, isEnough: Bool) throws {
    let (pixel, source) = try centre(of: file(), size: size)
    #expect(pixel.resembles(isEnough ? Raster.Pixel(40, 40, 200) : Raster.Pixel(200, 40, 40)))
    #expect(source.width == 640)
    #expect(source.decodePath == (isEnough ? .embedded : .general))
  }

  @Test func `a request decides whether the preview is used`() throws {
    let (whole, source) = try centre(of: file(), size: 64, .never)
    #expect(whole.resembles(Raster.Pixel(200, 40, 40)))
    #expect(source.decodePath == .general)
    let (preview, _) = try centre(of: file(), size: 640, .always, width: 320)
    #expect(preview.resembles(Raster.Pixel(40, 40, 200)))
  }

  // MARK: - JPEG

  /// A JPEG whose EXIF metadata holds another JPEG.
  private func jpeg(thumbnail: [UInt8]) throws -> [UInt8] {
    let picture = try fixture.maker.encode(flat(640, 480, Raster.Pixel(200, 40, 40)), as: .jpeg)
    return EXIFSegment.insert(thumbnail: thumbnail, into: picture)
  }

  @Test func `the thumbnail in a JPEG is used only if that is asked for`() throws {
    let thumbnail = try fixture.maker.encode(flat(160, 120, Raster.Pixel(40, 40, 200)), as: .jpeg)
    let file = try jpeg(thumbnail: thumbnail)
    for use in [EmbeddedUse.auto, .never] {
      let (pixel, source) = try centre(of: file, size: 100, use)
      #expect(pixel.resembles(Raster.Pixel(200, 40, 40)))
      #expect(source.decodePath == .general)
    }
    for (size, width) in [(100, 100), (300, 160)] {
      let (pixel, source) = try centre(of: file, size: size, .always, width: width)
      #expect(pixel.resembles(Raster.Pixel(40, 40, 200)))
      #expect(source.decodePath == .embedded)
      #expect(source.width == 640)
    }
  }

  @Test func `a thumbnail of another shape, or that cannot be decoded, does not matter`() throws {
    let wide = try fixture.maker.encode(flat(160, 90, Raster.Pixel(40, 40, 200)), as: .jpeg)
    let small = try fixture.maker.encode(flat(160, 120, Raster.Pixel(40, 40, 200)), as: .jpeg)
    for thumbnail in [wide, Array(small.prefix(small.count / 2)), []] {
      let (pixel, source) = try centre(of: jpeg(thumbnail: thumbnail), size: 100, .always)
      #expect(pixel.resembles(Raster.Pixel(200, 40, 40)))
      #expect(source.decodePath == .general)
    }
  }

  /// The first two libheif refuses when it opens the preview, the last when it decodes it.
  @Test(arguments: [
    HEIFWithPreview.Aperture(width: (0, 1), height: (0, 1)),
    HEIFWithPreview.Aperture(width: (320, 1), height: (240, 1), leftOffset: (9_000, 1)),
    HEIFWithPreview.Aperture(width: (400, 1), height: (240, 1)),
  ])
  func `a preview that cannot be cropped is no matter`(aperture: HEIFWithPreview.Aperture) throws {
    let (pixel, _) = try centre(of: file(aperture), size: 256)
    #expect(pixel.resembles(Raster.Pixel(200, 40, 40)))
  }
}
