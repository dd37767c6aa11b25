internal import ImgModel

/// What went before a transfer that is one of several for the same request. The limits of the
/// request count all of them.
struct TransferHistory {
  /// When the first of them began, or the time began to count.
  var begunAt = ContinuousClock.now
  /// Redirects that were followed.
  var redirectCount = 0
  /// Bytes of the heads of all responses.
  var headByteCount = 0
  /// Bytes of all bodies, but for those of the partial body that the transfer starts from.
  var bodyByteCount = 0
  /// Of those, bytes of a partial body that the origin did not resume.
  var resumedByteCount = 0
  /// What the parts of all of them took together.
  var timings = Timings()

  var isRedirected: Bool { redirectCount > 0 }
}
