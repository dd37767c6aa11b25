import ImgFacts
import ImgModel

/// A picture on its way to the decoder, for one lease.
struct DecodeJob: Sendable {
  let lease: LeaseID
  let source: PictureSource
  let variants: [Variant]
  /// What is read of its facts, if they are the result; no decoder is asked then.
  let facts: FactsExtent?
  /// Whether a damaged picture is decoded as far as possible.
  let isLenient: Bool
  /// Whether a client waits for it.
  let isUrgent: Bool
  /// A job that is cancelled before its turn is not decoded.
  let cancellation = Cancellation()
}
