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
    switch entry.call.turn {
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
