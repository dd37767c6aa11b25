import Synchronization

/// What a server counts. Any thread may change and read a counter; the counters order nothing.
final class ServerCounters: Sendable {
  private let accepted = Atomic(0)
  private let refused = Atomic(0)
  private let requests = Atomic(0)
  private let ended = Atomic(0)
  private let sentBytes = Atomic(0)
  private let waiting = Atomic(0)
  private let streams = Atomic(0)
  private let responses1 = Atomic(0)
  private let responses2 = Atomic(0)
  private let responses3 = Atomic(0)
  private let responses4 = Atomic(0)
  private let responses5 = Atomic(0)

  func countAccepted() { accepted.add(1, ordering: .relaxed) }
  func countRefused() { refused.add(1, ordering: .relaxed) }
  func countRequest() { requests.add(1, ordering: .relaxed) }
  func countSent(_ byteCount: Int) { sentBytes.add(byteCount, ordering: .relaxed) }

  func countResponse(_ status: HTTPStatus) {
    switch status.rawValue {
    case ..<200: responses1.add(1, ordering: .relaxed)
    case ..<300: responses2.add(1, ordering: .relaxed)
    case ..<400: responses3.add(1, ordering: .relaxed)
    case ..<500: responses4.add(1, ordering: .relaxed)
    default: responses5.add(1, ordering: .relaxed)
    }
  }

  /// Counts the end of a counted request. Sequentially consistent: the accept thread reads it after it has
  /// set the flag that the caller reads next, see ``ServerCore/endRequest()``.
  func countEnd() { ended.add(1, ordering: .sequentiallyConsistent) }

  /// The requests that have not ended.
  var requestsUnderWay: Int {
    let ended = ended.load(ordering: .sequentiallyConsistent)
    return requests.load(ordering: .sequentiallyConsistent) - ended
  }

  /// Takes a slot among the answers that tasks prepare.
  ///
  /// - Returns: `false` if there is none.
  func takeWaitingSlot(of maximumCount: Int) -> Bool {
    takeSlot(waiting, maximumCount)
  }

  func giveWaitingSlot() { waiting.subtract(1, ordering: .relaxed) }

  /// Takes a slot among the streams.
  ///
  /// - Returns: `false` if there is none.
  func takeStreamSlot(of maximumCount: Int) -> Bool {
    takeSlot(streams, maximumCount)
  }

  func giveStreamSlot() { streams.subtract(1, ordering: .relaxed) }

  private func takeSlot(_ counter: borrowing Atomic<Int>, _ maximumCount: Int) -> Bool {
    if counter.add(1, ordering: .relaxed).oldValue < maximumCount { return true }
    counter.subtract(1, ordering: .relaxed)
    return false
  }

  func statistics(openConnections: Int) -> HTTPServer.Statistics {
    HTTPServer.Statistics(
      acceptedConnections: accepted.load(ordering: .relaxed),
      refusedConnections: refused.load(ordering: .relaxed),
      openConnections: openConnections,
      requests: requests.load(ordering: .relaxed),
      waitingRequests: waiting.load(ordering: .relaxed),
      streams: streams.load(ordering: .relaxed),
      sentBytes: sentBytes.load(ordering: .relaxed),
      responses: [
        1: responses1.load(ordering: .relaxed),
        2: responses2.load(ordering: .relaxed),
        3: responses3.load(ordering: .relaxed),
        4: responses4.load(ordering: .relaxed),
        5: responses5.load(ordering: .relaxed),
      ])
  }
}
