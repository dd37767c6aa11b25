/// What libcurl has asked of the event loop since the pool last looked.
///
/// libcurl calls back in the middle of its work, where it may not be called itself
/// (CURLMOPT_TIMERFUNCTION(3)). So the callbacks only write here, and the pool acts afterwards.
final class LoopRequests {
  /// One socket libcurl wants watched differently.
  struct SocketChange {
    let socket: CInt
    /// The transfer that the connection serves.
    let transferID: UInt64?
    /// A `CURL_POLL_` constant.
    let poll: CInt
  }

  /// In the order they were asked. The order matters: a number removed and then added again is
  /// another socket, which the poller does not know yet.
  var socketChanges: [SocketChange] = []
  /// When libcurl wants to be called without any socket being ready; `nil` for never.
  var deadline: ContinuousClock.Instant?
}
