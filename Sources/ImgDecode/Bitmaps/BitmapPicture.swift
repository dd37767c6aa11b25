/// A BMP file. libvips has no loader for it.
final class BitmapPicture: OpenPicture {
  let header: PictureHeader
  private let bitmap: Bitmap
  private let extent: DecodeExtent

  /// Reads the headers.
  init(_ input: PictureInput, _ extent: DecodeExtent) throws(DecodeError) {
    bitmap = try Bitmap.file(input)
    header = PictureHeader(stored: bitmap.size, orientation: 1, frames: 1)
    self.extent = extent
  }

  func firstFrame(for size: ThumbnailGeometry.Size) throws(DecodeError) -> Image {
    try bitmap.frame(extent)
  }

  /// The pixels are there already, so that the picture has nothing to do with it.
  func reason(for error: VipsError) -> DecodeError { DecodeError(error) }
}

@available(*, unavailable)
extension BitmapPicture: Sendable {}
