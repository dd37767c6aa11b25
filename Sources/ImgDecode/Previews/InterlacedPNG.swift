import CPNG
import CVips
import ImgModel

/// An interlaced PNG whose end has not arrived. libvips decodes such a picture as a whole or not at all,
/// so the pixels come from libpng.
final class InterlacedPNG: OpenPicture {
  /// Of the IHDR chunk, which comes first (PNG specification, section 11.2.1).
  private static let interlaceMethodOffset = 28

  let header: PictureHeader
  private let input: PictureInput
  /// Knows the colour profile and the orientation.
  private let image: Image

  /// Reads the header.
  ///
  /// - Throws: ``DecodeError/unsupported(_:)`` for a PNG that is not interlaced.
  init(_ input: PictureInput) throws(DecodeError) {
    guard input.bytes(at: Self.interlaceMethodOffset, upTo: 1) == [1] else {
      throw .unsupported("a part of a PNG that is not interlaced")
    }
    do throws(VipsError) {
      image = try Image.loading(input, as: .png, .readablePart)
    } catch {
      throw DecodeError(error)
    }
    header = PictureHeader(stored: image.size, orientation: image.orientation, frames: 1)
    self.input = input
  }

  /// - Throws: ``DecodeError/corrupt(_:)`` while less than the first of the seven passes is there.
  func firstFrame(for size: ThumbnailGeometry.Size) throws(DecodeError) -> Image {
    let (width, height) = (UInt32(header.stored.width), UInt32(header.stored.height))
    let frame = try unsafe Image.filled(
      width: width, height: height, bandCount: Int32(FrameCanvas.bandCount),
      interpretation: VIPS_INTERPRETATION_sRGB
    ) { (pixels) throws(DecodeError) in
      unsafe pixels.initialize(
        repeating: 0, count: Int(width) * Int(height) * FrameCanvas.bandCount)
      guard let bytes = unsafe input.buffer.baseAddress,
        unsafe img_png_decode_part(bytes, input.byteCount, pixels, width, height)
      else { throw .corrupt("its first pass is incomplete") }
    }
    frame.setProfile(of: image)
    return frame
  }

  func reason(for error: VipsError) -> DecodeError { DecodeError(error) }
}

@available(*, unavailable)
extension InterlacedPNG: Sendable {}
