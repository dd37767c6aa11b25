import ImgFacts
import ImgModel

/// An AVIF or HEIC sequence, opened as what its frames have in common.
final class SequencePicture: OpenPicture {
  let header: PictureHeader
  private let sequence: PictureSequence
  private let input: PictureInput

  /// The sequence that a thumbnail is made from.
  ///
  /// - Returns: `nil` for other files, and if the still of the file is shown: because it is what was
  ///   asked for, or because the sequence is in a codec that is not decoded.
  static func sequence(
    in input: PictureInput, as format: ImageFormat, _ selection: FrameSelection
  ) throws(DecodeError) -> PictureSequence? {
    guard let file = SequenceFile(input, as: format) else { return nil }
    if file.hasStill, selection == .first { return nil }
    do throws(FactsError) {
      return try file.sequence()
    } catch {
      if file.hasStill, selection == .poster { return nil }
      guard case .unsupported(let feature) = error else { throw DecodeError(error) }
      if file.hasStill { return nil }
      throw .unsupportedAnimation(feature)
    }
  }

  /// - Returns: `nil` for other files, and for one whose frames cannot be decoded.
  static func frameCount(in input: PictureInput, as format: ImageFormat) -> Int? {
    try? SequenceFile(input, as: format)?.sequence().frameCount
  }

  init(_ sequence: PictureSequence, in input: PictureInput) {
    let track = sequence.colours
    let decoded = ThumbnailGeometry.Size(width: track.width, height: track.height)
    let shown = track.shownArea.map { ThumbnailGeometry.Size(width: $0.width, height: $0.height) }
    header = PictureHeader(
      stored: shown ?? decoded, orientation: track.orientation, frames: track.samples.count,
      uncropped: decoded)
    self.sequence = sequence
    self.input = input
  }

  func firstFrame(for size: ThumbnailGeometry.Size) throws(DecodeError) -> Image {
    let frames = try SequenceFrames(sequence, in: input)
    guard let frame = try frames.next() else { throw .corrupt("it has no frame") }
    return frame
  }

  /// The pixels are there already, so that the picture has nothing to do with it.
  func reason(for error: VipsError) -> DecodeError { DecodeError(error) }
}

@available(*, unavailable)
extension SequencePicture: Sendable {}
