import ImgDecode
import ImgModel
import TestPictures

/// What the tests of ``Thumbnailer`` share: real pictures in, real thumbnails out.
struct ThumbnailFixture {
  let thumbnailer: Thumbnailer
  let maker: PictureMaker
  let reader: PictureReader

  init(limits: Limits = Limits()) throws {
    let runtime = try VipsRuntime.start()
    thumbnailer = Thumbnailer(runtime: runtime, limits: limits)
    maker = PictureMaker(runtime: runtime)
    reader = PictureReader(runtime: runtime)
  }

  /// The code of the failure that `bytes` end in; `nil` when they give a thumbnail.
  func failureCode(
    of bytes: [UInt8], as variant: Variant = .standard, isLenient: Bool = false
  ) -> Failure.Code? {
    do {
      _ = try thumbnailer.thumbnail(of: bytes, as: variant, isLenient: isLenient)
      return nil
    } catch {
      return error.code
    }
  }
}

extension Raster.Pixel {
  /// - Parameter tolerance: how far any channel may lie from the other's; by default as far as
  ///   lossy encodings move a flat colour.
  func resembles(_ other: Raster.Pixel, tolerance: Int = 32) -> Bool {
    let channels = [
      (red, other.red), (green, other.green), (blue, other.blue), (alpha, other.alpha),
    ]
    return channels.allSatisfy { abs(Int($0) - Int($1)) <= tolerance }
  }
}

extension Raster {
  /// Whether the four corners are those of an upright ``Card`` encoded in `format`.
  func isUprightCard(encodedIn format: PictureFormat = .png) -> Bool {
    // Ink and the wide gamut move colours, yet not as far as one corner's is from another's.
    let tolerance = [.cmykJPEG, .cmykTIFF, .displayP3PNG].contains(format) ? 80 : 32
    // A few pixels in, where neither scaling nor a lossy encoding mixes neighbours in.
    let (inset, right, bottom) = (min(width, height) / 10, width - 1, height - 1)
    return self[inset, inset].resembles(Card.topLeft, tolerance: tolerance)
      && self[right - inset, inset].resembles(Card.topRight, tolerance: tolerance)
      && self[inset, bottom - inset].resembles(Card.bottomLeft, tolerance: tolerance)
      && self[right - inset, bottom - inset].resembles(Card.bottomRight, tolerance: tolerance)
  }
}
