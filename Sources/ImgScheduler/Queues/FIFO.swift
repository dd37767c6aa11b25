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
