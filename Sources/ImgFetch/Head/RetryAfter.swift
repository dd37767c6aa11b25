import ImgModel

/// The field `Retry-After` (RFC 9110 section 10.2.3): how long a host asks to get no requests.
struct RetryAfter: Equatable {
  /// More than 0.
  let seconds: Int64

  /// - Parameters:
  ///   - text: a number of seconds, or a date.
  ///   - receivedAt: when the response came. A date counts from then on.
  /// - Returns: `nil` for neither, for 0, and for a date that has passed.
  init?(_ text: String, receivedAt: WallTime) {
    let seconds: Int64
    if text.isDigits {
      // A number that does not fit is too long to wait.
      seconds = Int64(text) ?? .max
    } else if let date = HTTPDate(text, now: receivedAt) {
      seconds = receivedAt.duration(to: date.moment).secondsRoundedUp
    } else {
      return nil
    }
    guard seconds > 0 else { return nil }
    self.seconds = seconds
  }
}
