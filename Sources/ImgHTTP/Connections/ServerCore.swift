import ImgSystem
import Synchronization

/// What the threads of a server share: those of the event loops, the accept thread, and the callers.
final class ServerCore: Sendable {
  let handler: any HTTPHandler
  let limits: HTTPServer.Limits
  let counters = ServerCounters()
  let events: EventSet
  let connections: ConnectionTable
  let suspensions: Suspensions
  let drains: Drains
  /// Makes the accept thread look at the state.
  let wakeup: Wakeup
  /// When requests that are under way are cut off, in nanoseconds of the monotonic clock; `.max` if the
  /// server does not stop. Sequentially consistent, see ``endRequest()``. Signed, because in Swift 6.3.1
  /// `Atomic<UInt64>.min` compares as if the values were.
  private let deadline = Atomic(Int64.max)
  /// Whether the accept thread waits until there are fewer connections.
  private let isFull = Atomic(false)

  init(handler: any HTTPHandler, limits: HTTPServer.Limits) throws(SystemError) {
    self.handler = handler
    self.limits = limits
    events = try EventSet()
    connections = ConnectionTable(
      maximumCountPerClient: limits.connectionsPerAddress,
      maximumStreamsPerClient: limits.streamsPerAddress)
    suspensions = Suspensions(events: events, firstToken: AcceptThread.firstSuspensionToken)
    drains = Drains(events: events)
    wakeup = try Wakeup()
  }

  /// The deadline of a server that stops; `nil` for one that does not.
  var stopDeadline: UInt64? {
    let value = deadline.load(ordering: .sequentiallyConsistent)
    return value == .max ? nil : UInt64(value)
  }

  /// Whether connections close after their next response.
  var isStopping: Bool { stopDeadline != nil }

  /// Stops the server. A second call can only make it sooner.
  func stop(until deadline: UInt64) {
    self.deadline.min(Int64(clamping: deadline), ordering: .sequentiallyConsistent)
    wakeup.signal()
  }

  /// A request has its response, or its connection closes.
  ///
  /// This counts before it reads the deadline, and the accept thread looks at the count after the deadline
  /// was set, so one of the two notices the last request.
  func endRequest() {
    counters.countEnd()
    if isStopping { wakeup.signal() }
  }

  /// Asks ``closeConnection(_:)`` for a wake-up.
  func waitForSlot() {
    isFull.store(true, ordering: .sequentiallyConsistent)
  }

  /// A connection that had a request is about to close.
  func closeConnection(_ connection: Connection) {
    // Before it leaves the table: the accept thread looks for late drains while there are connections.
    if connection.isRefused { drains.add(connection.descriptor) }
    closeConnection(connection.descriptor)
  }

  /// A connection is about to close.
  func closeConnection(_ descriptor: CInt) {
    connections.remove(descriptor)
    if isFull.exchange(false, ordering: .sequentiallyConsistent) { wakeup.signal() }
  }
}
