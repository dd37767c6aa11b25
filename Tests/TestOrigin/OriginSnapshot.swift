/// What happened on one path, or on one target with its query.
package struct PathCounters: Sendable, Encodable {
  /// Requests whose header arrived.
  package internal(set) var requests = 0

  /// Body bytes handed to the connection.
  package internal(set) var bytesSent = 0

  /// Requests whose client left before the last body byte was delivered.
  package internal(set) var aborted = 0

  /// Requests without their last body byte, now and at most.
  package internal(set) var inFlight = 0
  package internal(set) var peakInFlight = 0

  /// Header fields of the last request, under lowercased names.
  package internal(set) var headersSeen: [String: String] = [:]

  /// Requests by method.
  package internal(set) var methods: [String: Int] = [:]

  /// The `Range` fields seen, in order.
  package internal(set) var ranges: [String] = []
}

/// What happened on all paths together.
package struct OriginTotals: Sendable, Encodable {
  package internal(set) var requests = 0
  package internal(set) var bytesSent = 0
  package internal(set) var aborted = 0
  package internal(set) var inFlight = 0
  package internal(set) var peakInFlight = 0
  package internal(set) var connectionsOpened = 0
}

/// Everything the origin counted up to one moment.
package struct OriginSnapshot: Sendable, Encodable {
  /// By path and, for a request with a query, by its full target too. From the 100,000th entry on,
  /// requests for names not yet listed show in the totals only.
  package internal(set) var paths: [String: PathCounters] = [:]

  package internal(set) var totals = OriginTotals()

  /// The paths in the order their requests arrived, the first 10,000.
  package internal(set) var startOrder: [String] = []

  /// The starts and ends of requests in their order, the first 100,000. Not encoded, because
  /// moments of this process mean nothing to a reader of the text.
  package internal(set) var log: [OriginEvent] = []

  private enum CodingKeys: String, CodingKey {
    case paths, totals, startOrder
  }

  /// The counters of a path or of a full target; zeros for one never asked for.
  package subscript(_ target: String) -> PathCounters {
    paths[target] ?? PathCounters()
  }
}

extension OriginSnapshot {
  private static let pathCapacity = 100_000
  private static let listCapacity = 10_000
  private static let logCapacity = 100_000

  /// - Returns: the number of the request, which names it when it ends.
  mutating func started(_ request: Request) -> Int {
    totals.requests += 1
    totals.inFlight += 1
    totals.peakInFlight = max(totals.peakInFlight, totals.inFlight)
    note(.started, totals.requests, request)
    if startOrder.count < Self.listCapacity { startOrder.append(request.path) }
    update(request.countedNames) { counters in
      counters.requests += 1
      counters.inFlight += 1
      counters.peakInFlight = max(counters.peakInFlight, counters.inFlight)
      counters.headersSeen = request.headers
      counters.methods[request.method, default: 0] += 1
      if let range = request.headers["range"], counters.ranges.count < Self.listCapacity {
        counters.ranges.append(range)
      }
    }
    return totals.requests
  }

  mutating func sent(_ byteCount: Int, for request: Request) {
    totals.bytesSent += byteCount
    update(request.countedNames) { $0.bytesSent += byteCount }
  }

  mutating func ended(_ number: Int, _ kind: OriginEvent.Kind, _ request: Request) {
    totals.inFlight -= 1
    update(request.countedNames) { $0.inFlight -= 1 }
    note(kind, number, request)
    guard kind == .aborted else { return }
    totals.aborted += 1
    update(request.countedNames) { $0.aborted += 1 }
  }

  private mutating func note(_ kind: OriginEvent.Kind, _ number: Int, _ request: Request) {
    guard log.count < Self.logCapacity else { return }
    log.append(OriginEvent(kind: kind, request: number, path: request.path, moment: .now))
  }

  private mutating func update(_ names: [String], _ change: (inout PathCounters) -> Void) {
    for name in names where paths[name] != nil || paths.count < Self.pathCapacity {
      change(&paths[name, default: PathCounters()])
    }
  }
}

extension Request {
  fileprivate var countedNames: [String] {
    query.map { [path, "\(path)?\($0)"] } ?? [path]
  }
}
