import ImgModel

/// A picture on its way to the decoder, for one lease.
struct DecodeJob: Sendable {
  let lease: LeaseID
  let source: PictureSource
  let variant: Variant
  /// Whether a damaged picture is decoded as far as possible.
  let isLenient: Bool
  /// Whether a client waits for it.
  let isUrgent: Bool
  /// A job that is cancelled before its turn is not decoded.
  let cancellation = Cancellation()
}
