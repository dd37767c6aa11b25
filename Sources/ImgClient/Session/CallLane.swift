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
