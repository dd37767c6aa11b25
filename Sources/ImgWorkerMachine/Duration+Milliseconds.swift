extension Duration {
  /// Rounded to the nearest.
  var roundedMilliseconds: Int64 { Int64((self / .milliseconds(1)).rounded()) }
}
