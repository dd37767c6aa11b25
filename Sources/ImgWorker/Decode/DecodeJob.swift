import ImgFacts
import ImgModel

/// A picture on its way to the decoder, for one lease.
struct DecodeJob: Sendable {
  let lease: LeaseID
  let source: PictureSource
  let variants: [Variant]
  /// What is read of its facts, if they are the result.
  let facts: FactsExtent?
  /// Whether a decoder adds to the facts what it computes from the pixels.
  let describesPixels: Bool
  /// The media type that the origin declares.
  let declaredType: String?
  /// Whether a damaged picture is decoded as far as possible.
  let isLenient: Bool
  /// Whether a client waits for it.
  let isUrgent: Bool
  /// Whether the result is pixels in place of a thumbnail.
  var wantsPixels = false
  /// Those that ended with their decoders.
  var attempts = DecodeAttempts()
  /// A job that is cancelled before its turn is not decoded.
  let cancellation = Cancellation()
}
