import CLinux
import Glibc
import ImgSystem

/// Accepts the connections of a server, gives them to event loops, watches those that wait, and reads those that
/// ``Drains`` keeps.
///
/// It does so itself instead of libmicrohttpd, so that an idle event loop gets a connection, the limit of an address
/// leaves out a reverse proxy, and a client that leaves while its request waits is noticed.
///
/// One thread uses it: ``run()``.
struct AcceptThread: ~Copyable {
  static let firstSuspensionToken: UInt64 = 2
  /// Connections above the limit for the moment that others need to close.
  static let maximumExcessCount = 64
  private static let listenerToken: UInt64 = 0
  private static let wakeupToken: UInt64 = 1
  /// Connections to close are looked for at this pace.
  private static let tickNanoseconds: UInt64 = 1_000_000_000
  /// Connections that are accepted before other events have their turn.
  private static let maximumBatchCount = 64
  /// An idle loop gets further connections up to this number.
  private static let fewConnections = 32

  private let core: ServerCore
  private let listener: ListeningSocket
  private let loops: [EventLoop]
  /// When connections to close are looked for, in nanoseconds of the monotonic clock.
  private var nextTick: UInt64 = 0
  /// Whether the listener is in the set of events. It is not while there is no slot for a connection.
  private var isListening = false

  init(core: ServerCore, listener: ListeningSocket, loops: [EventLoop]) {
    self.core = core
    self.listener = listener
    self.loops = loops
  }

  /// Serves until the server has stopped: requests under way finish until the deadline, then those that wait
  /// are cancelled, and all connections close.
  mutating func run() {
    addEvents()
    while core.stopDeadline == nil { handleEvents() }
    stopListening()
    listener.close()
    core.suspensions.drain()
    core.connections.closeWaiting()
    while let deadline = core.stopDeadline, deadline > MonotonicClock.nanoseconds(),
      core.counters.requestsUnderWay > 0
    {
      handleEvents()
    }
    core.suspensions.close()
    for loop in loops { loop.stop() }
    core.drains.close()
  }

  private mutating func addEvents() {
    listen()
    // Fails only without memory, or at the limit of watches of the user (epoll_ctl(2)).
    guard (try? core.events.addReadable(core.wakeup.descriptor, token: Self.wakeupToken)) != nil
    else {
      return core.stop(until: 0)
    }
  }

  private mutating func handleEvents() {
    for token in core.events.wait(milliseconds: timeout()) {
      switch token {
      case Self.listenerToken: acceptConnections()
      case Self.wakeupToken:
        core.wakeup.drain()
        resumeListening()
      case Drains.firstToken...: core.drains.handleInput(token: token)
      default: core.suspensions.handleHangUp(token: token)
      }
    }
    tick()
  }

  /// Each look costs time for every connection.
  private mutating func tick() {
    let now = MonotonicClock.nanoseconds()
    guard now >= nextTick else { return }
    nextTick = now + Self.tickNanoseconds
    core.connections.closeLate(at: now)
    core.drains.closeLate(at: now)
    resumeListening()
  }

  /// After a connection has closed, or a second later: another process may have freed what was short.
  private mutating func resumeListening() {
    if !isListening, core.stopDeadline == nil { listen() }
  }

  private func timeout() -> CInt {
    let now = MonotonicClock.nanoseconds()
    if let deadline = core.stopDeadline {
      let rest = min(deadline > now ? deadline - now : 0, Self.tickNanoseconds)
      return CInt(rest / 1_000_000) + 1
    }
    // A listener that is not watched is tried again at the next tick.
    guard isListening, core.connections.count == 0, core.drains.isEmpty else {
      return CInt(Self.tickNanoseconds / 1_000_000)
    }
    return -1
  }

  private mutating func listen() {
    // A failure is tried again at the next tick.
    isListening =
      (try? core.events.addReadable(listener.descriptor, token: Self.listenerToken)) != nil
  }

  private mutating func stopListening() {
    guard isListening else { return }
    core.events.remove(listener.descriptor)
    isListening = false
  }

  private mutating func acceptConnections() {
    for _ in 0..<Self.maximumBatchCount where isListening {
      guard hasSlot() else { return stopListening() }
      guard acceptConnection() else { return }
    }
  }

  /// Whether there is a slot for one more connection, also because one that waits for a request can close.
  private func hasSlot() -> Bool {
    let limit = core.limits.connections
    if core.connections.count < limit { return true }
    if core.connections.count < limit + Self.maximumExcessCount,
      core.connections.isAnyWaiting
    {
      return true
    }
    core.waitForSlot()
    // One may have closed before the call.
    return core.connections.count < limit
  }

  /// - Returns: `false` if no other connection can be accepted now.
  private mutating func acceptConnection() -> Bool {
    do throws(SystemError) {
      var descriptor: CInt = -1
      let address = try unsafe SocketAddress { address, size throws(SystemError) in
        descriptor = try systemCall("accept4") {
          let flags = SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
          return unsafe accept4(listener.descriptor, address, size, CInt(flags))
        }
      }
      add(descriptor, from: address)
      return true
    } catch {
      switch error.code {
      case EAGAIN: return false
      // The process or the system has too many open files, or no memory. A slot is free after a
      // connection has closed.
      case EMFILE, ENFILE, ENOBUFS, ENOMEM:
        core.waitForSlot()
        stopListening()
        return false
      // The connection failed before it was accepted (accept(2), "Error handling").
      default: return true
      }
    }
  }

  private mutating func add(_ descriptor: CInt, from address: SocketAddress) {
    let loop = chooseLoop()
    let connection = Connection(
      descriptor: descriptor, client: ClientAddress(ip: address.ip), loop: loop,
      limits: core.limits)
    guard core.connections.add(connection) else {
      core.counters.countRefused()
      close(descriptor)
      return
    }
    core.counters.countAccepted()
    if core.connections.count > core.limits.connections {
      core.connections.closeLongestWaiting()
    }
    loops[loop].add(descriptor, from: address)
  }

  /// The position of the first loop that is idle and has few connections. So few connections take one thread, whose
  /// caches are warm, and leave the other processors to the workers. Otherwise that of the loop with the fewest: many
  /// are spread evenly, also while they wait and all loops are idle.
  private func chooseLoop() -> Int {
    let counts = core.connections.countsByLoop
    func count(_ loop: Int) -> Int { counts[loop, default: 0] }
    return loops.indices.first { loops[$0].isIdle && count($0) < Self.fewConnections }
      ?? loops.indices.min { count($0) < count($1) } ?? 0
  }
}
