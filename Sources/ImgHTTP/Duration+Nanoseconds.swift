extension Duration {
  /// Whole nanoseconds, for the monotonic clock; 0 for a negative duration, and at most 292 years.
  var nanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    let (product, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    return isTooLong ? UInt64(Int64.max) : UInt64(product) + UInt64(attoseconds) / 1_000_000_000
  }
}
