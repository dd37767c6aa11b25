extension Duration {
  /// The timeout for poll(2) and epoll_wait(2). Rounded up, so that a wait never ends just before
  /// its deadline; 0 for the past; at most 24 days.
  var wholeMilliseconds: CInt {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    guard seconds < Int64(CInt.max) / 1000 else { return CInt.max }
    let attosecondsPerMillisecond: Int64 = 1_000_000_000_000_000
    let milliseconds = (attoseconds + attosecondsPerMillisecond - 1) / attosecondsPerMillisecond
    return CInt(seconds * 1000 + milliseconds)
  }
}
