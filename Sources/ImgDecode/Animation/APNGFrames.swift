import CVips
import ImgModel

/// The frames of an animated PNG. libvips shows only the picture for readers without animation.
final class APNGFrames: FrameSequence {
  private let file: APNGFile
  private var canvas: FrameCanvas
  private var index = 0
  /// What the last frame covered, if the next one is drawn on that.
  private var covered: [UInt8] = []

  /// - Parameters:
  ///   - input: a PNG whose size is within the limits.
  ///   - first: the frame that comes first. Those before it are drawn, too.
  /// - Throws: also for a frame that does not exist.
  init(_ input: PictureInput, startingAt first: Int = 0) throws(DecodeError) {
    file = try APNGFile(input)
    canvas = FrameCanvas(file.size)
    guard first < file.frames.count else { throw .corrupt("it has no frame \(first)") }
    while index < first { _ = try drawNext() }
  }

  func next() throws(DecodeError) -> Image? {
    guard index < file.frames.count else { return nil }
    let frame = try drawNext()
    let image = try canvas.image()
    image.setProfile(of: frame)
    guard image.isOpaque else { return image }
    // It is scaled faster than with an alpha channel.
    do throws(VipsError) { return try image.withoutAlpha() } catch { throw DecodeError(error) }
  }

  /// - Returns: the frame alone.
  private func drawNext() throws(DecodeError) -> Image {
    if index > 0 { dispose(of: file.frames[index - 1], isFirst: index == 1) }
    let frame = file.frames[index]
    let image = try samples(of: frame)
    if frame.disposal == .previous { covered = canvas.contents(of: frame.area) }
    image.withSamples { canvas.draw($0, on: frame.area, frame.blending) }
    index += 1
    return image
  }

  private func dispose(of frame: APNGFrame, isFirst: Bool) {
    switch frame.disposal {
    case .none: break
    case .background: canvas.clear(frame.area)
    // Nothing was there before the first frame.
    case .previous where isFirst: canvas.clear(frame.area)
    case .previous:
      let covered = covered
      canvas.draw(covered.span, on: frame.area, .source)
    }
  }

  /// The pixels of a frame as the canvas has them. Colours that are not red, green and blue lose their
  /// profile, because the canvas could not have it.
  private func samples(of frame: APNGFrame) throws(DecodeError) -> Image {
    let bytes = file.file(of: frame)
    return try unsafe bytes.span.withUnsafeBufferPointer { (buffer) throws(DecodeError) in
      let picture = try VipsPicture(unsafe PictureInput(buffer), in: .png, .whole)
      guard picture.header.stored == .init(width: frame.area.width, height: frame.area.height)
      else { throw .corrupt("a frame has two headers") }
      let decoded = try picture.firstFrame(for: picture.header.stored)
      do throws(VipsError) {
        let image = try decoded.preparedForScaling()
        let isColoured = image.interpretation == VIPS_INTERPRETATION_sRGB
        return try (isColoured ? image : try image.inEightBitSRGB()).withAlpha().inMemory()
      } catch {
        throw DecodeError(error)
      }
    }
  }
}

@available(*, unavailable)
extension APNGFrames: Sendable {}
