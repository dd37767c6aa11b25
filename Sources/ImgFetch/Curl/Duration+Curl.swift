internal import ImgModel

/// Time limits in the units of libcurl. 0 would mean "no limit", so the least value is 1; the
/// greatest is that of an `Int32`, which every option of libcurl takes.
extension Duration {
  /// For the options whose names end in `_MS`.
  var curlMilliseconds: Int { Self.curlLimit(milliseconds) }

  /// For `CURLOPT_LOW_SPEED_TIME`, rounded up.
  var curlSeconds: Int { Self.curlLimit(secondsRoundedUp) }

  private static func curlLimit(_ count: Int64) -> Int {
    Int(min(max(count, 1), Int64(Int32.max)))
  }
}
