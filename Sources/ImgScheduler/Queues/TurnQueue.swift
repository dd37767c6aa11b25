/// Round robin: each member waits once, and the one that has waited for longest is next.
package struct TurnQueue<Member: Hashable> {
  private var queue = FIFO<Member>()
  private var waiting: Set<Member> = []

  package init() {}

  package var isEmpty: Bool { queue.isEmpty }
  package func contains(_ member: Member) -> Bool { waiting.contains(member) }

  /// Has a member wait for its turn; it keeps its position when it waits already.
  package mutating func append(_ member: Member) {
    guard waiting.insert(member).inserted else { return }
    queue.append(member)
  }

  package mutating func remove(_ member: Member) {
    guard waiting.remove(member) != nil else { return }
    queue.removeAll { $0 == member }
  }

  /// Takes the member whose turn it is.
  package mutating func removeFirst() -> Member? {
    let member = queue.removeFirst()
    if let member { waiting.remove(member) }
    return member
  }
}
