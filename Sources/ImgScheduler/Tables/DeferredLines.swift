import ImgModel

/// The lines of a job that wait because their hosts are saturated, which means that enough of the
/// job's lines of these hosts wait already. Positions are remembered, and the lines are read again
/// when their hosts have room.
package struct DeferredLines {
  /// A host that has deferred lines.
  package struct SaturatedHost {
    /// Lines deferred and not read again.
    package fileprivate(set) var deferred = PositionList()
    /// Lines read again and not taken.
    package fileprivate(set) var lines = FIFO<QueuedLine>()

    /// The position of the first line of either kind.
    fileprivate var first: Int? {
      [lines.first?.position, deferred.first].compactMap(\.self).min()
    }
  }

  package private(set) var hosts: [String: SaturatedHost] = [:]
  /// The hosts with a line that could be taken up now, by its position.
  private var readyHosts = PriorityQueue<String, Int>()
  /// The hosts that have room and no line read, by the position of the first.
  private var hostsToRead = PriorityQueue<String, Int>()
  /// Ranges of positions, of all hosts.
  package private(set) var rangeCount = 0
  /// Lines read again and not taken, of all hosts.
  private(set) var readCount = 0

  var isEmpty: Bool { hosts.isEmpty }
  package func contains(_ host: String) -> Bool { hosts[host] != nil }

  /// Whether a line of the host before this position is among them.
  func contains(_ host: String, before position: Int) -> Bool {
    hosts[host]?.first.map { $0 < position } ?? false
  }

  /// The host whose line is taken up next; `nil` when none could be.
  package var nextHost: String? { readyHosts.first?.key }

  /// The host whose lines are read next, and the first positions; `nil` when none are to be read.
  func nextToRead(limit: Int) -> (host: String, positions: [Range<Int>])? {
    guard let host = hostsToRead.first?.key, let deferred = hosts[host]?.deferred else {
      return nil
    }
    return (host, deferred.prefix(limit))
  }

  // MARK: - Changes
  // Each is told whether the host has room for one more line.

  /// - Precondition: the position is not among them.
  mutating func insert(_ position: Int, of host: String, hasRoom: Bool) {
    change(host) { $0.insert(position) }
    update(host, hasRoom: hasRoom)
  }

  /// Takes the first line of the host that was read again.
  mutating func removeFirst(of host: String, hasRoom: Bool) -> QueuedLine? {
    defer { update(host, hasRoom: hasRoom) }
    let line = hosts[host]?.lines.removeFirst()
    if line != nil { readCount -= 1 }
    return line
  }

  /// Takes in lines of the host that were read again.
  ///
  /// - Parameter ranges: their positions, and those of lines that have an outcome by now.
  mutating func take(
    _ lines: [QueuedLine], of host: String, in ranges: [Range<Int>], hasRoom: Bool
  ) {
    if hosts[host] != nil { readCount += lines.count }
    hosts[host]?.lines.append(contentsOf: lines)
    change(host) { deferred in ranges.forEach { deferred.remove($0) } }
    update(host, hasRoom: hasRoom)
  }

  /// The host has room now, or ceased to have it. A host without deferred lines is not saturated any
  /// more.
  mutating func update(_ host: String, hasRoom: Bool) {
    readyHosts.remove(host)
    hostsToRead.remove(host)
    guard let saturated = hosts[host] else { return }
    if let line = saturated.lines.first {
      if hasRoom { readyHosts.set(host, to: line.position) }
    } else if let first = saturated.deferred.first {
      if hasRoom { hostsToRead.set(host, to: first) }
    } else {
      hosts[host] = nil
    }
  }

  private mutating func change(_ host: String, _ body: (inout PositionList) -> Void) {
    let countBefore = hosts[host]?.deferred.rangeCount ?? 0
    body(&hosts[host, default: SaturatedHost()].deferred)
    rangeCount += (hosts[host]?.deferred.rangeCount ?? 0) - countBefore
  }
}

/// Positions of a list in ascending order, neighbours held as one range: a million lines of one
/// host that follow each other take no more room than one.
package struct PositionList {
  private var ranges: [Range<Int>] = []
  /// Index of the first range that was not removed.
  private var head = 0

  var isEmpty: Bool { head == ranges.count }
  package var rangeCount: Int { ranges.count - head }
  var first: Int? { isEmpty ? nil : ranges[head].lowerBound }

  package func contains(_ position: Int) -> Bool {
    let index = self.index(after: position)
    return index > head && ranges[index - 1].contains(position)
  }

  /// - Precondition: the position is not in the list.
  mutating func insert(_ position: Int) {
    let index = self.index(after: position)
    let joinsLeft = index > head && ranges[index - 1].upperBound == position
    let joinsRight = index < ranges.count && ranges[index].lowerBound == position + 1
    switch (joinsLeft, joinsRight) {
    case (true, true):
      ranges[index - 1] = ranges[index - 1].lowerBound..<ranges[index].upperBound
      ranges.remove(at: index)
    case (true, false): ranges[index - 1] = ranges[index - 1].lowerBound..<position + 1
    case (false, true): ranges[index] = position..<ranges[index].upperBound
    case (false, false): ranges.insert(position..<position + 1, at: index)
    }
  }

  /// The first `count` positions, or fewer when there are fewer.
  func prefix(_ count: Int) -> [Range<Int>] {
    var found: [Range<Int>] = []
    var remaining = count
    for range in ranges[head...] {
      let taken = range.prefix(remaining)
      found.append(taken.startIndex..<taken.endIndex)
      remaining -= taken.count
      if remaining == 0 { break }
    }
    return found
  }

  /// Removes the positions below `end` that are not below `start`, those at the front.
  mutating func remove(_ removed: Range<Int>) {
    var kept: [Range<Int>] = []
    while head < ranges.count, ranges[head].lowerBound < removed.upperBound {
      let range = ranges[head]
      head += 1
      if range.lowerBound < removed.lowerBound {
        kept.append(range.lowerBound..<min(range.upperBound, removed.lowerBound))
      }
      if range.upperBound > removed.upperBound {
        kept.append(max(range.lowerBound, removed.upperBound)..<range.upperBound)
      }
    }
    if head > 32, head * 2 > ranges.count {
      ranges.removeFirst(head)
      head = 0
    }
    ranges.insert(contentsOf: kept, at: head)
  }

  /// The index of the first range that begins behind the position.
  private func index(after position: Int) -> Int {
    // Mostly at the end: lines are deferred in their order.
    if let last = ranges.last, !isEmpty, last.lowerBound <= position { return ranges.count }
    var low = head
    var high = ranges.count
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].lowerBound <= position { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

/// Has a job's transfers begin in the order of its list, although workers answer look-ups in any
/// order. A line that the store does not have is held until no earlier line is being looked up, and
/// then until it gets a slot.
package struct LookupOrder {
  /// Positions of the lines that wait for a look-up or are being looked up.
  private var unanswered = PositionHeap()
  /// Positions of the lines that the store does not have and that wait behind earlier ones.
  private var held = PriorityQueue<Int, Int>()
  private var items = NumberedTable<Int, WorkID>()

  /// A line waits for its look-up from now on.
  mutating func begin(_ position: Int) { unanswered.insert(position) }

  /// A line has its answer, has left, or holds later ones up no more.
  mutating func end(_ position: Int) { unanswered.remove(position) }

  /// A line waits behind earlier ones, at this item.
  mutating func wait(_ position: Int, at item: WorkID) {
    held.set(position, to: position)
    items.set(position, to: item)
  }

  /// A line waits no more.
  mutating func leave(_ position: Int) {
    held.remove(position)
    items.remove(position)
  }

  package var isAnyWaiting: Bool { !held.isEmpty }

  /// The item of the first line that waits behind others, if no line before it is being looked up.
  package var next: WorkID? {
    guard let first = held.first?.key else { return nil }
    if let earliest = unanswered.first, earliest < first { return nil }
    return items[first]
  }
}

/// A set of positions that knows its first one. Positions of hits come and go one by one, so a position leaves the set
/// at once. The heap drops it later: when it would be the first, or when most of the heap has left.
struct PositionHeap {
  private var present = NumberedSet<Int>()
  /// A binary heap of them, and of positions that have left.
  private(set) var entries: [Int] = []

  /// So many that have left do not matter.
  private static let smallestCount = 64

  var first: Int? { entries.first }

  mutating func insert(_ position: Int) {
    guard present.insert(position) else { return }
    var child = entries.count
    entries.append(position)
    while child > 0, case let parent = (child - 1) / 2, entries[child] < entries[parent] {
      entries.swapAt(child, parent)
      child = parent
    }
  }

  mutating func remove(_ position: Int) {
    guard present.remove(position) else { return }
    while let first = entries.first, !present.contains(first) { removeFirst() }
    // In order, they are a heap.
    if entries.count > 2 * present.count + Self.smallestCount { entries = present.keys.sorted() }
  }

  private mutating func removeFirst() {
    entries.swapAt(0, entries.count - 1)
    entries.removeLast()
    var parent = 0
    while true {
      let left = 2 * parent + 1
      guard left < entries.count else { return }
      let child = left + 1 < entries.count && entries[left + 1] < entries[left] ? left + 1 : left
      guard entries[child] < entries[parent] else { return }
      entries.swapAt(child, parent)
      parent = child
    }
  }
}

/// A line that was read from the journal and not yet taken up.
package struct QueuedLine {
  let index: Int
  package let position: Int
  /// What the line says; a line that is no URL fails when its turn comes.
  let url: Result<ImageURL, Failure>

  package var host: String? { try? url.get().host }
}

/// The position up to which a job's list was taken, and the few lines read behind it.
package struct LineCursor {
  /// Lines read and not taken, in the order of their positions.
  package private(set) var lines = FIFO<QueuedLine>()
  /// The position at which reading goes on.
  package private(set) var next: Int
  /// The request whose page is awaited; `nil` when none is.
  var ticket: UInt64?

  init(at position: Int) {
    next = position
  }

  /// Every position below it was taken or deferred.
  var front: Int { lines.first?.position ?? next }

  mutating func removeFirst() -> QueuedLine? { lines.removeFirst() }

  mutating func take(_ lines: [QueuedLine], next: Int) {
    ticket = nil
    self.next = next
    self.lines.append(contentsOf: lines)
  }
}

/// Lines of one host that a job has in hand and that are not being fetched, and how many there may be.
///
/// While no line had to wait for a transfer there is no limit: all lines may be in the store. Once one
/// had to, few are taken up ahead, because the others may have to wait, too. Each hit then makes room
/// for one more, so that a part of a list that is in the store is soon looked up at full speed.
package struct HostBacklog: Equatable {
  /// Lines that are looked up, or wait behind earlier ones.
  package var beforeTransfer = 0
  /// For a transfer or a decoder.
  package var waiting = 0
  /// Lines beyond the window: they were tried, and their attempts are repeated.
  var repeatedCount = 0
  /// Lines that there may be; `nil` for no limit.
  private var window: Int?
  /// Whether no further line is taken up. A backlog that was full has to shrink to half of its window
  /// before the next lines are taken up together: each round of look-ups costs messages, however many
  /// lines it has.
  package private(set) var isFull = false

  package var isEmpty: Bool { beforeTransfer == 0 && waiting == 0 }

  static func += (backlog: inout Self, change: Self) {
    backlog.beforeTransfer += change.beforeTransfer
    backlog.waiting += change.waiting
  }

  /// Counts lines in or out.
  ///
  /// - Parameter missWindow: lines that there may be once one has to wait.
  mutating func count(_ change: Self, missWindow: Int) {
    self += change
    if change.waiting > 0 {
      window = missWindow + repeatedCount
    } else if let window, change.waiting == 0, change.beforeTransfer < 0 {
      self.window = window - change.beforeTransfer
    }
    updateFullness()
  }

  /// The window after a miss has changed.
  mutating func limit(to missWindow: Int) {
    if window != nil { window = missWindow + repeatedCount }
    updateFullness()
  }

  private mutating func updateFullness() {
    guard let window else { return }
    let count = beforeTransfer + waiting
    isFull = count >= window || isFull && count > window / 2
  }
}
