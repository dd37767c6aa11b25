import CVips
import ImgModel

/// An animated JPEG XL. libvips shows the last frame of one as the picture.
final class JXLPicture: OpenPicture {
  let header: PictureHeader
  private let input: PictureInput

  /// Reads the headers of the picture and of all frames.
  ///
  /// - Parameter maxPixels: the frames of a larger picture are not counted: libjxl takes memory in
  ///   proportion to the pixels as it reads their headers.
  /// - Returns: `nil` for a still.
  init?(_ input: PictureInput, maxPixels: Int64) throws(DecodeError) {
    let decoder = try JXLDecoder(input, .headers)
    guard decoder.animation != nil else { return nil }
    let isCounted = decoder.size.pixelCount <= maxPixels
    header = PictureHeader(
      stored: decoder.size, orientation: 1,
      frames: isCounted ? try decoder.timeline().delays.count : 1)
    self.input = input
  }

  func firstFrame(for size: ThumbnailGeometry.Size) throws(DecodeError) -> Image {
    guard let frame = try JXLFrames(input).next() else { throw .corrupt("it has no frame") }
    return frame
  }

  func metadataImage() throws(VipsError) -> Image? { try Image.loading(input, as: .jxl) }

  /// The pixels are there already, so that the picture has nothing to do with it.
  func reason(for error: VipsError) -> DecodeError { DecodeError(error) }
}

@available(*, unavailable)
extension JXLPicture: Sendable {}
