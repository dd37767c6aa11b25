internal import CCurl
internal import ImgModel

/// One libcurl multi handle: the connections of all transfers and their name look-ups.
///
/// Invariant: every easy handle was removed before the multi handle ends (curl_multi_cleanup(3)).
@safe
final class MultiHandle {
  private let pointer: UnsafeMutableRawPointer
  /// The callbacks' only context; lives as long as the multi handle.
  let requests = LoopRequests()
  private var connectionLimit = 0

  /// - Parameter connectionLimit: see ``raiseConnectionLimit(to:)``.
  init(connectionLimit: Int) throws(CurlError) {
    guard let pointer = unsafe curl_multi_init() else {
      throw CurlError(operation: "curl_multi_init", reason: CURLE_OUT_OF_MEMORY.text)
    }
    unsafe self.pointer = pointer
    let context = unsafe Unmanaged.passUnretained(requests).toOpaque()
    try check(unsafe curl_multi_setopt_pointer(pointer, CURLMOPT_SOCKETDATA, context))
    try check(unsafe curl_multi_setopt_pointer(pointer, CURLMOPT_TIMERDATA, context))
    try check(
      unsafe curl_multi_setopt_socket_callback(pointer, CURLMOPT_SOCKETFUNCTION) {
        easy, socket, poll, context, _ in
        if let context = unsafe context {
          let id = unsafe easy.flatMap { unsafe Transfer.owner(of: $0) }?.id
          unsafe Unmanaged<LoopRequests>.fromOpaque(context).takeUnretainedValue()
            .socketChanges.append(
              LoopRequests.SocketChange(socket: socket, transferID: id, poll: poll))
        }
        return 0
      })
    try check(
      unsafe curl_multi_setopt_timer_callback(pointer, CURLMOPT_TIMERFUNCTION) {
        _, milliseconds, context in
        if let context = unsafe context {
          unsafe Unmanaged<LoopRequests>.fromOpaque(context).takeUnretainedValue()
            .deadline = milliseconds < 0 ? nil : .now + .milliseconds(milliseconds)
        }
        return 0
      })
    try raiseConnectionLimit(to: max(connectionLimit, 1))
  }

  deinit {
    unsafe curl_multi_cleanup(pointer)
  }

  /// Keeps up to so many connections open, if that is more than before.
  ///
  /// Whenever a transfer ends and there are more, those in use counted, libcurl closes the one that
  /// lay idle longest (CURLMOPT_MAXCONNECTS(3)). So a limit below the number of transfers under way
  /// would close every connection after one use. No transfer ever waits for it.
  func raiseConnectionLimit(to limit: Int) throws(CurlError) {
    guard limit > connectionLimit else { return }
    try check(unsafe curl_multi_setopt_long(pointer, CURLMOPT_MAXCONNECTS, limit))
    connectionLimit = limit
  }

  func add(_ easy: EasyHandle) throws(CurlError) {
    let code = unsafe curl_multi_add_handle(pointer, easy.pointer)
    guard code == CURLM_OK else { throw CurlError(operation: "curl_multi_add_handle", code: code) }
  }

  /// Takes a handle out, whatever its transfer is doing; a connection in the middle of something
  /// is closed.
  func remove(_ easy: EasyHandle) {
    require(unsafe curl_multi_remove_handle(pointer, easy.pointer))
  }

  /// Lets libcurl work on a socket that is ready.
  /// - Parameter readiness: `CURL_CSELECT_` bits.
  func work(on socket: CInt, readiness: CInt) {
    var runningCount: CInt = 0
    require(unsafe curl_multi_socket_action(pointer, socket, readiness, &runningCount))
  }

  /// Lets libcurl work on what is due by time.
  func workOnDeadline() {
    // libcurl asks again when there is more to come.
    requests.deadline = nil
    work(on: CURL_SOCKET_BAD, readiness: 0)
  }

  /// What libcurl wants watched differently since the last call.
  func takeSocketChanges() -> [LoopRequests.SocketChange] {
    defer { requests.socketChanges = [] }
    return requests.socketChanges
  }

  /// A transfer that has ended and was not returned yet; the caller removes its handle.
  func nextFinished() -> (transfer: Transfer, code: CURLcode)? {
    var remainingCount: CInt = 0
    while let message = unsafe curl_multi_info_read(pointer, &remainingCount) {
      guard unsafe message.pointee.msg == CURLMSG_DONE,
        let easy = unsafe message.pointee.easy_handle,
        let transfer = unsafe Transfer.owner(of: easy)
      else { continue }
      return (transfer, unsafe message.pointee.data.result)
    }
    return nil
  }

  private func check(_ code: CURLMcode) throws(CurlError) {
    guard code == CURLM_OK else { throw CurlError(operation: "curl_multi_setopt", code: code) }
  }

  /// Other results of these calls than OK mean misuse, or too little memory to continue.
  private func require(_ code: CURLMcode) {
    precondition(code == CURLM_OK, "libcurl's multi handle is unusable")
  }
}

/// What libcurl has asked of the event loop since the pool last looked.
///
/// libcurl calls back in the middle of its work, where it may not be called itself
/// (CURLMOPT_TIMERFUNCTION(3)). So the callbacks only write here, and the pool acts afterwards.
final class LoopRequests {
  /// One socket libcurl wants watched differently.
  struct SocketChange {
    let socket: CInt
    /// The transfer that the connection serves.
    let transferID: TransferID?
    /// A `CURL_POLL_` constant.
    let poll: CInt
  }

  /// In the order they were asked. The order matters: a number removed and then added again is
  /// another socket, which the poller does not know yet.
  var socketChanges: [SocketChange] = []
  /// When libcurl wants to be called without any socket being ready; `nil` for never.
  var deadline: ContinuousClock.Instant?
}
