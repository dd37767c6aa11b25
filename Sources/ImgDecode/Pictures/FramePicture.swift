import ImgFacts

/// A picture of one frame that was decoded.
final class FramePicture: OpenPicture {
  let header: PictureHeader
  private let frame: Image
  /// The file with all frames.
  private let file: (any OpenPicture)?

  /// An upright picture of its own.
  init(_ frame: consuming Image) {
    header = PictureHeader(stored: frame.size, orientation: 1, frames: 1)
    self.frame = frame
    file = nil
  }

  /// A frame of an animation, as it is stored.
  init(_ frame: consuming Image, of file: any OpenPicture) {
    header = file.header
    self.frame = frame
    self.file = file
  }

  func firstFrame(for size: ThumbnailGeometry.Size) -> Image { frame.retained() }

  func metadataImage() throws(VipsError) -> Image? { try file?.metadataImage() }

  func copyrightNotice() -> CopyrightNotice? { file?.copyrightNotice() }

  func reason(for error: VipsError) -> DecodeError { DecodeError(error) }
}

@available(*, unavailable)
extension FramePicture: Sendable {}
