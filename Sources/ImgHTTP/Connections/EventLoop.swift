import CLinux
import CMicroHTTPD
import Glibc
import ImgSystem
import Synchronization

/// A thread that reads the requests of its connections, and sends the responses. It also runs the tasks that prefer
/// it as their executor.
///
/// It waits for events itself. The threads of libmicrohttpd 0.9.75 may wait although there is work: when 128
/// connections, or a multiple, become readable at once, `MHD_epoll` waits for another event before it
/// handles these.
final class EventLoop: Sendable {
  /// What other threads ask for.
  private enum Command {
    case add(CInt, SocketAddress)
    case resume(ConnectionHandle)
    case run(UnownedJob)
    case stop
  }

  private static let daemonToken: UInt64 = 0
  private static let commandsToken: UInt64 = 1
  /// After so many jobs, the connections have their turn: a job may take a fraction of a millisecond.
  private static let jobsPerTurn = 8

  let core: ServerCore
  private let events: EventSet
  /// At most one for each connection that is new or suspended, one for each task, and one to stop.
  private let commands: Mailbox<Command>
  /// Whether the thread waits for events. Orders nothing: a late look gives a connection to a busy thread.
  private let waits = Atomic(false)
  /// Whether the thread runs the jobs that are posted.
  private let takesJobs = Mutex(true)
  private let thread = Mutex<ServiceThread<Never>?>(nil)

  /// Starts the thread, which runs until ``stop()``.
  init(core: ServerCore) throws(SystemError) {
    self.core = core
    events = try EventSet()
    commands = try Mailbox()
    let daemon = try Daemon(loop: self)
    do throws(SystemError) {
      try events.addReadable(daemon.descriptor, token: Self.daemonToken)
      try events.addReadable(commands.descriptor, token: Self.commandsToken)
      let started = try ServiceThread<Never>(name: "http-loop", capacity: 1) { _ in
        self.serve(daemon)
      }
      thread.withLock { $0 = started }
    } catch {
      daemon.stop()
      throw error
    }
  }

  /// Whether the thread had nothing to do a moment ago.
  var isIdle: Bool { waits.load(ordering: .relaxed) }

  /// Takes over a connection, whose socket is in the table of connections. Closes it if that fails.
  func add(_ descriptor: CInt, from address: SocketAddress) {
    commands.post(.add(descriptor, address))
  }

  /// Goes on with a suspended connection.
  func resume(_ connection: ConnectionHandle) {
    commands.post(.resume(connection))
  }

  /// Closes the connections and ends the thread. No connection may be suspended or added from now on, see
  /// ``Suspensions/close()``. A second call does nothing.
  func stop() {
    guard let thread = thread.withLock({ $0.take() }) else { return }
    commands.post(.stop)
    thread.join()
  }

  /// What the thread does until it is told to stop.
  private func serve(_ daemon: Daemon) {
    var pending = ArraySlice<Command>()
    var isRunning = true
    while isRunning {
      let mayWait = pending.isEmpty
      waits.store(mayWait, ordering: .relaxed)
      let tokens = events.wait(milliseconds: mayWait ? daemon.timeoutMilliseconds : 0)
      waits.store(false, ordering: .relaxed)
      // Those that have come meanwhile are still there when the pending ones are done.
      if pending.isEmpty, tokens.contains(Self.commandsToken) { pending = commands.takeAll()[...] }
      isRunning = handle(&pending, daemon)
      daemon.run()
    }
    daemon.stop()
    refuseJobs(pending)
  }

  /// Handles commands in their order, until some jobs have run.
  ///
  /// - Returns: whether the thread goes on.
  private func handle(_ pending: inout ArraySlice<Command>, _ daemon: Daemon) -> Bool {
    var jobCount = 0
    while jobCount < Self.jobsPerTurn, let command = pending.popFirst() {
      switch command {
      case .add(let descriptor, let address): add(descriptor, from: address, to: daemon)
      case .resume(let connection): unsafe MHD_resume_connection(connection.pointer)
      case .run(let job):
        run(job)
        jobCount += 1
      case .stop: return false
      }
    }
    return true
  }

  private func run(_ job: UnownedJob) {
    unsafe job.runSynchronously(on: asUnownedTaskExecutor())
  }

  /// Tasks that have not ended go on elsewhere.
  private func refuseJobs(_ pending: ArraySlice<Command>) {
    takesJobs.withLock { $0 = false }
    for case .run(let job) in pending + commands.takeAll() { run(job) }
  }

  private func add(_ descriptor: CInt, from address: SocketAddress, to daemon: Daemon) {
    guard !daemon.add(descriptor, from: address) else { return }
    core.counters.countRefused()
    core.closeConnection(descriptor)
  }
}

extension EventLoop: TaskExecutor {
  /// Runs a part of a task on the thread, or on Swift's own ones if the thread has ended.
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let isTaken = takesJobs.withLock { takesJobs in
      if takesJobs { commands.post(.run(job)) }
      return takesJobs
    }
    if !isTaken { globalConcurrentExecutor.enqueue(job) }
  }
}

/// What a thread of a server waits for: epoll(7). Any thread may add and remove descriptors.
final class EventSet: Sendable {
  private static let maximumEventCount = 256

  private let epoll: OwnedDescriptor

  init() throws(SystemError) {
    epoll = OwnedDescriptor(adopting: try systemCall("epoll_create1") { img_epoll_create() })
  }

  /// Reports `token` whenever the descriptor is readable.
  func addReadable(_ descriptor: CInt, token: UInt64) throws(SystemError) {
    try add(descriptor, EPOLLIN.rawValue, token: token)
  }

  /// Reports `token` once: when the peer has closed its end, also only for sending, or the connection has
  /// failed.
  func addHangUp(_ descriptor: CInt, token: UInt64) throws(SystemError) {
    try add(descriptor, EPOLLRDHUP.rawValue | EPOLLONESHOT.rawValue, token: token)
  }

  /// Call it before the descriptor closes.
  func remove(_ descriptor: CInt) {
    // ENOENT: it was not added, which is the wanted state.
    _ = epoll_ctl(epoll.rawValue, EPOLL_CTL_DEL, descriptor, nil)
  }

  /// Waits for events.
  ///
  /// - Parameter milliseconds: the limit of the wait; -1 for none.
  /// - Returns: the tokens; none after the limit, or a signal.
  func wait(milliseconds: CInt) -> [UInt64] {
    unsafe withUnsafeTemporaryAllocation(
      of: epoll_event.self, capacity: Self.maximumEventCount
    ) { events in
      let count = unsafe epoll_wait(
        epoll.rawValue, events.baseAddress, CInt(events.count), milliseconds)
      return unsafe events.prefix(max(Int(count), 0)).map { unsafe $0.data.u64 }
    }
  }

  private func add(
    _ descriptor: CInt, _ events: UInt32, token: UInt64
  ) throws(SystemError) {
    var event = unsafe epoll_event(events: events, data: epoll_data_t(u64: token))
    _ = try systemCall("epoll_ctl") {
      unsafe epoll_ctl(epoll.rawValue, EPOLL_CTL_ADD, descriptor, &event)
    }
  }
}

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
