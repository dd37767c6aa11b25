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
