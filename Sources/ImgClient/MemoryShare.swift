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
/// The coordinator tells it once something is kept, and whenever it changes. Before that, it is the whole budget. When the
/// connection is lost, it stays as it is, until another coordinator tells it.
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

  private struct State {
    var members: [Member] = []
    /// From when on the coordinator may be asked; `nil` while it tells the size.
    var nextQuestion: ContinuousClock.Instant? = .now

    mutating func uses() -> [Use] {
      members.removeAll { $0.user == nil }
      return members.compactMap { member in
        member.user.map { Use(user: $0, weight: member.weight, byteCount: $0.keptByteCount) }
      }
    }

    mutating func takeQuestion(at now: ContinuousClock.Instant) -> Bool {
      guard let question = nextQuestion, question <= now else { return false }
      nextQuestion = now + MemoryShare.questionInterval
      return true
    }
  }

  /// 40 MiB.
  package static let standardByteCount = 40 << 20
  /// Where no coordinator runs, one is looked for no more often.
  private static let questionInterval = Duration.seconds(10)

  private let size: Atomic<Int>
  private let state = Mutex(State())
  private let ask: @Sendable () -> Void

  /// - Parameters:
  ///   - byteCount: the size until the coordinator tells it.
  ///   - ask: is called when something is kept and the coordinator does not tell the size. Must not block.
  package init(
    byteCount: Int = standardByteCount, ask: @escaping @Sendable () -> Void = {}
  ) {
    size = Atomic(byteCount)
    self.ask = ask
  }

  /// What all users together may keep.
  package var byteCount: Int { size.load(ordering: .relaxed) }

  /// What all users together keep.
  package var keptByteCount: Int { state.withLock { Self.total($0.uses()) } }

  /// Adds a user, which leaves with its object.
  ///
  /// - Parameter weight: see ``part(of:)``.
  package func add(_ user: any MemoryUser, weight: Int = 1) {
    state.withLock { state in
      if state.members.contains(where: { $0.user === user }) { return }
      state.members.append(Member(user: user, weight: weight))
    }
    settle()
  }

  /// The coordinator tells the size. The users drop at once what has no room any more.
  package func change(to byteCount: Int) {
    state.withLock { $0.nextQuestion = nil }
    size.store(max(0, byteCount), ordering: .relaxed)
    settle()
  }

  /// The connection to the coordinator is lost. The next one is asked.
  func coordinatorLeft() {
    state.withLock { $0.nextQuestion = .now }
  }

  /// What a user may keep whatever the others want: its part by its weight.
  package func part(of user: any MemoryUser) -> Int {
    state.withLock { state in
      let uses = state.uses()
      guard let own = uses.first(where: { $0.user === user }) else { return 0 }
      return byteCount * own.weight / uses.reduce(0) { $0 + $1.weight }
    }
  }

  /// Makes the users drop what is too much. A user calls it when it keeps more than before, without a lock of its own.
  package func settle() {
    let isQuestionDue = state.withLock { state in
      let uses = state.uses()
      let total = Self.total(uses)
      if total > byteCount { Self.trim(uses, toByteCount: byteCount) }
      return total > 0 && state.takeQuestion(at: .now)
    }
    if isQuestionDue { ask() }
  }

  private static func total(_ uses: [Use]) -> Int { uses.reduce(0) { $0 + $1.byteCount } }

  private static func trim(_ uses: [Use], toByteCount byteCount: Int) {
    var room = byteCount
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

/// A transport whose cluster limits what processes keep in memory.
package protocol MemorySharingTransport: ImageTransport {
  /// For what keeps pictures of this transport.
  var memory: MemoryShare { get }
}

extension ClusterTransport: MemorySharingTransport {
  package var memory: MemoryShare { session.memory }
}

extension InMemoryCluster: MemorySharingTransport {}
