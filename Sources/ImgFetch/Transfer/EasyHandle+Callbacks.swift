internal import CCurl

/// What libcurl calls while a transfer runs. No callback lets an error out, because there is
/// nothing in C to catch it.
extension EasyHandle {
  /// Has libcurl call that transfer, which must stay until the handle has left the multi handle.
  func installCallbacks(of transfer: Transfer) throws(CurlError) {
    let context = unsafe Unmanaged.passUnretained(transfer).toOpaque()
    try enableErrorText()
    try unsafe set(CURLOPT_PRIVATE, context)
    try unsafe set(CURLOPT_WRITEDATA, context)
    try unsafe set(CURLOPT_HEADERDATA, context)
    try unsafe set(CURLOPT_OPENSOCKETDATA, context)
    try unsafe set(CURLOPT_PREREQDATA, context)
    try check(
      CURLOPT_WRITEFUNCTION,
      unsafe curl_easy_setopt_write_callback(pointer, CURLOPT_WRITEFUNCTION) {
        start, size, count, context in
        let chunk = unsafe UnsafeRawBufferPointer(start: start, count: size * count)
        return unsafe Transfer.calledBack(context).receiveBody(chunk)
      })
    try check(
      CURLOPT_HEADERFUNCTION,
      unsafe curl_easy_setopt_write_callback(pointer, CURLOPT_HEADERFUNCTION) {
        start, size, count, context in
        let line = unsafe UnsafeRawBufferPointer(start: start, count: size * count)
        return unsafe Transfer.calledBack(context).receiveHeadLine(line) ? line.count : 0
      })
    try check(
      CURLOPT_OPENSOCKETFUNCTION,
      unsafe curl_easy_setopt_opensocket_callback(pointer, CURLOPT_OPENSOCKETFUNCTION) {
        context, _, address in
        guard let address = unsafe address else { return CURL_SOCKET_BAD }
        return unsafe Transfer.calledBack(context).openSocket(to: address)
      })
    try check(
      CURLOPT_PREREQFUNCTION,
      unsafe curl_easy_setopt_prereq_callback(pointer, CURLOPT_PREREQFUNCTION) {
        context, address, localAddress, port, localPort in
        let connection = ConnectionSockets.Ends(
          localAddress: unsafe localAddress.map { unsafe String(cString: $0) } ?? "",
          localPort: Int(localPort),
          address: unsafe address.map { unsafe String(cString: $0) } ?? "", port: Int(port))
        return unsafe Transfer.calledBack(context).maySendRequest(on: connection)
          ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
      })
  }
}

extension Transfer {
  /// The transfer whose callbacks are installed in an easy handle.
  static func owner(of easy: UnsafeMutableRawPointer) -> Transfer? {
    var context: UnsafeMutableRawPointer?
    guard unsafe curl_easy_getinfo_pointer(easy, CURLINFO_PRIVATE, &context) == CURLE_OK else {
      return nil
    }
    return unsafe context.map { unsafe from($0) }
  }

  /// The transfer that libcurl is working on now.
  fileprivate static func calledBack(_ context: UnsafeMutableRawPointer?) -> Transfer {
    let transfer = unsafe from(context)
    transfer.reportWork()
    return transfer
  }

  private static func from(_ context: UnsafeMutableRawPointer?) -> Transfer {
    guard let context = unsafe context else {
      preconditionFailure("libcurl lost a transfer's context")
    }
    return unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
  }
}
