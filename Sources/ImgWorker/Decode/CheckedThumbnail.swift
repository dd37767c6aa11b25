import ImgModel
import ImgSniff
import ImgTransport
import ImgWire

/// A thumbnail that a decoder made, and its source. The picture may control the decoder, so the bytes
/// are copied out of its memory first, and then all that is said of them is checked.
struct CheckedThumbnail {
  let thumbnail: Thumbnail
  let source: SourceFacts
  let bytes: [UInt8]

  /// - Throws: a ``DecoderFault`` if no decoder says that.
  init(
    _ facts: RenderedFacts, in memory: ThumbnailMemory, within limits: Limits
  ) throws(DecoderFault) {
    guard let bytes = memory.thumbnail(byteCount: facts.thumbnail.byteCount) else {
      throw .misbehaved("announced a thumbnail of \(facts.thumbnail.byteCount) bytes")
    }
    guard FormatSniffer.sniff(bytes) == .picture(facts.thumbnail.format) else {
      throw .misbehaved("made a thumbnail that is not a picture of the announced format")
    }
    let sides = Variant.sideRange
    guard sides.contains(facts.thumbnail.width), sides.contains(facts.thumbnail.height) else {
      throw .misbehaved("announced a thumbnail of impossible size")
    }
    let source = facts.source
    let (pixels, isOverflow) = Int64(source.width).multipliedReportingOverflow(
      by: Int64(source.height))
    guard source.width > 0, source.height > 0, source.frames > 0, !isOverflow,
      pixels <= limits.maxPixels
    else { throw .misbehaved("announced a picture of impossible size") }
    thumbnail = facts.thumbnail
    self.source = source
    self.bytes = bytes
  }
}

extension Failure {
  /// What a decoder says of a picture, as far as a decoder can know.
  ///
  /// - Throws: a ``DecoderFault`` if no decoder says that.
  init(reportedByDecoder failure: Failure) throws(DecoderFault) {
    switch failure.code {
    case .notAnImage, .unsupportedFormat, .tooManyPixels, .tooManyFrames, .corruptImage,
      .outOfMemory, .tooLarge, .internal:
      self.init(
        stage: .decode, code: failure.code, isRetryable: failure.isRetryable,
        detail: failure.detail)
    default: throw .misbehaved("reported the failure \(failure.code.rawValue)")
    }
  }
}
