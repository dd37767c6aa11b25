/// A picture of one upright frame.
final class FramePicture: OpenPicture {
  let header: PictureHeader
  private let frame: Image

  init(_ frame: consuming Image) {
    header = PictureHeader(stored: frame.size, orientation: 1, frames: 1)
    self.frame = frame
  }

  func firstFrame(for size: ThumbnailGeometry.Size) -> Image { frame.retained() }

  func reason(for error: VipsError) -> DecodeError { DecodeError(error) }
}

@available(*, unavailable)
extension FramePicture: Sendable {}
