import ImgModel
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

@Suite struct WorkTableTests {
  private var work = WorkTable()

  private func key(_ url: ImageURL, isRevalidation: Bool = false) -> WorkItem.Key {
    WorkItem.Key(
      name: PictureName(url), request: ThumbnailRequest(variant: .standard),
      isRevalidation: isRevalidation)
  }

  private func viewer(_ number: UInt64) -> Waiter {
    Waiter(who: .viewer(ViewerID(rawValue: number)), expiry: .standard)
  }

  private mutating func add(_ number: Int, isRevalidation: Bool = false) throws -> WorkItem {
    let url = try ImageURL(line: url(number))
    return work.add(
      key(url, isRevalidation: isRevalidation), url, viewer(UInt64(number)))
  }

  @Test mutating func `requests with equal keys find the item until it is closed`() throws {
    let item = try add(1)
    #expect(work.openItem(for: item.key) == item.id)
    #expect(work[item.id]?.waiters.count == 1)
    work.close(item.id)
    #expect(work.openItem(for: item.key) == nil)
    #expect(work.count == 1, "its worker still has it")
    let next = try add(1)
    #expect(next.id != item.id)
    work.remove(item.id)
    #expect(work.openItem(for: next.key) == next.id, "the new one is still open")
  }

  @Test mutating func `a newer viewer makes an item more urgent, an older one does not`() throws {
    let item = try add(5)
    #expect(work.join(viewer(7), item.id, defaultExpiry: .milliseconds(1)) == true)
    #expect(work.join(viewer(6), item.id, defaultExpiry: .milliseconds(1)) == false)
    #expect(work[item.id]?.urgency.viewer == 7)
    #expect(work[item.id]?.waiters.count == 3)
  }

  @Test mutating func `the most urgent item is looked up first`() throws {
    let items = try (1...3).map { try add($0) }
    items.forEach { work.queueLookup($0.id) }
    #expect(work.takeLookup() == items[2].id)
    #expect(work.takeLookup() == items[1].id)
    work.remove(items[0].id)
    #expect(work.takeLookup() == nil)
    #expect(!work.isAnyLookupQueued)
  }

  @Test mutating func `the most urgent item is decoded first`() throws {
    let items = try (1...2).map { try add($0) }
    #expect(work.nextDecodeUrgency == nil)
    items.forEach { work.queueDecode($0.id) }
    #expect(work.nextDecodeUrgency == items[1].urgency)
    #expect(work.takeDecode()?.id == items[1].id)
    work.remove(items[0].id)
    #expect(work.nextDecodeUrgency == nil)
    #expect(work.takeDecode() == nil)
  }

  @Test mutating func `revalidations are counted`() throws {
    let item = try add(1, isRevalidation: true)
    _ = try add(1)
    #expect(work.revalidationCount == 1)
    work.remove(item.id)
    #expect(work.revalidationCount == 0)
    #expect(work.openCount == 1)
  }

  @Test mutating func `an item changes in place`() throws {
    let id = try add(1).id
    let count = work.change(id) { item in
      item.unreportedByteCount = 9
      return item.waiters.count
    }
    #expect(count == 1)
    #expect(work.item(id).unreportedByteCount == 9)
    #expect(work.remove(id).unreportedByteCount == 9)
    #expect(work[id] == nil)
  }

  @Test mutating func `a move returns the stage that the item leaves`() throws {
    let id = try add(1).id
    let lease = LeaseID(rawValue: 1)
    #expect(work.move(id, to: .lookingUp(lease), defaultExpiry: .seconds(1)) == .awaitingLookup)
    #expect(work.move(id, to: .awaitingTransfer, defaultExpiry: .seconds(1)) == .lookingUp(lease))
    #expect(work.item(id).stage == .awaitingTransfer)
  }

  @Test mutating func `a thumbnail serves all but late waiters, and reports the bytes once`() throws
  {
    let id = try add(1).id
    _ = work.move(id, to: .lookingUp(LeaseID(rawValue: 1)), defaultExpiry: .seconds(1))
    let late = Waiter(
      who: .viewer(ViewerID(rawValue: 2)), expiry: Expiry(.after(.seconds(60))))
    _ = work.join(late, id, defaultExpiry: .seconds(1))
    work.change(id) { item in
      item.unreportedByteCount = 4
      item.departedViewerCount = 3
    }
    let first = work.change(id) { $0.serve(bytesFetched: 5) }
    #expect(first.served.map(\.viewer?.rawValue) == [1])
    #expect(first.bytesFetched == 9)
    #expect(first.departedViewerCount == 3)
    #expect(work.item(id).waiters.map(\.viewer?.rawValue) == [2])
    #expect(work.item(id).unreportedByteCount == 0)
    #expect(work.item(id).departedViewerCount == 0)
  }
}
