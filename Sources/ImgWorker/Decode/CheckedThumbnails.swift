import ImgModel
import ImgSniff
import ImgTransport
import ImgWire

/// The thumbnails that a decoder made, and their source. The picture may control the decoder, so the
/// bytes are copied out of its memory first, and then all that is said of them is checked.
struct CheckedThumbnails {
  /// In the order of the variants.
  let thumbnails: [Thumbnail]
  let source: SourceFacts
  /// Its form was checked when it was received. What it shows is not known.
  let thumbHash: ThumbHash
  /// Of each thumbnail.
  let bytes: [[UInt8]]

  /// - Parameters:
  ///   - sourceFormat: what the worker itself takes the picture for.
  ///   - isLenient: whether the decoder was asked to accept damage.
  ///   - output: what the decoder was asked for.
  /// - Throws: a ``DecoderFault`` if no decoder says that.
  init(
    _ facts: RenderedFacts, of sourceFormat: ImageFormat?, as variants: [Variant],
    isLenient: Bool, _ output: DecodeRequest.Output, in memory: ThumbnailMemory,
    within limits: Limits
  ) throws(DecoderFault) {
    guard facts.thumbnails.count == variants.count else {
      throw .misbehaved("made another number of thumbnails than was requested")
    }
    var bytes: [[UInt8]] = []
    var offset = 0
    for (thumbnail, variant) in zip(facts.thumbnails, variants) {
      let made = try Self.bytes(
        of: thumbnail, as: variant, isLenient: isLenient, in: memory, at: offset)
      if output == .pixels {
        try Self.checkPixels(thumbnail, of: facts.source)
      } else {
        try Self.checkEncoding(thumbnail, made, as: variant)
      }
      bytes.append(made)
      offset += thumbnail.byteCount
    }
    let source = facts.source
    guard source.format == sourceFormat else {
      throw .misbehaved("took the picture for another format")
    }
    let (pixels, isOverflow) = Int64(source.width).multipliedReportingOverflow(
      by: Int64(source.height))
    guard source.width > 0, source.height > 0, source.frames > 0, !isOverflow,
      pixels <= limits.maxPixels, source.frames <= limits.maxFrames
    else { throw .misbehaved("announced a picture of impossible size") }
    thumbnails = facts.thumbnails
    self.source = source
    thumbHash = facts.thumbHash
    self.bytes = bytes
  }

  private static func bytes(
    of thumbnail: Thumbnail, as variant: Variant, isLenient: Bool, in memory: ThumbnailMemory,
    at offset: Int
  ) throws(DecoderFault) -> [UInt8] {
    guard let bytes = memory.thumbnail(byteCount: thumbnail.byteCount, at: offset) else {
      throw .misbehaved("announced a thumbnail of \(thumbnail.byteCount) bytes")
    }
    let (widths, heights) = variant.thumbnailSides
    guard widths.contains(thumbnail.width), heights.contains(thumbnail.height) else {
      throw .misbehaved("announced a thumbnail of impossible size")
    }
    guard thumbnail.answers(isLenient: isLenient) else {
      throw .misbehaved("made a thumbnail of a damaged picture unasked")
    }
    return bytes
  }

  private static func checkEncoding(
    _ thumbnail: Thumbnail, _ bytes: [UInt8], as variant: Variant
  ) throws(DecoderFault) {
    guard variant.admits(thumbnail.format) else {
      throw .misbehaved("made a thumbnail of another format than was requested")
    }
    guard FormatSniffer.sniff(bytes) == .picture(thumbnail.format) else {
      throw .misbehaved("made a thumbnail that is not a picture of the announced format")
    }
  }

  /// The sides were checked: their product is no overflow.
  private static func checkPixels(
    _ pixels: Thumbnail, of source: SourceFacts
  ) throws(DecoderFault) {
    guard pixels.format == source.format else {
      throw .misbehaved("announced pixels of another format than the picture's")
    }
    guard pixels.byteCount == DecodeRequest.byteCount(width: pixels.width, height: pixels.height)
    else { throw .misbehaved("announced pixels of impossible size") }
  }
}

extension Variant {
  /// Whether a thumbnail of this variant can have that format.
  fileprivate func admits(_ encoding: ImageFormat) -> Bool {
    switch format {
    case .auto: encoding == .jpeg || encoding == .webp
    case .compatible: [.jpeg, .png, .gif].contains(encoding)
    case .jpeg, .png, .webp, .avif, .gif: Format(encoding) == format
    }
  }

  /// The sizes that a thumbnail of this variant can have. One that covers the box and is not cropped
  /// is larger than the box.
  fileprivate var thumbnailSides: (widths: ClosedRange<Int>, heights: ClosedRange<Int>) {
    mode.coversBox && crop == nil
      ? (Self.sideRange, Self.sideRange) : (1...largestWidth, 1...largestHeight)
  }
}

extension Failure {
  /// What a decoder says of a picture, as far as a decoder can know.
  ///
  /// - Throws: a ``DecoderFault`` if no decoder says that.
  init(reportedByDecoder failure: Failure) throws(DecoderFault) {
    switch failure.code {
    case .notAnImage, .unsupportedFormat, .tooManyPixels, .tooManyFrames, .frameOutOfRange,
      .unsupportedAnimation, .corruptImage, .outOfMemory, .tooLarge, .internal:
      self.init(
        stage: .decode, code: failure.code,
        // Which failures pass is for the worker to say; more memory there will not be.
        isRetryable: failure.code == .outOfMemory ? false : nil,
        detail: failure.detail)
    default: throw .misbehaved("reported the failure \(failure.code.rawValue)")
    }
  }
}
