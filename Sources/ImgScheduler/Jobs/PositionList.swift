/// Positions of a list in ascending order, neighbours held as one range: a million lines of one
/// host that follow each other take no more room than one.
package struct PositionList {
  private var ranges: [Range<Int>] = []
  /// Index of the first range that was not removed.
  private var head = 0

  var isEmpty: Bool { head == ranges.count }
  package var rangeCount: Int { ranges.count - head }
  var first: Int? { isEmpty ? nil : ranges[head].lowerBound }

  package func contains(_ position: Int) -> Bool {
    let index = self.index(after: position)
    return index > head && ranges[index - 1].contains(position)
  }

  /// - Precondition: the position is not in the list.
  mutating func insert(_ position: Int) {
    let index = self.index(after: position)
    let joinsLeft = index > head && ranges[index - 1].upperBound == position
    let joinsRight = index < ranges.count && ranges[index].lowerBound == position + 1
    switch (joinsLeft, joinsRight) {
    case (true, true):
      ranges[index - 1] = ranges[index - 1].lowerBound..<ranges[index].upperBound
      ranges.remove(at: index)
    case (true, false): ranges[index - 1] = ranges[index - 1].lowerBound..<position + 1
    case (false, true): ranges[index] = position..<ranges[index].upperBound
    case (false, false): ranges.insert(position..<position + 1, at: index)
    }
  }

  /// The first `count` positions, or fewer when there are fewer.
  func prefix(_ count: Int) -> [Range<Int>] {
    var found: [Range<Int>] = []
    var remaining = count
    for range in ranges[head...] {
      let taken = range.prefix(remaining)
      found.append(taken.startIndex..<taken.endIndex)
      remaining -= taken.count
      if remaining == 0 { break }
    }
    return found
  }

  /// Removes the positions below `end` that are not below `start`, those at the front.
  mutating func remove(_ removed: Range<Int>) {
    var kept: [Range<Int>] = []
    while head < ranges.count, ranges[head].lowerBound < removed.upperBound {
      let range = ranges[head]
      head += 1
      if range.lowerBound < removed.lowerBound {
        kept.append(range.lowerBound..<min(range.upperBound, removed.lowerBound))
      }
      if range.upperBound > removed.upperBound {
        kept.append(max(range.lowerBound, removed.upperBound)..<range.upperBound)
      }
    }
    if head > 32, head * 2 > ranges.count {
      ranges.removeFirst(head)
      head = 0
    }
    ranges.insert(contentsOf: kept, at: head)
  }

  /// The index of the first range that begins behind the position.
  private func index(after position: Int) -> Int {
    // Mostly at the end: lines are deferred in their order.
    if let last = ranges.last, !isEmpty, last.lowerBound <= position { return ranges.count }
    var low = head
    var high = ranges.count
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].lowerBound <= position { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
