/// Keys by priority, the least first: a binary heap that knows where each key stands, so that a key
/// is added, moved and removed in logarithmic time and nothing outdated is ever left behind.
package struct PriorityQueue<Key: Hashable, Priority: Comparable> {
  private var entries: [(key: Key, priority: Priority)] = []
  /// Where each key stands in `entries`.
  private var positions: [Key: Int] = [:]

  init() {}

  package var isEmpty: Bool { entries.isEmpty }
  var count: Int { entries.count }
  var first: (key: Key, priority: Priority)? { entries.first }

  /// In no order.
  package var keys: [Key] { entries.map(\.key) }

  /// Some keys, the first among them, in no order.
  func prefix(_ count: Int) -> [Key] { entries.prefix(count).map(\.key) }

  /// Adds the key, or moves it to where its new priority belongs.
  mutating func set(_ key: Key, to priority: Priority) {
    let position = positions[key] ?? entries.count
    if position == entries.count {
      entries.append((key, priority))
      positions[key] = position
    } else {
      entries[position].priority = priority
    }
    restoreOrder(at: position)
  }

  mutating func remove(_ key: Key) {
    guard let position = positions[key] else { return }
    swap(position, entries.count - 1)
    entries.removeLast()
    positions[key] = nil
    if position < entries.count { restoreOrder(at: position) }
  }

  mutating func removeFirst() -> Key? {
    guard let key = entries.first?.key else { return nil }
    remove(key)
    return key
  }

  /// Moves the one entry that may be out of order up or down.
  private mutating func restoreOrder(at position: Int) {
    var child = position
    while child > 0 {
      let parent = (child - 1) / 2
      guard entries[child].priority < entries[parent].priority else { break }
      swap(child, parent)
      child = parent
    }
    siftDown(from: child)
  }

  private mutating func siftDown(from position: Int) {
    var parent = position
    while true {
      let left = 2 * parent + 1
      guard left < entries.count else { return }
      let right = left + 1
      let isRightLess = right < entries.count && entries[right].priority < entries[left].priority
      let child = isRightLess ? right : left
      guard entries[child].priority < entries[parent].priority else { return }
      swap(child, parent)
      parent = child
    }
  }

  private mutating func swap(_ one: Int, _ other: Int) {
    guard one != other else { return }
    entries.swapAt(one, other)
    positions[entries[one].key] = one
    positions[entries[other].key] = other
  }
}
