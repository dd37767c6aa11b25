import CMicroHTTPD
import Glibc

/// A client's connection, valid during the callbacks of its own thread.
@safe struct Connection {
  private let handle: OpaquePointer

  init(_ handle: OpaquePointer) {
    unsafe self.handle = unsafe handle
  }

  var descriptor: CInt {
    unsafe MHD_get_connection_fd(handle)
  }

  /// The request's header fields under their lowercased names.
  var headers: [String: String] {
    var fields: [String: String] = [:]
    unsafe withUnsafeMutablePointer(to: &fields) { fields in
      _ = unsafe MHD_get_connection_values(
        handle, .HEADER_KIND,
        { context, _, name, value in
          if let fields = unsafe context?.assumingMemoryBound(to: [String: String].self),
            let name = unsafe name
          {
            let key = unsafe String(cString: name).lowercased()
            unsafe fields.pointee[key] = unsafe value.map { unsafe String(cString: $0) } ?? ""
          }
          return .YES
        }, fields)
    }
    return fields
  }

  /// Sends a TCP RST at once: connecting a socket to no address dissolves its connection.
  func reset() {
    var nowhere = sockaddr()
    nowhere.sa_family = sa_family_t(AF_UNSPEC)
    // Fails only when the client was faster, and then there is nothing left to reset.
    _ = unsafe connect(descriptor, &nowhere, socklen_t(MemoryLayout<sockaddr>.size))
  }

  /// Starts an answer; its body comes from the reader as the connection takes it.
  ///
  /// - Returns: False when libmicrohttpd refused the answer.
  func start(_ response: Response, reader: BodyReader) -> Bool {
    let byteCount = response.delivery.knownLength(of: response.body.count)
    let blockByteCount = 65_536
    guard
      let answer = unsafe MHD_create_response_from_callback(
        byteCount.map(UInt64.init) ?? MHD_BODY_SIZE_UNKNOWN, blockByteCount,
        { context, position, buffer, room in
          guard let context = unsafe context, let buffer = unsafe buffer else {
            return MHD_READER_END_WITH_ERROR
          }
          let reader = unsafe Unmanaged<BodyReader>.fromOpaque(context).takeUnretainedValue()
          return unsafe buffer.withMemoryRebound(to: UInt8.self, capacity: room) { bytes in
            unsafe reader.read(
              at: Int(position),
              into: UnsafeMutableBufferPointer(start: bytes, count: room))
          }
        },
        Unmanaged.passRetained(reader).toOpaque(),
        { context in
          if let context = unsafe context {
            unsafe Unmanaged<BodyReader>.fromOpaque(context).release()
          }
        })
    else { return false }
    defer { unsafe MHD_destroy_response(answer) }
    var headers = response.headers
    if case .wrongLength(let declared) = response.delivery {
      unsafe MHD_allow_own_content_length(answer)
      headers.append(Header("Content-Length", String(declared)))
    }
    for header in headers {
      guard unsafe MHD_add_response_header(answer, header.name, header.value) == .YES else {
        return false
      }
    }
    return unsafe MHD_queue_response(handle, CUnsignedInt(response.status), answer) == .YES
  }
}

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
    unsafe request.start(method: String(cString: method), headers: Connection(connection).headers)
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

private let onConnection: MHD_NotifyConnectionCallback = { context, connection, _, event in
  guard let context = unsafe context, let connection = unsafe connection else { return }
  let server = unsafe Unmanaged<OriginServer>.fromOpaque(context).takeUnretainedValue()
  if event == .CONNECTION_NOTIFY_STARTED {
    unsafe server.opened(Connection(connection))
  } else {
    unsafe server.closed(Connection(connection))
  }
}

/// One request from its first line to the end of its answer, and what the ledger says of it.
///
/// Belongs to the thread of its connection.
final class Exchange {
  /// Path and query as they stood in the request line.
  let target: String

  /// Nil until the header arrived.
  private(set) var request: Request?

  private let ledger: Ledger
  /// The ledger's number for it while it is in flight.
  private var number: Int?

  init(target: String, ledger: Ledger) {
    self.target = target
    self.ledger = ledger
  }

  /// The header arrived.
  func start(method: String, headers: [String: String]) {
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let request = Request(
      method: method, path: String(parts[0]),
      query: parts.count == 2 ? String(parts[1]) : nil, headers: headers)
    self.request = request
    number = ledger.record { $0.started(request) }
  }

  /// So many body bytes are about to be handed to the connection.
  func send(_ byteCount: Int) {
    guard let request else { return }
    ledger.record { $0.sent(byteCount, for: request) }
  }

  /// Nothing more follows the bytes that are handed to the connection now.
  ///
  /// To be called before the client can have the last byte, or see that the origin breaks off: a
  /// client that starts its next request on seeing it must not find this one still counted.
  func land() {
    guard let number, let request else { return }
    self.number = nil
    ledger.record { $0.ended(number, .landed, request) }
  }

  /// The connection has done with the request. If nothing else ended it before, its client left.
  func end(byShutdown: Bool) {
    guard let number, let request else { return }
    self.number = nil
    ledger.record { $0.ended(number, byShutdown ? .landed : .aborted, request) }
  }
}

/// Hands the body of one answer to its connection in the way its delivery asks.
///
/// Belongs to the thread of its connection, which it may block.
final class BodyReader {
  private let response: Response
  private let exchange: Exchange
  private let connection: Connection
  /// Those of the steps that are to be released.
  private let latches: [Latch]
  private let stopping: Latch

  init(
    response: Response, exchange: Exchange, connection: Connection, latches: [Latch],
    stopping: Latch
  ) {
    self.response = response
    self.exchange = exchange
    self.connection = connection
    self.latches = latches
    self.stopping = stopping
  }

  /// Writes the bytes from `position` on and returns their number, or one of libmicrohttpd's two
  /// codes for an end (microhttpd.h, `MHD_ContentReaderCallback`).
  func read(at position: Int, into buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
    let step = response.delivery.step(at: position, of: response.body.count, room: buffer.count)
    switch step {
    case .send(let byteCount):
      return unsafe copy(byteCount, from: position, to: buffer)
    case .sendAfter(let pause, let byteCount):
      guard waited(for: nil, atMost: pause) else { return MHD_READER_END_WITH_ERROR }
      return unsafe copy(byteCount, from: position, to: buffer)
    case .sendAfterRelease(let byteCount, let step):
      guard waited(for: latches[step], atMost: nil) else { return MHD_READER_END_WITH_ERROR }
      return unsafe copy(byteCount, from: position, to: buffer)
    case .end:
      exchange.land()
      return MHD_READER_END_OF_STREAM
    case .breakOff:
      exchange.land()
      return MHD_READER_END_WITH_ERROR
    case .reset:
      exchange.land()
      connection.reset()
      return MHD_READER_END_WITH_ERROR
    }
  }

  /// Waits as the answer asks before its status line goes out.
  ///
  /// - Returns: False when the client has left.
  func waitedForHeader() -> Bool {
    if response.headerDelay > .zero, !waited(for: nil, atMost: response.headerDelay) {
      return false
    }
    return response.delivery != .hold || waited(for: latches[0], atMost: nil)
  }

  private func waited(for latch: Latch?, atMost duration: Duration?) -> Bool {
    let end = wait(for: latch, atMost: duration, socket: connection.descriptor, stopping: stopping)
    if end == .originStopped { exchange.land() }
    return end == .opened || end == .elapsed
  }

  private func copy(
    _ byteCount: Int, from position: Int, to buffer: UnsafeMutableBufferPointer<UInt8>
  ) -> Int {
    if response.delivery == .endless {
      for offset in 0..<byteCount { unsafe buffer[offset] = Self.noise(at: position + offset) }
    } else {
      let range = position..<position + byteCount
      _ = unsafe buffer.update(fromContentsOf: response.body[range])
    }
    exchange.send(byteCount)
    if position + byteCount == response.delivery.knownLength(of: response.body.count) {
      exchange.land()
    }
    return byteCount
  }

  /// A byte that looks random but depends on its position alone (Knuth's multiplicative hash).
  private static func noise(at position: Int) -> UInt8 {
    UInt8(truncatingIfNeeded: (UInt64(position) &* 0x9E37_79B9_7F4A_7C15) >> 56)
  }
}

/// A door that is opened once and for good. A thread can wait for it together with a socket.
///
/// An event descriptor that is never read: after one write it stays readable for all.
final class Latch: Sendable {
  fileprivate let descriptor: CInt

  init() {
    descriptor = eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
    precondition(descriptor >= 0, "no descriptor left for a latch, errno \(errno)")
  }

  deinit {
    close(descriptor)
  }

  var isOpen: Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&entry, 1, 0) > 0
  }

  func open() {
    // Fails only when the counter is full, and then the latch is open already.
    _ = eventfd_write(descriptor, 1)
  }
}

/// Why a wait on behalf of a client ended.
enum WaitEnd {
  case opened
  case elapsed
  case clientLeft
  case originStopped
}

/// Waits for a latch, for a time, or for both, whichever comes first; always also for the client of
/// the socket to leave and for the origin to stop.
func wait(for latch: Latch?, atMost duration: Duration?, socket: CInt, stopping: Latch) -> WaitEnd {
  let deadline = duration.map { ContinuousClock.now + $0 }
  // poll(2) passes over an entry with a negative descriptor.
  var entries = [
    pollfd(fd: stopping.descriptor, events: Int16(POLLIN), revents: 0),
    pollfd(fd: socket, events: POLL_PEER_CLOSED, revents: 0),
    pollfd(fd: latch?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
  ]
  while true {
    let remaining = deadline.map { max(.zero, $0 - .now) }
    let count = unsafe poll(&entries, nfds_t(entries.count), remaining?.pollTimeout ?? -1)
    if count > 0 {
      if entries[0].revents != 0 { return .originStopped }
      return entries[1].revents != 0 ? .clientLeft : .opened
    }
    if count == 0 { return .elapsed }
    precondition(errno == EINTR, "poll failed with errno \(errno)")
  }
}

extension Duration {
  /// The timeout for poll(2), in milliseconds. Rounded up, so that a wait never ends early.
  fileprivate var pollTimeout: CInt {
    let (seconds, attoseconds) = components
    let attosecondsPerMillisecond: Int64 = 1_000_000_000_000_000
    let milliseconds =
      seconds * 1_000
      + (attoseconds + attosecondsPerMillisecond - 1) / attosecondsPerMillisecond
    return CInt(clamping: milliseconds)
  }
}
