/// Values by key. The least recently used ones leave first. Each operation takes constant time.
///
/// It is public and inlinable, because other modules use it for each of their requests: without its types, an
/// operation takes several times as long, and Swift 6.3.1 inlines nothing that has package access. Programs
/// that import the library do not see it.
@_spi(Containers)
public struct LeastRecentlyUsed<Key: Hashable, Value> {
  @usableFromInline
  struct Node {
    @usableFromInline let key: Key
    @usableFromInline let value: Value
    @usableFromInline let cost: Int
    /// The node that was used after this one, and the one that was used before it.
    @usableFromInline var newer: Int?
    @usableFromInline var older: Int?

    @inlinable
    init(_ value: Value, of key: Key, cost: Int) {
      self.key = key
      self.value = value
      self.cost = cost
    }
  }

  @usableFromInline var nodes: [Node?] = []
  @usableFromInline var freeIndexes: [Int] = []
  @usableFromInline var indexes: [Key: Int] = [:]
  @usableFromInline var newest: Int?
  @usableFromInline var oldest: Int?
  @usableFromInline var totalCost = 0

  /// No values.
  @inlinable
  public init() {}

  /// The number of values.
  @inlinable
  public var count: Int { indexes.count }

  /// The sum of all costs.
  @inlinable
  public var cost: Int { totalCost }

  /// The keys, in no order.
  public var keys: some Sequence<Key> { indexes.keys }

  /// A value, which does not count as used.
  @inlinable
  public func value(of key: Key) -> Value? {
    indexes[key].flatMap { nodes[$0]?.value }
  }

  /// A value, which was used last from now on.
  @inlinable
  public mutating func use(_ key: Key) -> Value? {
    guard let index = indexes[key] else { return nil }
    if newest != index {
      unlink(index)
      link(index)
    }
    return nodes[index]?.value
  }

  /// Adds or replaces a value, which was used last from now on.
  @inlinable
  public mutating func insert(_ value: Value, as key: Key, cost: Int) {
    remove(key)
    let node = Node(value, of: key, cost: cost)
    let index: Int
    if let free = freeIndexes.popLast() {
      index = free
      nodes[index] = node
    } else {
      index = nodes.count
      nodes.append(node)
    }
    indexes[key] = index
    totalCost += cost
    link(index)
  }

  /// Removes a value, and returns it.
  @discardableResult @inlinable
  public mutating func remove(_ key: Key) -> Value? {
    guard let index = indexes.removeValue(forKey: key), let node = nodes[index] else { return nil }
    unlink(index)
    nodes[index] = nil
    freeIndexes.append(index)
    totalCost -= node.cost
    return node.value
  }

  /// Removes the values that were not used for longest.
  @inlinable
  public mutating func trim(toCost limit: Int) {
    while cost > limit, let index = oldest, let node = nodes[index] { remove(node.key) }
  }

  /// Puts a node in front.
  @inlinable
  mutating func link(_ index: Int) {
    nodes[index]?.newer = nil
    nodes[index]?.older = newest
    if let newest { nodes[newest]?.newer = index }
    newest = index
    if oldest == nil { oldest = index }
  }

  /// Reads only the neighbours of the node: a copy of its value would cost more.
  @inlinable
  mutating func unlink(_ index: Int) {
    let (newer, older) = (nodes[index]?.newer, nodes[index]?.older)
    if let newer { nodes[newer]?.older = older } else { newest = older }
    if let older { nodes[older]?.newer = newer } else { oldest = newer }
  }
}
