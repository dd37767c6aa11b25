import CMicroHTTPD

/// The listening libmicrohttpd server; its end closes every connection and joins every thread.
@safe struct Daemon: ~Copyable {
  private let handle: OpaquePointer

  /// The port it listens on, on 127.0.0.1.
  let port: UInt16

  /// - Parameter server: Must live longer than the daemon, which does not retain it.
  init(port: UInt16, server: OriginServer) throws(OriginError) {
    guard
      let handle = unsafe MHD_start_daemon_on_loopback(
        port, Unmanaged.passUnretained(server).toOpaque(), onTarget, onRequest, onEnd, onConnection)
    else { throw OriginError.cannotListen(port: port) }
    unsafe self.handle = unsafe handle
    self.port = unsafe MHD_get_daemon_port(handle)
  }

  deinit {
    unsafe MHD_stop_daemon(handle)
  }
}

/// The request line arrived: makes the request's exchange, which `onEnd` releases.
private let onTarget: MHD_UriLogCallback = { context, target, _ in
  guard let context = unsafe context, let target = unsafe target else { return nil }
  let server = unsafe Unmanaged<OriginServer>.fromOpaque(context).takeUnretainedValue()
  let exchange = Exchange(target: unsafe String(cString: target), ledger: server.ledger)
  return unsafe Unmanaged.passRetained(exchange).toOpaque()
}

/// Called first with the header alone, then once for each piece of an uploaded body, then without
/// one. An answer given before that last call would close the connection.
private let onRequest: MHD_AccessHandlerCallback = {
  context, connection, _, method, _, _, uploadedByteCount, slot in
  guard let context = unsafe context, let connection = unsafe connection,
    let method = unsafe method, let uploadedByteCount = unsafe uploadedByteCount,
    let exchange = unsafe slot?.pointee
  else { return .NO }
  let server = unsafe Unmanaged<OriginServer>.fromOpaque(context).takeUnretainedValue()
  let request = unsafe Unmanaged<Exchange>.fromOpaque(exchange).takeUnretainedValue()
  if request.request == nil {
    unsafe request.start(
      method: String(cString: method), headers: Connection(connection).headers)
    return .YES
  }
  if unsafe uploadedByteCount.pointee > 0 {
    unsafe uploadedByteCount.pointee = 0
    return .YES
  }
  return unsafe server.answer(request, on: Connection(connection)) ? .YES : .NO
}

/// The cause that libmicrohttpd names does not tell a client that left from a connection that the
/// daemon closed in order to stop, so the server is asked.
private let onEnd: MHD_RequestCompletedCallback = { context, _, slot, _ in
  guard let context = unsafe context, let exchange = unsafe slot?.pointee else { return }
  let server = unsafe Unmanaged<OriginServer>.fromOpaque(context).takeUnretainedValue()
  let ended = unsafe Unmanaged<Exchange>.fromOpaque(exchange).takeRetainedValue()
  unsafe slot?.pointee = nil
  ended.end(byShutdown: server.isStopping)
}

private let onConnection: MHD_NotifyConnectionCallback = { context, _, _, event in
  guard event == .CONNECTION_NOTIFY_STARTED, let context = unsafe context else { return }
  let server = unsafe Unmanaged<OriginServer>.fromOpaque(context).takeUnretainedValue()
  server.ledger.record { $0.totals.connectionsOpened += 1 }
}
