import ImgModel
import ImgWire
import Synchronization

/// One request to the coordinator, and the task that waits for its answer. It ends exactly once.
final class SessionCall: Sendable {
  private enum State {
    case created
    case waiting(CheckedContinuation<Result<ReceivedReply, SessionError>, Never>)
    /// With the error for a task that begins to wait later.
    case ended(SessionError?)
  }

  let exchange: Exchange
  private let onUpdate: (@Sendable (ReceivedReply) -> Void)?
  private let onFetch: (@Sendable (SessionCall, RequestID, FetchWanted) -> Void)?
  private let state = Mutex(State.created)

  /// - Parameters:
  ///   - onFetch: is called when the coordinator asks for the picture, or for a file, on the session's thread. A later call replaces an earlier one: the coordinator is another one.
  ///   - onUpdate: takes the other replies before the answer. It runs on the session's thread, so it is quick.
  init(
    _ exchange: Exchange, onFetch: (@Sendable (SessionCall, RequestID, FetchWanted) -> Void)? = nil,
    onUpdate: (@Sendable (ReceivedReply) -> Void)? = nil
  ) {
    self.exchange = exchange
    self.onFetch = onFetch
    self.onUpdate = onUpdate
  }

  var hasEnded: Bool {
    state.withLock { if case .ended = $0 { true } else { false } }
  }

  /// The task waits from now on. If the call has ended before, the continuation is resumed at once.
  ///
  /// - Returns: whether it waits.
  func wait(_ continuation: CheckedContinuation<Result<ReceivedReply, SessionError>, Never>) -> Bool
  {
    let error: SessionError? = state.withLock { state in
      if case .ended(let error) = state { return error ?? .cancelled }
      state = .waiting(continuation)
      return nil
    }
    if let error { continuation.resume(returning: .failure(error)) }
    return error == nil
  }

  /// Handles a reply. One that comes after the end changes nothing, and nothing is sent in return.
  ///
  /// - Returns: what the reply is to the call.
  func receive(_ reply: ReceivedReply) -> Exchange.Step {
    let step = exchange.step(after: reply.message)
    switch step {
    case .more:
      guard !hasEnded else { return .more(nil) }
      if case .fetch(let number, let wanted) = reply.message {
        onFetch?(self, number, wanted)
      } else {
        onUpdate?(reply)
      }
    case .again: return hasEnded ? .answer : .again
    case .answer: end(.success(reply))
    }
    return step
  }

  /// Ends the call. Only the first end counts.
  func end(_ result: Result<ReceivedReply, SessionError>) {
    var error: SessionError?
    if case .failure(let reason) = result { error = reason }
    let before = state.withLock { state in
      let before = state
      if case .ended = before { return before }
      state = .ended(error)
      return before
    }
    if case .waiting(let continuation) = before { continuation.resume(returning: result) }
  }
}

/// Why a call has no answer.
enum SessionError: Error {
  /// Its task was cancelled.
  case cancelled
  /// There was no answer until its deadline.
  case timedOut
  case client(ClientError)
}

/// The calls of one host that wait, in their order.
struct CallLane {
  private var entries: [CallQueue.Entry] = []
  /// Those before it have been taken.
  private var start = 0

  var isEmpty: Bool { start == entries.count }
  var calls: [SessionCall] { entries[start...].map(\.call) }

  mutating func add(_ entry: CallQueue.Entry, atFront: Bool) {
    if atFront {
      entries.insert(entry, at: start)
    } else {
      entries.append(entry)
    }
  }

  mutating func takeFirst() -> CallQueue.Entry? {
    guard !isEmpty else { return nil }
    defer {
      start += 1
      // Moves the others seldom, so that taking one costs little.
      if start * 2 >= entries.count {
        entries.removeFirst(start)
        start = 0
      }
    }
    return entries[start]
  }

  /// - Returns: `nil` if all have ended.
  func withoutEnded() -> CallLane? {
    var lane = CallLane()
    lane.entries = entries[start...].filter { !$0.call.hasEnded }
    return lane.isEmpty ? nil : lane
  }
}

/// The calls that wait to be sent. Questions come first; then the loads of the highest priority, the hosts in
/// turn, those of one host in their order.
struct CallQueue {
  /// A call, and how often it has been sent.
  struct Entry {
    let call: SessionCall
    var sendCount = 0
  }

  /// The calls of one priority.
  private struct Level {
    var lanes: [String: CallLane] = [:]
    /// The hosts of ``lanes`` in the order of their turns.
    var turns: [String] = []

    mutating func add(_ entry: Entry, of host: String, atFront: Bool) {
      if lanes[host] == nil { turns.append(host) }
      lanes[host, default: CallLane()].add(entry, atFront: atFront)
    }

    /// Takes the next call of the first host that is not full.
    mutating func takeNext(_ isFull: (String) -> Bool) -> Entry? {
      guard let position = turns.firstIndex(where: { !isFull($0) }) else { return nil }
      let host = turns.remove(at: position)
      let entry = lanes[host]?.takeFirst()
      if lanes[host]?.isEmpty == true {
        lanes[host] = nil
      } else {
        turns.append(host)
      }
      return entry
    }

    mutating func removeEnded() {
      lanes = lanes.compactMapValues { $0.withoutEnded() }
      turns.removeAll { lanes[$0] == nil }
    }
  }

  private var questions = CallLane()
  private var levels: [Int: Level] = [:]
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  /// - Parameter atFront: whether it comes before the other calls of its host.
  mutating func add(_ entry: Entry, atFront: Bool = false) {
    count += 1
    switch entry.call.exchange.turn {
    case .first: questions.add(entry, atFront: atFront)
    case .load(let host, let priority):
      levels[priority, default: Level()].add(entry, of: host, atFront: atFront)
    }
  }

  mutating func takeQuestion() -> Entry? {
    guard !questions.isEmpty else { return nil }
    count -= 1
    return questions.takeFirst()
  }

  /// - Parameter isFull: whether no more loads of a host may be sent.
  mutating func takeLoad(_ isFull: (String) -> Bool) -> Entry? {
    for priority in levels.keys.sorted(by: >) {
      guard let entry = levels[priority]?.takeNext(isFull) else { continue }
      if levels[priority]?.turns.isEmpty == true { levels[priority] = nil }
      count -= 1
      return entry
    }
    return nil
  }

  mutating func removeEnded() {
    questions = questions.withoutEnded() ?? CallLane()
    for priority in levels.keys { levels[priority]?.removeEnded() }
    levels = levels.filter { !$0.value.turns.isEmpty }
    count = all.count
  }

  /// All calls, in no order.
  var all: [SessionCall] {
    questions.calls + levels.values.flatMap { $0.lanes.values.flatMap(\.calls) }
  }
}

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
      if case .load(let host, _) = next.call.exchange.turn {
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
    guard entry.call.exchange.isRepeatable, entry.sendCount < Self.maximumSendCount else {
      return false
    }
    waiting.add(entry, atFront: true)
    return true
  }

  /// The connection is lost. Calls without an answer wait again, before the others.
  ///
  /// - Returns: the calls that were sent too often, or must not be sent twice.
  mutating func requeueSent() -> [SessionCall] {
    // Each comes before the ones that are at the front already, so the last one is the first.
    sent.keys.sorted(by: >).compactMap { number in
      let call = sent[number]?.call
      if call?.hasEnded == true { remove(number) }
      return requeue(number) ? nil : call
    }
  }

  private mutating func takeSent(_ number: RequestID) -> CallQueue.Entry? {
    guard let entry = sent.removeValue(forKey: number) else { return nil }
    numbers[ObjectIdentifier(entry.call)] = nil
    if case .load(let host, _) = entry.call.exchange.turn {
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
