import Synchronization

/// What the connections' threads share: the behaviours, the latches of held paths, the ledger.
final class OriginServer: Sendable {
  typealias Fallback = @Sendable (_ path: String, _ query: String?) -> Behaviour?

  private struct Routes {
    var behaviours: [String: Behaviour] = [:]
    /// Of each path, those of the steps that are to be released.
    var latches: [String: [Latch]] = [:]
    var answerCounts: [String: Int] = [:]
    var fallback: Fallback

    mutating func latches(of path: String, count: Int) -> [Latch] {
      while latches[path, default: []].count < count {
        latches[path, default: []].append(Latch())
      }
      return latches[path, default: []]
    }
  }

  let ledger = Ledger()
  private let stopping = Latch()
  private let routes: Mutex<Routes>

  init(fallback: @escaping Fallback) {
    routes = Mutex(Routes(fallback: fallback))
  }

  var fallback: Fallback {
    get { routes.withLock { $0.fallback } }
    set { routes.withLock { $0.fallback = newValue } }
  }

  func serve(_ path: String, _ behaviour: Behaviour) {
    routes.withLock { routes in
      routes.behaviours[path] = behaviour
      routes.answerCounts[path] = nil
      // Requests that the old behaviour holds must not wait for ever.
      routes.latches.removeValue(forKey: path)?.forEach { $0.open() }
    }
  }

  func release(_ path: String, step: Int) {
    routes.withLock { $0.latches(of: path, count: step + 1) }[step].open()
  }

  /// Ends every wait of every connection, now and from now on.
  func stop() {
    stopping.open()
  }

  var isStopping: Bool { stopping.isOpen }

  /// Waits and answers as the request's path asks.
  ///
  /// - Returns: False to close the connection without an answer.
  func answer(_ exchange: Exchange, on connection: Connection) -> Bool {
    guard let request = exchange.request else { return false }
    let (response, latches) = response(to: request)
    let reader = BodyReader(
      response: response, exchange: exchange, connection: connection, latches: latches,
      stopping: stopping)
    guard reader.waitedForHeader() else { return false }
    // No body will be asked for, so the header is the last that the client gets.
    if request.method == "HEAD" || response.delivery.knownLength(of: response.body.count) == 0 {
      exchange.land()
    }
    return connection.start(response, reader: reader)
  }

  private func response(to request: Request) -> (Response, [Latch]) {
    let (known, fallback) = routes.withLock { ($0.behaviours[request.path], $0.fallback) }
    // Outside the lock: the fallback is foreign code and may call back.
    let behaviour = known ?? fallback(request.path, request.query) ?? .status(404)
    return routes.withLock { routes in
      var ordinal = 0
      if behaviour.countsRequests {
        ordinal = routes.answerCounts[request.path, default: 0]
        routes.answerCounts[request.path] = ordinal + 1
      }
      let response = behaviour.response(to: request, ordinal: ordinal)
      let count = response.delivery.releaseCount
      return (response, count > 0 ? routes.latches(of: request.path, count: count) : [])
    }
  }
}
