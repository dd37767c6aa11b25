import ImgModel
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

@Suite struct SourceTableTests {
  private let now = ContinuousClock.now
  private var work = WorkTable()
  private var sources: SourceTable

  init() {
    var limits = Limits()
    limits.attempts = 3
    sources = SourceTable(limits, seed: 7)
  }

  private let failure = Failure(stage: .fetch, code: .timeout, detail: "")

  /// An item of the URL with this number.
  private mutating func item(_ number: Int, _ variant: Variant = .standard) throws -> WorkItem {
    let url = try ImageURL(line: url(number))
    let key = WorkItem.Key(
      name: PictureName(url), request: ThumbnailRequest(variant: variant))
    return work.add(key, url, Waiter(who: .revalidation, expiry: .standard))
  }

  @Test mutating func `variants of one URL share a source, and the last one ends it`() throws {
    let items = [try item(1), try item(1, .small), try item(2)]
    let ids = items.map { sources.add($0) }
    #expect(ids[0] == ids[1])
    #expect(ids[0] != ids[2])
    #expect(sources[ids[0]]?.members == [items[0].id, items[1].id])
    #expect(sources.remove(items[0].id, from: ids[0]) == nil)
    #expect(sources.takeChanged()?.id == ids[0], "the others may begin")
    #expect(sources.remove(items[1].id, from: ids[0])?.id == ids[0])
    #expect(sources[ids[0]] == nil)
    #expect(sources.all.map(\.id) == [ids[2]])
  }

  @Test mutating func `changed sources are taken once each, in the order of the changes`() throws {
    let ids = try (1...3).map { sources.add(try item($0)) }
    for id in [ids[2], ids[0], ids[2], ids[1]] { sources.noteChange(of: id) }
    #expect(sources.takeChanged()?.id == ids[2])
    #expect(sources.takeChanged()?.id == ids[0])
    #expect(sources.takeChanged()?.id == ids[1])
    #expect(sources.takeChanged() == nil)
  }

  @Test mutating func `a source that has ended is not looked at`() throws {
    let item = try item(1)
    let id = sources.add(item)
    sources.noteChange(of: id)
    _ = sources.remove(item.id, from: id)
    #expect(sources.takeChanged() == nil)
  }

  @Test mutating func `only the transfer that can be joined ends the joining`() throws {
    let id = sources.add(try item(1))
    let transfer = TransferID(rawValue: 1)
    sources.setQueued(true, id)
    sources.begin(transfer, of: id)
    #expect(sources[id]?.joinable == transfer)
    #expect(sources[id]?.isQueued == false)
    sources.endJoining(TransferID(rawValue: 2), of: id)
    #expect(sources[id]?.joinable == transfer)
    #expect(sources.takeChanged() == nil)
    sources.endJoining(transfer, of: id)
    #expect(sources[id]?.joinable == nil)
    #expect(sources.takeChanged()?.id == id)
  }

  @Test mutating func `a retry that was due while nobody waited for it delays nothing`() throws {
    let id = sources.add(try item(1))
    #expect(sources.mustWait(id, at: now) == false)
    _ = sources.scheduleRetry(of: id, after: failure, at: now)
    let due = try #require(sources[id]?.retryAt)
    #expect(sources.mustWait(id, at: due - .milliseconds(1)) == true)
    #expect(sources[id]?.retryAt == due)
    #expect(sources.mustWait(id, at: due) == false)
    #expect(sources[id]?.retryAt == nil)
    #expect(sources.nextRetry == nil)
  }

  @Test mutating func `a source is tried again until its attempts are used up`() throws {
    let id = sources.add(try item(1))
    #expect(sources.scheduleRetry(of: id, after: failure, at: now) == true)
    #expect(sources[id]?.retryAt.map { $0 >= now } == true)
    #expect(sources.scheduleRetry(of: id, after: failure, at: now) == true)
    #expect(sources.scheduleRetry(of: id, after: failure, at: now) == false)
    #expect(sources[id]?.retryAt == nil)
    #expect(sources[id]?.attempts == 3)
    #expect(sources[id]?.lastFailure == failure)
  }

  @Test mutating func `a source that waits for its retry is taken when that is due`() throws {
    let id = sources.add(try item(1))
    _ = sources.scheduleRetry(of: id, after: failure, at: now)
    let retryAt = try #require(sources[id]?.retryAt)
    sources.awaitRetry(id)
    #expect(sources.nextRetry == retryAt)
    #expect(sources.waitingForRetry(9).map(\.id) == [id])
    #expect(sources.takeDueRetry(at: now - .seconds(1)) == nil)
    #expect(sources.takeDueRetry(at: retryAt) == id)
    #expect(sources[id]?.retryAt == nil)
    #expect(sources.takeDueRetry(at: retryAt) == nil)
  }

  @Test mutating func `the first death costs no wait, a further one does`() throws {
    let id = sources.add(try item(1))
    sources.noteDeath(of: id, at: now)
    #expect(sources[id]?.retryAt == nil)
    sources.noteDeath(of: id, at: now)
    #expect(sources[id]?.retryAt != nil)
    #expect(sources[id]?.deathCount == 2)
  }

  @Test mutating func `losses of workers are counted apart from their deaths`() throws {
    let id = sources.add(try item(1))
    sources.noteLoss(of: id)
    sources.noteLoss(of: id)
    let source = try #require(sources[id])
    #expect(source.lossCount == 2)
    #expect(source.deathCount == 0)
  }
}
