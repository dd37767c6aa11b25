internal import ImgModel
internal import ImgSystem

/// Why this side ended a transfer before libcurl did.
enum StopReason {
  /// Bytes had come on the connection before the request was sent on it.
  case staleConnection
  /// The host is in its cooldown, and was not asked.
  case cooldown
  /// The body passed the limit.
  case bodyTooLong
  /// The body comes in pieces of a few bytes, or among too much that is not the body.
  case wasteful
  /// The body could not be written to its file.
  case spoolFailed(SystemError)
  /// What has come is enough for the facts, or of no use.
  case enough
  /// By its head, its first bytes or its redirect.
  case rejected(Failure)
}
