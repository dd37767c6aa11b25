import ImgModel

/// The work items, those that later requests may join by their keys, and the queues of those that a
/// worker may take without a slot.
package struct WorkTable {
  private var items: [WorkID: WorkItem] = [:]
  private var openItems: [WorkItem.Key: WorkID] = [:]
  private var lastNumber: UInt64 = 0
  /// Items that ask origins about what was served stale, for no request.
  package private(set) var revalidationCount = 0
  /// Items of viewers that wait for their look-up, and items that a dead worker held: before any
  /// list.
  private var lookups = PriorityQueue<WorkID, Urgency>()
  /// Items whose picture is at hand and waits for a decoder.
  private var decodes = PriorityQueue<WorkID, Urgency>()

  package var isEmpty: Bool { items.isEmpty }
  package var count: Int { items.count }
  package var all: [WorkItem] { Array(items.values) }
  package var openCount: Int { openItems.count }

  /// - Returns: `nil` when the item has ended.
  package subscript(id: WorkID) -> WorkItem? { items[id] }

  /// - Precondition: the item has not ended.
  func item(_ id: WorkID) -> WorkItem {
    guard let item = items[id] else { preconditionFailure("\(id) has ended") }
    return item
  }

  /// The item that requests with this key join; `nil` when they begin one.
  package func openItem(for key: WorkItem.Key) -> WorkID? { openItems[key] }

  // MARK: - Items

  /// Begins an item for the first that waits.
  ///
  /// - Precondition: no item is open for the key.
  mutating func add(
    _ key: WorkItem.Key, _ url: ImageURL, _ waiter: Waiter, picture: UploadedPicture? = nil
  ) -> WorkItem {
    lastNumber += 1
    let item = WorkItem(
      id: WorkID(rawValue: lastNumber), key: key, url: url, waiter: waiter, picture: picture)
    items[item.id] = item
    let previous = openItems.updateValue(item.id, forKey: key)
    precondition(previous == nil, "requests with equal keys share one item")
    if key.isRevalidation { revalidationCount += 1 }
    return item
  }

  /// One more waits for an item.
  ///
  /// - Precondition: the item has not ended.
  /// - Returns: whether that makes it more urgent.
  mutating func join(_ waiter: Waiter, _ id: WorkID, defaultExpiry: Duration) -> Bool {
    change(id) { item in
      let urgency = item.urgency
      item.join(waiter, defaultExpiry: defaultExpiry)
      return item.urgency != urgency
    }
  }

  /// An item goes on to another stage.
  ///
  /// - Precondition: the item has not ended.
  /// - Returns: the stage that it leaves.
  mutating func move(
    _ id: WorkID, to stage: WorkItem.Stage, defaultExpiry: Duration
  ) -> WorkItem.Stage {
    change(id) { item in
      defer { item.enter(stage, defaultExpiry: defaultExpiry) }
      return item.stage
    }
  }

  /// Changes an item in place, so that its list of waiters is not copied.
  ///
  /// - Precondition: the item has not ended.
  @discardableResult
  mutating func change<Result>(_ id: WorkID, _ body: (inout WorkItem) -> Result) -> Result {
    guard let index = items.index(forKey: id) else { preconditionFailure("\(id) has ended") }
    return body(&items.values[index])
  }

  /// Later requests do not join the item.
  ///
  /// - Precondition: the item has not ended.
  mutating func close(_ id: WorkID) { close(item(id)) }

  private mutating func close(_ item: WorkItem) {
    guard let index = openItems.index(forKey: item.key), openItems.values[index] == item.id else {
      return
    }
    openItems.remove(at: index)
  }

  /// Ends an item.
  ///
  /// - Precondition: the item has not ended.
  /// - Returns: the item.
  @discardableResult
  mutating func remove(_ id: WorkID) -> WorkItem {
    guard let item = items.removeValue(forKey: id) else { preconditionFailure("\(id) has ended") }
    close(item)
    if item.key.isRevalidation { revalidationCount -= 1 }
    lookups.remove(id)
    decodes.remove(id)
    return item
  }

  // MARK: - Queues

  /// Has the item looked up before any list, or changes its urgency there.
  ///
  /// - Precondition: the item has not ended.
  mutating func queueLookup(_ id: WorkID) { lookups.set(id, to: item(id).urgency) }

  /// Takes the most urgent item that waits for its look-up outside of the lists.
  mutating func takeLookup() -> WorkID? { lookups.removeFirst() }

  package var isAnyLookupQueued: Bool { !lookups.isEmpty }

  /// Has the item wait for a decoder, or changes its urgency there.
  ///
  /// - Precondition: the item has not ended.
  mutating func queueDecode(_ id: WorkID) { decodes.set(id, to: item(id).urgency) }

  /// How urgent the next item for a decoder is; `nil` when none waits.
  var nextDecodeUrgency: Urgency? { decodes.first?.priority }

  /// Takes the most urgent item that waits for a decoder.
  mutating func takeDecode() -> WorkItem? { decodes.removeFirst().flatMap { items[$0] } }
}
