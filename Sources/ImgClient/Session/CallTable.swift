import ImgModel

/// The calls of a session: those that wait to be sent, and those that wait for their answers.
struct CallTable {
  /// The coordinator refuses more requests of one connection that wait (`PendingRequests`).
  static let maximumSentCount = 1_000
  /// A call is sent so many times at most: one whose request ends the coordinator must not do so for ever.
  static let maximumSendCount = 3

  private struct Sent {
    let call: SessionCall
    var sendCount: Int

    /// Whether it is sent again if the connection is lost.
    var isSentAgain: Bool { call.isRepeatable && sendCount < CallTable.maximumSendCount }
  }

  private struct Waiting {
    let call: SessionCall
    let sendCount: Int
  }

  private var sent: [RequestID: Sent] = [:]
  private var numbers: [ObjectIdentifier: RequestID] = [:]
  /// In the order in which they are sent, from ``waitingStart`` on.
  private var waiting: [Waiting] = []
  private var waitingStart = 0
  /// Calls among ``waiting`` that have ended since, at most.
  private var endedCount = 0

  /// Whether a call waits to be sent.
  var isAnyWaiting: Bool { waitingStart < waiting.count }

  mutating func add(_ call: SessionCall) {
    waiting.append(Waiting(call: call, sendCount: 0))
  }

  /// The next call to send, under a new number; `nil` if none may be sent now.
  mutating func takeNext(as newNumber: () -> RequestID) -> (call: SessionCall, number: RequestID)? {
    while isAnyWaiting, sent.count < Self.maximumSentCount {
      let next = waiting[waitingStart]
      waitingStart += 1
      if waitingStart == waiting.count || waitingStart > 1_024 {
        waiting.removeFirst(waitingStart)
        waitingStart = 0
      }
      guard !next.call.hasEnded else { continue }
      let number = newNumber()
      sent[number] = Sent(call: next.call, sendCount: next.sendCount + 1)
      numbers[ObjectIdentifier(next.call)] = number
      return (next.call, number)
    }
    return nil
  }

  /// A call ended before it was sent. Such calls are removed once they may be half of those that wait.
  mutating func callEnded() {
    endedCount += 1
    guard endedCount >= (waiting.count - waitingStart) / 2 else { return }
    waiting = waiting[waitingStart...].filter { !$0.call.hasEnded }
    waitingStart = 0
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
    guard let removed = sent.removeValue(forKey: number) else { return }
    numbers[ObjectIdentifier(removed.call)] = nil
  }

  /// The connection is lost. Calls without an answer wait again, before the others.
  ///
  /// - Returns: the calls that are not sent again: those that may not be repeated, and those that were sent
  ///   too often.
  mutating func requeueSent() -> [SessionCall] {
    let unanswered = sent.sorted { $0.key.rawValue < $1.key.rawValue }.map(\.value)
      .filter { !$0.call.hasEnded }
    sent = [:]
    numbers = [:]
    let again = unanswered.filter(\.isSentAgain)
      .map { Waiting(call: $0.call, sendCount: $0.sendCount) }
    waiting = again + waiting[waitingStart...]
    waitingStart = 0
    return unanswered.filter { !$0.isSentAgain }.map(\.call)
  }

  /// - Returns: all calls, in no order.
  mutating func removeAll() -> [SessionCall] {
    let all = sent.values.map(\.call) + waiting[waitingStart...].map(\.call)
    self = CallTable()
    return all
  }
}
