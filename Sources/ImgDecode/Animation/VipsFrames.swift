import CVips
import ImgModel

/// The frames of an animation that one of libvips' loaders reads.
///
/// The loader sees them as one tall image. It must be read from the top: every frame is drawn on the
/// ones before it.
final class VipsFrames: FrameSequence {
  private let strip: Image
  private let size: ThumbnailGeometry.Size
  private let count: Int
  private var index = 0
  /// Of a GIF.
  private var check: GIFFrameCheck?
  /// Of a GIF without an alpha channel.
  private var coverage: GIFCoverage?

  /// - Parameter input: a picture whose size is within the limits.
  init(_ input: PictureInput, in format: ImageFormat) throws(DecodeError) {
    do throws(VipsError) {
      strip = try Image.loading(input, as: format, pages: .all)
    } catch {
      throw DecodeError(error)
    }
    size = .init(width: strip.width, height: strip.pageHeight)
    count = strip.height / size.height
    guard format == .gif else { return }
    check = GIFFrameCheck(of: input)
    if !strip.hasAlpha { coverage = GIFCoverage(of: input, on: size) }
  }

  func next() throws(DecodeError) -> Image? {
    guard index < count else { return nil }
    try check?.advance()
    let frame = try nextFrame()
    index += 1
    guard coverage != nil else { return frame }
    coverage?.advance()
    return try coverage?.applied(to: frame)
  }

  private func nextFrame() throws(DecodeError) -> Image {
    do throws(VipsError) {
      return try strip.cropped(
        left: 0, top: index * size.height, width: size.width, height: size.height
      ).inMemory()
    } catch {
      throw DecodeError(error)
    }
  }
}

@available(*, unavailable)
extension VipsFrames: Sendable {}
