/// Values by key. The least recently used ones leave first. Each operation takes constant time.
package struct LeastRecentlyUsed<Key: Hashable, Value> {
  private struct Node {
    let key: Key
    let value: Value
    let cost: Int
    /// The node that was used after this one, and the one that was used before it.
    var newer: Int?
    var older: Int?
  }

  private var nodes: [Node?] = []
  private var freeIndexes: [Int] = []
  private var indexes: [Key: Int] = [:]
  private var newest: Int?
  private var oldest: Int?
  /// The sum of all costs.
  package private(set) var cost = 0

  /// No values.
  package init() {}

  package var count: Int { indexes.count }

  package var keys: some Sequence<Key> { indexes.keys }

  /// A value, which does not count as used.
  package func value(of key: Key) -> Value? {
    indexes[key].flatMap { nodes[$0]?.value }
  }

  /// A value, which was used last from now on.
  package mutating func use(_ key: Key) -> Value? {
    guard let index = indexes[key], let node = nodes[index] else { return nil }
    if newest != index {
      unlink(node)
      link(index)
    }
    return node.value
  }

  /// Adds or replaces a value, which was used last from now on.
  package mutating func insert(_ value: Value, as key: Key, cost: Int) {
    remove(key)
    let node = Node(key: key, value: value, cost: cost, newer: nil, older: nil)
    let index: Int
    if let free = freeIndexes.popLast() {
      index = free
      nodes[index] = node
    } else {
      index = nodes.count
      nodes.append(node)
    }
    indexes[key] = index
    self.cost += cost
    link(index)
  }

  @discardableResult
  package mutating func remove(_ key: Key) -> Value? {
    guard let index = indexes.removeValue(forKey: key), let node = nodes[index] else { return nil }
    unlink(node)
    nodes[index] = nil
    freeIndexes.append(index)
    cost -= node.cost
    return node.value
  }

  /// Removes the values that were not used for longest.
  package mutating func trim(toCost limit: Int) {
    while cost > limit, let index = oldest, let node = nodes[index] { remove(node.key) }
  }

  /// Puts a node in front.
  private mutating func link(_ index: Int) {
    nodes[index]?.newer = nil
    nodes[index]?.older = newest
    if let newest { nodes[newest]?.newer = index }
    newest = index
    if oldest == nil { oldest = index }
  }

  private mutating func unlink(_ node: Node) {
    if let newer = node.newer { nodes[newer]?.older = node.older } else { newest = node.older }
    if let older = node.older { nodes[older]?.newer = node.newer } else { oldest = node.newer }
  }
}
