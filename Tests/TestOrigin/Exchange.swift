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
