import CMicroHTTPD
import Glibc
import ImgSystem

/// libmicrohttpd's server without threads: it reads and writes when it is told to.
///
/// Sendable is unchecked because of the pointer. One thread starts it and hands it to another, which is then
/// the only one that uses it.
@safe
struct Daemon: @unchecked Sendable {
  private let pointer: OpaquePointer

  /// The memory of a connection beside its header: what libmicrohttpd notes of each field, and the header of
  /// the response.
  private static let connectionByteCount = 16 << 10

  /// - Parameter loop: gets the calls. It must live until ``stop()``.
  init(loop: EventLoop) throws(SystemError) {
    let limits = loop.core.limits
    guard
      let pointer = unsafe MHD_start_daemon_without_thread(
        Unmanaged.passUnretained(loop).toOpaque(), onTarget, onRequest, onEnd, onConnection,
        UInt32(clamping: limits.connections + AcceptThread.maximumExcessCount),
        // 0 would be no limit.
        UInt32(clamping: max(1, limits.idleTime.components.seconds)),
        limits.headerBytes + Self.connectionByteCount)
    else { throw SystemError.last("MHD_start_daemon") }
    unsafe self.pointer = unsafe pointer
  }

  /// Readable when ``run()`` has something to do.
  var descriptor: CInt { unsafe MHD_get_daemon_epoll_fd(pointer) }

  /// How long ``run()`` need not be called without an event; -1 for no limit.
  var timeoutMilliseconds: CInt { unsafe MHD_get_timeout_milliseconds(pointer) }

  /// Reads, calls back and writes, without blocking.
  func run() {
    // It fails only for a daemon with threads of its own.
    _ = unsafe MHD_run(pointer)
  }

  /// Takes over a connection. Closes it if that fails.
  func add(_ descriptor: CInt, from address: SocketAddress) -> Bool {
    unsafe address.withPointer {
      unsafe MHD_add_connection(pointer, descriptor, $0, $1) == .YES
    }
  }

  /// Closes the connections. None may be suspended.
  func stop() {
    unsafe MHD_stop_daemon(pointer)
  }
}

/// The loop that a callback gets as its context.
private func loop(_ context: UnsafeMutableRawPointer) -> EventLoop {
  unsafe Unmanaged<EventLoop>.fromOpaque(context).takeUnretainedValue()
}

/// A connection begins or ends. Its socket is open meanwhile.
private let onConnection: MHD_NotifyConnectionCallback = { context, handle, slot, event in
  guard let context = unsafe context, let handle = unsafe handle, let slot = unsafe slot else {
    return
  }
  let core = unsafe loop(context).core
  if event == .CONNECTION_NOTIFY_STARTED {
    guard let connection = core.connections[unsafe MHD_get_connection_fd(handle)] else { return }
    connection.waitForRequest()
    unsafe slot.pointee = Unmanaged.passRetained(connection).toOpaque()
  } else if let connection = unsafe slot.pointee {
    let ended = unsafe Unmanaged<Connection>.fromOpaque(connection).takeRetainedValue()
    unsafe slot.pointee = nil
    core.closeConnection(ended)
  }
}

/// A request line has arrived: makes the exchange, which `onEnd` releases.
private let onTarget: MHD_UriLogCallback = { context, target, handle in
  guard let context = unsafe context, let target = unsafe target, let handle = unsafe handle,
    let connection = unsafe MHD_get_connection_context(handle)
  else { return nil }
  let exchange = unsafe Exchange(
    target: RequestText(target),
    connection: Unmanaged<Connection>.fromOpaque(connection).takeUnretainedValue(),
    handle: ConnectionHandle(handle), loop: loop(context))
  exchange.receiveTarget()
  unsafe MHD_skip_parsing(handle, target)
  return unsafe Unmanaged.passRetained(exchange).toOpaque()
}

/// Called with the header, then once more for the answer, and again after the connection was suspended.
private let onRequest: MHD_AccessHandlerCallback = { _, handle, _, method, version, _, _, slot in
  guard let handle = unsafe handle, let method = unsafe method, let version = unsafe version,
    let slot = unsafe slot?.pointee
  else { return .NO }
  let exchange = unsafe Unmanaged<Exchange>.fromOpaque(slot).takeUnretainedValue()
  guard exchange.needsHeader else { return exchange.answer() }
  return unsafe exchange.receiveHeader(
    method: RequestText(method), version: RequestText(version),
    byteCount: MHD_get_request_header_size(handle))
}

private let onEnd: MHD_RequestCompletedCallback = { _, _, slot, _ in
  guard let exchange = unsafe slot?.pointee else { return }
  unsafe slot?.pointee = nil
  unsafe Unmanaged<Exchange>.fromOpaque(exchange).takeRetainedValue().end()
}
