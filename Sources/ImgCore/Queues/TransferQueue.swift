import ImgWire

/// How urgent a URL is among all that wait for a transfer; the least is next.
///
/// Somebody who waits goes before nobody who waits; among those who wait, the newest first; among
/// batches, by the job's priority and then in the order in which the lines left their lists.
struct Urgency: Hashable, Comparable {
  /// The newest viewer's number; 0 when only batches wait.
  let viewer: UInt64
  /// The highest priority of a waiting job.
  let priority: Int
  /// The order in which URLs were taken up.
  let sequence: UInt64

  static func < (left: Self, right: Self) -> Bool {
    if left.viewer != right.viewer { return left.viewer > right.viewer }
    if left.priority != right.priority { return left.priority > right.priority }
    return left.sequence < right.sequence
  }
}

/// Chooses the next URL to transfer: the most urgent one whose host has a free place.
///
/// Each host keeps its own URLs in order; only hosts that could start one now compete, each with
/// its most urgent URL. A full host therefore stands in nobody's way, however many URLs wait for
/// it.
struct TransferQueue {
  private struct Host {
    var waiting = PriorityQueue<WorkID, Urgency>()
    var underWay = 0
  }

  private let limit: Int
  private let limitPerHost: Int

  /// The hosts with a URL that waits or a transfer under way.
  private var hosts: [String: Host] = [:]
  /// The hosts with a URL that waits and a free place, each as urgent as its most urgent URL.
  private var startable = PriorityQueue<String, Urgency>()
  private(set) var underWay = 0

  init(limit: Int, limitPerHost: Int) {
    self.limit = limit
    self.limitPerHost = limitPerHost
  }

  /// Queues a URL, or changes the urgency of one that is queued.
  mutating func insert(_ item: WorkID, host: String, urgency: Urgency) {
    hosts[host, default: Host()].waiting.set(item, to: urgency)
    update(host)
  }

  mutating func remove(_ item: WorkID, host: String) {
    hosts[host]?.waiting.remove(item)
    update(host)
  }

  /// Takes the next URL and, for it, one place of the cluster and one of its host; `nil` when
  /// nothing may start now. Each place goes back by ``release(host:)``.
  mutating func next() -> WorkID? {
    guard underWay < limit, let host = startable.first?.key,
      let item = hosts[host]?.waiting.removeFirst()
    else { return nil }
    underWay += 1
    hosts[host]?.underWay += 1
    update(host)
    return item
  }

  /// Gives back the places of a transfer whose last byte is in, or which ended.
  mutating func release(host: String) {
    guard let count = hosts[host]?.underWay, count > 0 else {
      preconditionFailure("a place is given back that was not taken")
    }
    underWay -= 1
    hosts[host]?.underWay = count - 1
    update(host)
  }

  /// Brings the host's standing among the others up to date, and forgets a host without work.
  private mutating func update(_ name: String) {
    guard let host = hosts[name] else { return }
    if host.underWay < limitPerHost, let mostUrgent = host.waiting.first {
      startable.set(name, to: mostUrgent.priority)
    } else {
      startable.remove(name)
    }
    if host.waiting.isEmpty, host.underWay == 0 { hosts[name] = nil }
  }
}
