import ImgModel

/// The calls of a session: those that wait to be sent, and those that wait for their answers.
struct CallTable {
  /// The coordinator refuses more requests of one connection that wait (`PendingRequests`).
  static let maximumSentCount = 1_000
  /// Loads take no more places, so that questions about jobs are sent whatever the loads wait for.
  static let maximumLoadCount = 900
  /// Loads of one host take no more places: a host that does not answer holds up few loads of others. The
  /// cluster fetches fewer pictures from one host at a time.
  static let maximumCountPerHost = 128
  /// A call is sent so many times at most: one whose request ends the coordinator must not do so for ever.
  static let maximumSendCount = 3

  private var sent: [RequestID: CallQueue.Entry] = [:]
  private var numbers: [ObjectIdentifier: RequestID] = [:]
  private var sentLoadCounts: [String: Int] = [:]
  private var sentLoadCount = 0
  private var waiting = CallQueue()
  /// Calls among ``waiting`` that have ended since, at most.
  private var endedCount = 0

  /// Whether a call waits to be sent.
  var isAnyWaiting: Bool { !waiting.isEmpty }
  /// Whether a call waits for its answer.
  var isAnySent: Bool { !sent.isEmpty }

  mutating func add(_ call: SessionCall) {
    waiting.add(CallQueue.Entry(call: call))
  }

  /// The next call to send, under a new number; `nil` if none may be sent now.
  mutating func takeNext(as newNumber: () -> RequestID) -> (call: SessionCall, number: RequestID)? {
    while sent.count < Self.maximumSentCount, let next = takeWaiting() {
      guard !next.call.hasEnded else { continue }
      let number = newNumber()
      sent[number] = CallQueue.Entry(call: next.call, sendCount: next.sendCount + 1)
      numbers[ObjectIdentifier(next.call)] = number
      if case .load(let host, _) = next.call.turn {
        sentLoadCounts[host, default: 0] += 1
        sentLoadCount += 1
      }
      return (next.call, number)
    }
    return nil
  }

  private mutating func takeWaiting() -> CallQueue.Entry? {
    if let question = waiting.takeQuestion() { return question }
    guard sentLoadCount < Self.maximumLoadCount else { return nil }
    return waiting.takeLoad { sentLoadCounts[$0, default: 0] >= Self.maximumCountPerHost }
  }

  /// A call ended before it was sent. Such calls are removed once they may be half of those that wait.
  mutating func callEnded() {
    endedCount += 1
    guard endedCount >= waiting.count / 2 else { return }
    waiting.removeEnded()
    endedCount = 0
  }

  /// The call that a reply is for; `nil` if there is none any more.
  func call(of number: RequestID) -> SessionCall? { sent[number]?.call }

  /// The number under which a call was sent and has no answer; `nil` otherwise.
  func number(of call: SessionCall) -> RequestID? { numbers[ObjectIdentifier(call)] }

  /// A reply has come that is not the answer, so the request did not end the coordinator.
  mutating func forgiveSends(of number: RequestID) {
    sent[number]?.sendCount = 0
  }

  /// The request has its answer, or the coordinator will send none.
  mutating func remove(_ number: RequestID) {
    _ = takeSent(number)
  }

  /// The request has its answer, and the call waits to be sent again.
  ///
  /// - Returns: whether it does; `false` for a call that was sent too often, or must not be sent twice.
  mutating func requeue(_ number: RequestID) -> Bool {
    guard let entry = takeSent(number) else { return true }
    guard entry.call.isRepeatable, entry.sendCount < Self.maximumSendCount else { return false }
    waiting.add(entry, atFront: true)
    return true
  }

  /// The connection is lost. Calls without an answer wait again, before the others.
  ///
  /// - Returns: the calls that were sent too often, or must not be sent twice.
  mutating func requeueSent() -> [SessionCall] {
    // Each comes before the ones that are at the front already, so the last one is the first.
    sent.keys.sorted { $0.rawValue > $1.rawValue }.compactMap { number in
      let call = sent[number]?.call
      if call?.hasEnded == true { remove(number) }
      return requeue(number) ? nil : call
    }
  }

  private mutating func takeSent(_ number: RequestID) -> CallQueue.Entry? {
    guard let entry = sent.removeValue(forKey: number) else { return nil }
    numbers[ObjectIdentifier(entry.call)] = nil
    if case .load(let host, _) = entry.call.turn {
      let count = sentLoadCounts[host, default: 1] - 1
      sentLoadCounts[host] = count > 0 ? count : nil
      sentLoadCount -= 1
    }
    return entry
  }

  /// - Returns: all calls, in no order.
  mutating func removeAll() -> [SessionCall] {
    let all = sent.values.map(\.call) + waiting.all
    self = CallTable()
    return all
  }
}
