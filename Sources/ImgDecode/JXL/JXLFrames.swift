/// The frames of an animated JPEG XL.
final class JXLFrames: FrameSequence {
  private let decoder: JXLDecoder

  /// - Parameters:
  ///   - input: a picture whose size is within the limits.
  ///   - first: the frame that comes first.
  init(_ input: PictureInput, startingAt first: Int = 0) throws(DecodeError) {
    decoder = try JXLDecoder(input, .pixels)
    decoder.skip(first)
  }

  func next() throws(DecodeError) -> Image? {
    guard try decoder.nextFrame() != nil else { return nil }
    return try decoder.pixels()
  }
}

@available(*, unavailable)
extension JXLFrames: Sendable {}
