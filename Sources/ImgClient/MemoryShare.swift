import Synchronization

/// What keeps pictures in the memory of this process.
package protocol MemoryUser: AnyObject, Sendable {
  /// The size of what it keeps, in bytes.
  var keptByteCount: Int { get }
  /// Drops what was not used for longest, until the rest has so many bytes at most.
  func trim(toByteCount byteCount: Int)
}

/// The share of the cluster's memory budget that this process has, or one connection of it, and what uses it.
///
/// The coordinator tells it when a connection is made, and whenever it changes. Before that, it is the standard budget.
/// When the connection is lost, it stays as it is.
///
/// A user takes what the others leave. When all of them together keep more than the share, the larger ones make room,
/// in proportion to their weights (max-min fairness): one that keeps less than its part loses nothing.
package final class MemoryShare: Sendable {
  private struct Member {
    weak var user: (any MemoryUser)?
    let weight: Int
  }

  /// A member that exists, and what it keeps.
  private struct Use {
    let user: any MemoryUser
    let weight: Int
    let byteCount: Int
  }

  /// 40 MiB.
  package static let standardByteCount = 40 << 20

  private let size = Atomic(standardByteCount)
  private let members = Mutex<[Member]>([])
  private let onUse: @Sendable () -> Void

  /// - Parameter onUse: is called when there is a further user.
  package init(onUse: @escaping @Sendable () -> Void = {}) {
    self.onUse = onUse
  }

  /// What all users together may keep.
  package var byteCount: Int { size.load(ordering: .relaxed) }

  /// What all users together keep.
  package var keptByteCount: Int {
    members.withLock { Self.uses(&$0).reduce(0) { $0 + $1.byteCount } }
  }

  /// Whether something uses it.
  var isUsed: Bool { members.withLock { !Self.uses(&$0).isEmpty } }

  /// Adds a user, which leaves with its object.
  ///
  /// - Parameter weight: see ``part(of:)``.
  package func add(_ user: any MemoryUser, weight: Int = 1) {
    members.withLock { members in
      if members.contains(where: { $0.user === user }) { return }
      members.append(Member(user: user, weight: weight))
    }
    settle()
    onUse()
  }

  /// Changes the size. The users drop at once what has no room any more.
  package func change(to byteCount: Int) {
    size.store(max(0, byteCount), ordering: .relaxed)
    settle()
  }

  /// What a user may keep whatever the others want: its part by its weight.
  package func part(of user: any MemoryUser) -> Int {
    members.withLock { members in
      let uses = Self.uses(&members)
      guard let own = uses.first(where: { $0.user === user }) else { return 0 }
      return byteCount * own.weight / uses.reduce(0) { $0 + $1.weight }
    }
  }

  /// Makes the users drop what is too much. A user calls it when it keeps more than before, without a lock of its own.
  package func settle() {
    members.withLock { members in
      let uses = Self.uses(&members)
      var room = byteCount
      guard uses.reduce(0, { $0 + $1.byteCount }) > room else { return }
      var weight = uses.reduce(0) { $0 + $1.weight }
      // What the smaller ones leave of their parts is for the larger ones.
      for use in uses.sorted(by: { $0.byteCount * $1.weight < $1.byteCount * $0.weight }) {
        let part = min(use.byteCount, room * use.weight / weight)
        if part < use.byteCount { use.user.trim(toByteCount: part) }
        room -= part
        weight -= use.weight
      }
    }
  }

  private static func uses(_ members: inout [Member]) -> [Use] {
    members.removeAll { $0.user == nil }
    return members.compactMap { member in
      member.user.map { Use(user: $0, weight: member.weight, byteCount: $0.keptByteCount) }
    }
  }
}

/// A transport whose cluster limits what processes keep in memory.
package protocol MemorySharingTransport: ImageTransport {
  /// For what keeps pictures of this transport.
  var memory: MemoryShare { get }
}

extension ClusterTransport: MemorySharingTransport {
  package var memory: MemoryShare { session.memory }
}

extension InMemoryCluster: MemorySharingTransport {}
