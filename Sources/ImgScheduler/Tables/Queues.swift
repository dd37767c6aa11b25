package import ImgModel

extension Optional where Wrapped: Comparable {
  /// The lesser of both, or the one that is there.
  func orLess(_ other: Wrapped?) -> Wrapped? {
    guard let self, let other else { return self ?? other }
    return Swift.min(self, other)
  }
}

/// First in, first out, both in constant time on average.
package struct FIFO<Element> {
  private var elements: [Element] = []
  /// Index of the first element that was not taken.
  private var head = 0

  init() {}

  var isEmpty: Bool { head == elements.count }
  var count: Int { elements.count - head }
  package var first: Element? { isEmpty ? nil : elements[head] }

  mutating func append(_ element: Element) {
    elements.append(element)
  }

  mutating func append(contentsOf more: some Sequence<Element>) {
    elements.append(contentsOf: more)
  }

  mutating func removeAll(where isRemoved: (Element) -> Bool) {
    elements = elements[head...].filter { !isRemoved($0) }
    head = 0
  }

  package mutating func removeFirst() -> Element? {
    guard head < elements.count else { return nil }
    let element = elements[head]
    head += 1
    // Moving what is left once half of the array is dead keeps each element's share constant.
    if head > 32, head * 2 > elements.count {
      elements.removeFirst(head)
      head = 0
    }
    return element
  }
}

/// A key of a ``PriorityQueue``, which says what finds the key there.
package protocol QueueKey: Hashable {
  associatedtype Positions: QueuePositions<Self>
}

/// Where each key of a ``PriorityQueue`` stands.
package protocol QueuePositions<Key> {
  associatedtype Key
  init()
  subscript(key: Key) -> Int? { get }
  mutating func set(_ key: Key, to position: Int)
  @discardableResult
  mutating func remove(_ key: Key) -> Int?
}

extension NumberedTable: QueuePositions where Value == Int {}

extension Identifier: QueueKey {
  package typealias Positions = NumberedTable<Self, Int>
}

extension Int: QueueKey {
  package typealias Positions = NumberedTable<Self, Int>
}

extension Dictionary: QueuePositions where Value == Int {
  package mutating func set(_ key: Key, to position: Int) { self[key] = position }
  package mutating func remove(_ key: Key) -> Int? { removeValue(forKey: key) }
}

extension String: QueueKey {
  package typealias Positions = [String: Int]
}

/// Keys by priority, the least first: a binary heap that knows where each key stands, so that a key
/// is added, moved and removed in logarithmic time and nothing outdated is ever left behind.
package struct PriorityQueue<Key: QueueKey, Priority: Comparable> {
  private var entries: [(key: Key, priority: Priority)] = []
  private var positions = Key.Positions()

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
      positions.set(key, to: position)
    } else {
      entries[position].priority = priority
    }
    restoreOrder(at: position)
  }

  mutating func remove(_ key: Key) {
    guard let position = positions[key] else { return }
    swap(position, entries.count - 1)
    entries.removeLast()
    positions.remove(key)
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
    positions.set(entries[one].key, to: one)
    positions.set(entries[other].key, to: other)
  }
}

/// Round robin: each member waits once, and the one that has waited for longest is next.
package struct TurnQueue<Member: Numbered> {
  private var queue = FIFO<Member>()
  private var waiting = NumberedSet<Member>()

  package init() {}

  package var isEmpty: Bool { queue.isEmpty }
  package func contains(_ member: Member) -> Bool { waiting.contains(member) }

  /// Has a member wait for its turn; it keeps its position when it waits already.
  package mutating func append(_ member: Member) {
    if waiting.insert(member) { queue.append(member) }
  }

  package mutating func remove(_ member: Member) {
    guard waiting.contains(member) else { return }
    waiting.remove(member)
    queue.removeAll { $0 == member }
  }

  /// Takes the member whose turn it is.
  package mutating func removeFirst() -> Member? {
    let member = queue.removeFirst()
    if let member { waiting.remove(member) }
    return member
  }
}
