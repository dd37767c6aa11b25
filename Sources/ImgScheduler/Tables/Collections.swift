package import ImgModel

/// What a number of this program's own names.
package protocol Numbered: Hashable {
  /// No other of its type has the number.
  var number: UInt64 { get }
}

extension Identifier: Numbered {
  package var number: UInt64 { rawValue }
}

/// A position in a list.
extension Int: Numbered {
  package var number: UInt64 { UInt64(bitPattern: Int64(self)) }
}

/// Elements by numbers. One multiplication finds an element, where a `Dictionary` computes a hash that nobody can
/// foresee: nobody else chooses these numbers. The elements lie side by side and are changed in their places.
///
/// An open hash table with linear probing finds the elements. The multiplier is the golden ratio, which spreads numbers
/// that count up evenly (Knuth, "The Art of Computer Programming", volume 3, section 6.4).
package struct NumberedTable<Key: Numbered, Value> {
  /// The keys, each at the position of its element.
  package private(set) var keys: ContiguousArray<Key> = []
  /// The elements, in no order that means anything.
  package private(set) var values: ContiguousArray<Value> = []
  /// The positions of the keys, each at the key's place or behind it; at least half of them are ``free``.
  private var positions: ContiguousArray<Int32> = []
  /// Leaves so many bits of a product as name a place.
  private var shift: UInt64 = 64

  private static var free: Int32 { -1 }
  private static var smallestPlaceCount: Int { 8 }

  package init() {}

  package var isEmpty: Bool { keys.isEmpty }
  package var count: Int { keys.count }

  package subscript(key: Key) -> Value? { position(of: key).map { values[$0] } }

  package func contains(_ key: Key) -> Bool { position(of: key) != nil }

  /// Reads an element in its place, without a copy.
  ///
  /// - Returns: `nil` if there is no such element.
  func read<Result>(_ key: Key, _ body: (borrowing Value) -> Result) -> Result? {
    position(of: key).map { body(values[$0]) }
  }

  /// Changes an element in its place, so that what it holds is not copied.
  ///
  /// - Precondition: there is such an element.
  @discardableResult
  mutating func change<Result>(_ key: Key, _ body: (inout Value) -> Result) -> Result {
    guard let position = position(of: key) else { preconditionFailure("\(key) has ended") }
    return body(&values[position])
  }

  /// The same; nothing where there is no such element.
  mutating func changeIfPresent(_ key: Key, _ body: (inout Value) -> Void) {
    if let position = position(of: key) { body(&values[position]) }
  }

  /// Puts an element in the place of its key, where one may be already.
  package mutating func set(_ key: Key, to element: Value) {
    if let position = position(of: key) {
      values[position] = element
    } else {
      insert(element, for: key)
    }
  }

  /// - Precondition: there is no such element.
  fileprivate mutating func insert(_ element: Value, for key: Key) {
    if 2 * (count + 1) > positions.count { grow() }
    positions[freePlace(for: key)] = Int32(count)
    keys.append(key)
    values.append(element)
  }

  /// - Returns: `nil` if there was no such element.
  @discardableResult
  package mutating func remove(_ key: Key) -> Value? {
    guard let place = place(of: key) else { return nil }
    let position = Int(positions[place])
    freePlace(place)
    // The last one takes the position.
    let moved = position == count - 1 ? nil : self.place(of: keys[count - 1])
    let last = keys.removeLast()
    var removed = values.removeLast()
    if let moved {
      positions[moved] = Int32(position)
      keys[position] = last
      swap(&values[position], &removed)
    }
    return removed
  }

  // MARK: - Places

  /// Where a key's place is if no other key has taken it.
  private func home(of key: Key) -> Int {
    Int(truncatingIfNeeded: (key.number &* 0x9E37_79B9_7F4A_7C15) >> shift)
  }

  private func place(after place: Int) -> Int { (place + 1) & (positions.count - 1) }

  private func place(of key: Key) -> Int? {
    guard !keys.isEmpty else { return nil }
    var place = home(of: key)
    while positions[place] != Self.free {
      if keys[Int(positions[place])] == key { return place }
      place = self.place(after: place)
    }
    return nil
  }

  private func position(of key: Key) -> Int? { place(of: key).map { Int(positions[$0]) } }

  private func freePlace(for key: Key) -> Int {
    var place = home(of: key)
    while positions[place] != Self.free { place = self.place(after: place) }
    return place
  }

  /// Frees a place. Keys behind it move up, each as far as its own place allows, so that no search ends before it.
  private mutating func freePlace(_ freed: Int) {
    let mask = positions.count - 1
    var hole = freed
    var place = self.place(after: freed)
    while positions[place] != Self.free {
      let home = home(of: keys[Int(positions[place])])
      if (place - home) & mask >= (place - hole) & mask {
        positions[hole] = positions[place]
        hole = place
      }
      place = self.place(after: place)
    }
    positions[hole] = Self.free
  }

  private mutating func grow() {
    let placeCount = positions.isEmpty ? Self.smallestPlaceCount : 2 * positions.count
    shift = UInt64(64 - placeCount.trailingZeroBitCount)
    positions = ContiguousArray(repeating: Self.free, count: placeCount)
    for position in keys.indices {
      positions[freePlace(for: keys[position])] = Int32(position)
    }
  }
}

extension NumberedTable: Sequence {
  package func makeIterator()
    -> Zip2Sequence<ContiguousArray<Key>, ContiguousArray<Value>>.Iterator
  {
    zip(keys, values).makeIterator()
  }
}

/// Numbers, found like the elements of a ``NumberedTable``.
package struct NumberedSet<Key: Numbered> {
  private var table = NumberedTable<Key, Void>()

  package init() {}

  package var isEmpty: Bool { table.isEmpty }
  package var count: Int { table.count }
  /// In no order that means anything.
  package var keys: ContiguousArray<Key> { table.keys }

  package func contains(_ key: Key) -> Bool { table.contains(key) }

  /// - Returns: whether it was not there.
  @discardableResult
  mutating func insert(_ key: Key) -> Bool {
    guard !table.contains(key) else { return false }
    table.insert((), for: key)
    return true
  }

  /// - Returns: whether it was there.
  @discardableResult
  mutating func remove(_ key: Key) -> Bool { table.remove(key) != nil }
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
  var all: [(key: Key, priority: Priority)] { entries }

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
