import ImgModel

/// Has a job's transfers begin in the order of its list, although workers answer look-ups in any
/// order. A line that the store does not have is held until no earlier line is being looked up, and
/// then until it gets a slot.
package struct LookupOrder {
  /// Positions of the lines that wait for a look-up or are being looked up.
  private var unanswered = PriorityQueue<Int, Int>()
  /// Positions of the lines that the store does not have and that wait behind earlier ones.
  private var held = PriorityQueue<Int, Int>()
  private var items: [Int: WorkID] = [:]

  /// A line waits for its look-up from now on.
  mutating func begin(_ position: Int) { unanswered.set(position, to: position) }

  /// A line has its answer, has left, or holds later ones up no more.
  mutating func end(_ position: Int) { unanswered.remove(position) }

  /// A line waits behind earlier ones, at this item.
  mutating func wait(_ position: Int, at item: WorkID) {
    held.set(position, to: position)
    items[position] = item
  }

  /// A line waits no more.
  mutating func leave(_ position: Int) {
    held.remove(position)
    items[position] = nil
  }

  package var isAnyWaiting: Bool { !held.isEmpty }

  /// The item of the first line that waits behind others, if no line before it is being looked up.
  package var next: WorkID? {
    guard let first = held.first?.key else { return nil }
    if let earliest = unanswered.first?.key, earliest < first { return nil }
    return items[first]
  }
}
