import Synchronization

/// Why an origin could not start.
package enum OriginError: Error {
  case cannotListen(port: UInt16)
}

/// A real HTTP origin on 127.0.0.1 that behaves, and misbehaves, as a test tells it to.
///
/// Every connection has a thread of its own, so a held request holds no other. Paths are matched
/// as they stand in the request line, without the query. `stop()`, or the end of the object's life,
/// closes every connection, also those in the middle of an answer.
package final class TestOrigin: Sendable {
  /// Chooses the behaviour of a path that has none; nil means 404.
  package typealias Fallback = @Sendable (_ path: String, _ query: String?) -> Behaviour?

  package let port: UInt16

  private let server: OriginServer
  private let daemon: Mutex<Daemon?>

  /// - Parameters:
  ///   - port: 0 for a free one.
  ///   - fallback: Must not hold the origin strongly, or it never ends.
  package init(port: UInt16 = 0, fallback: @escaping Fallback = { _, _ in nil }) throws(OriginError)
  {
    server = OriginServer(fallback: fallback)
    let daemon = try Daemon(port: port, server: server)
    self.port = daemon.port
    self.daemon = Mutex(daemon)
  }

  deinit {
    stop()
  }

  /// Closes the socket and every connection; returns when their threads have ended.
  package func stop() {
    server.stop()
    daemon.withLock { $0 = nil }
  }

  /// `http://127.0.0.1:PORT`, to which a path is appended.
  package var baseURL: String { "http://127.0.0.1:\(port)" }

  /// Asked on the connection's thread, which it may block.
  package var fallback: Fallback {
    get { server.fallback }
    set { server.fallback = newValue }
  }

  /// Sets the behaviour of a path from its next request on. A path that was served before starts
  /// again: its sequence at the first element, its hold shut. Requests that are held there are
  /// released.
  package func serve(_ path: String, _ behaviour: Behaviour) {
    server.serve(path, behaviour)
  }

  /// Releases the requests that are held or stalled on a path, and holds no further ones.
  package func release(_ path: String) {
    server.release(path, step: 0)
  }

  /// The same for one of ``Delivery/steps(_:)``, counted from 0.
  package func release(_ path: String, step: Int) {
    server.release(path, step: step)
  }

  /// Everything counted so far.
  package var snapshot: OriginSnapshot { server.ledger.snapshot }

  /// The counters of a path, or of a full target with its query.
  package func counters(_ target: String) -> PathCounters { snapshot[target] }

  package func totals() -> OriginTotals { snapshot.totals }

  /// The paths in the order their requests arrived.
  package func startOrder() -> [String] { snapshot.startOrder }

  /// Blocks until the counters meet a condition; looks at it after every change, not by the clock.
  ///
  /// - Parameter condition: Must not ask the origin, which waits for it.
  /// - Returns: False when they did not within `seconds`.
  package func waitUntil(
    seconds: Double = 240, _ condition: (OriginSnapshot) -> Bool
  ) -> Bool {
    server.ledger.wait(seconds: seconds, until: condition)
  }
}
