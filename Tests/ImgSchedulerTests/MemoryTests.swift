import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// What does not start soon stays on disk.
@Suite(.timeLimit(.minutes(20))) struct MemoryTests {
  private static let lineCount = 1_000_000
  /// Lines taken up, one page, and one look-up's worth.
  private static let heldMaximum = 6_000

  /// A job of a million lines in a cluster that is not checked, for speed.
  private func clusterWithLongJob(
    line: @escaping (Int) -> String
  ) -> (cluster: ClusterModel, job: JobID) {
    let cluster = ClusterModel.started(
      credits: Credits(lookups: 1_024, leases: 256, decodeQueueTarget: 8))
    cluster.areInvariantsChecked = false
    let job = cluster.submit(count: Self.lineCount, line: line)
    return (cluster, job)
  }

  /// Lines of which the core holds more than a range of positions.
  private func heldCount(_ cluster: ClusterModel, _ id: JobID) -> Int {
    guard let job = cluster.scheduler.jobs[id] else { return 0 }
    #expect(job.deferred.rangeCount <= 16 * JobTable.linesInHandMaximum)
    let saturatedCount = job.deferred.hosts.values.reduce(0) { $0 + $1.lines.count }
    return job.inHand.count + job.cursor.lines.count + saturatedCount
  }

  @Test func `a long list whose transfers do not end is not read on`() {
    let (cluster, job) = clusterWithLongJob { url($0, host: "host\($0 % 100)") }
    cluster.answerLookups()
    #expect(heldCount(cluster, job) < Self.heldMaximum)
    #expect(cluster.fetching.count == 56, "an eighth is for hosts that are known to be prompt")
  }

  @Test func `a long list of one URL is not read on either`() {
    let (cluster, job) = clusterWithLongJob { _ in url(1) }
    cluster.answerLookups()
    #expect(heldCount(cluster, job) < Self.heldMaximum)
    cluster.finish(url(1))
    #expect(cluster.counts(job)?.done == JobTable.linesInHandMaximum)
    #expect(heldCount(cluster, job) < Self.heldMaximum)
  }

  @Test func `while a long list is worked off only a few thousand lines are held`() throws {
    let (cluster, job) = clusterWithLongJob { number in
      number.isMultiple(of: 7) ? "no URL" : url(number, host: "host\(number % 100)")
    }
    var heldMaximum = 0
    var countDone = 0
    while countDone < 3_000 {
      cluster.answerLookups()
      // Every second transfer ends, so that there are always some under way.
      for url in cluster.fetching.prefix(32) { cluster.finish(url) }
      heldMaximum = max(heldMaximum, heldCount(cluster, job))
      cluster.store = StoreModel()
      countDone = cluster.counts(job)?.finished ?? 0
    }
    #expect(heldMaximum < Self.heldMaximum)

    cluster.change(job, .cancel)
    cluster.finishEverything()
    let counts = try #require(cluster.endedJobs[job]?.counts)
    #expect(counts.done + counts.failed + counts.cancelled == Self.lineCount)
    #expect(counts.failed >= 3_000 / 7)
    #expect(cluster.scheduler.work.isEmpty)
  }

  @Test func `many jobs share what may be held`() {
    let cluster = ClusterModel.started(
      credits: Credits(lookups: 1_024, leases: 256, decodeQueueTarget: 8))
    cluster.areInvariantsChecked = false
    cluster.isJournalHeld = true
    for job in 0..<32 {
      cluster.submit(count: Self.lineCount) { url($0, host: "host\(job)-\($0)") }
    }
    cluster.isJournalHeld = false
    cluster.deliverJournal()
    cluster.answerLookups()
    let held = cluster.scheduler.jobs.all.map(\.inHand.count)
    #expect(held.reduce(0, +) <= JobTable.linesInHandMaximum)
    #expect(held.allSatisfy { $0 > 0 })
  }

  @Test func `viewers that come and go without a worker leave nothing behind`() {
    let cluster = ClusterModel()
    for number in 0..<500 { cluster.leave(cluster.view(url(number))) }
    #expect(cluster.scheduler.work.isEmpty)
    #expect(cluster.scheduler.work.isAnyLookupQueued == false)
  }

  @Test func `viewers that come and go leave nothing behind`() {
    let cluster = ClusterModel.started(transfers: 1)
    cluster.answeringLookups { $0.view(url(1)) }
    for _ in 0..<500 {
      let viewer = cluster.answeringLookups { $0.view(url(2)) }
      cluster.leave(viewer)
    }
    #expect(cluster.scheduler.work.count == 1)
    #expect(cluster.scheduler.work.openCount == 1)
    #expect(cluster.finished().isIdle)
  }
}

/// A journal that cannot write holds the work up.
@Suite(.timeLimit(.minutes(20))) struct JournalErrorTests {
  @Test func `with too many outcomes unrecorded nothing starts until they are recorded`() {
    let cluster = ClusterModel.started()
    cluster.areInvariantsChecked = false
    cluster.isJournalHeld = true
    // As many as each of so many jobs may have in hand.
    let lineCount = JobTable.linesInHandMinimum
    let jobCount = Scheduler.unrecordedMaximum / lineCount
    let jobs = (0...jobCount).map { _ in cluster.submit(count: lineCount) { _ in "no URL" } }
    answerReads(of: cluster)
    #expect(cluster.scheduler.jobs.unrecordedCount == Scheduler.unrecordedMaximum)
    #expect(cluster.status(jobs[jobCount - 1])?.running == lineCount)
    #expect(cluster.status(jobs[jobCount])?.running == 0)
    let viewer = cluster.view(url(1))
    #expect(cluster.lookupCount == 0)

    cluster.isJournalHeld = false
    cluster.deliverJournal()
    #expect(cluster.lookupCount == 1)
    #expect(cluster.finished().answers[viewer] == .fetchedSample)
    #expect(jobs.allSatisfy { cluster.endedJobs[$0]?.counts.failed == lineCount })
    #expect(cluster.isIdle)
  }

  /// The pages are read, but no outcome becomes durable.
  private func answerReads(of cluster: ClusterModel) {
    while let request = cluster.pageQueue.first {
      cluster.pageQueue.removeFirst()
      cluster.handle(.linesRead(request, cluster.journal.page(request)))
    }
  }

  @Test func `transfers end while the journal cannot write, and their lines count as running`() {
    let cluster = ClusterModel.started()
    let job = cluster.answeringLookups { $0.submit(spreadURLs(1...3)) }
    cluster.isJournalHeld = true
    #expect(cluster.finished().status(job)?.running == 3, "until their outcomes are durable")
    #expect(cluster.status(job)?.done == 0)
    cluster.deliverJournal()
    #expect(cluster.endedJobs[job]?.counts.done == 3)
  }
}

@Suite struct DeferredLinesTests {
  private var lines = DeferredLines()

  private func line(_ position: Int) throws -> QueuedLine {
    let url = try ImageURL(line: "http://a/\(position)")
    return QueuedLine(index: position, position: position, url: .success(url))
  }

  @Test mutating func `a host without room is neither read nor next`() {
    lines.insert(4, of: "a", hasRoom: false)
    #expect(lines.contains("a"))
    #expect(!lines.contains("b"))
    #expect(lines.nextToRead(limit: 8) == nil)
    #expect(lines.nextHost == nil)
  }

  @Test mutating func `the host with the first position is read first, up to the limit`() throws {
    for position in [7, 8, 9] { lines.insert(position, of: "a", hasRoom: true) }
    lines.insert(3, of: "b", hasRoom: true)
    #expect(lines.rangeCount == 2)
    let first = try #require(lines.nextToRead(limit: 2))
    #expect(first.host == "b")
    #expect(first.positions == [3..<4])
    lines.update("b", hasRoom: false)
    let second = try #require(lines.nextToRead(limit: 2))
    #expect(second.host == "a")
    #expect(second.positions == [7..<9])
  }

  @Test mutating func `lines that were read again are taken in order, then the rest`() throws {
    for position in [3, 4, 5, 9] { lines.insert(position, of: "a", hasRoom: true) }
    // Line 4 has an outcome by now.
    lines.take([try line(3), try line(5)], of: "a", in: [3..<6], hasRoom: true)
    #expect(lines.rangeCount == 1)
    #expect(lines.nextToRead(limit: 8) == nil, "a line is at hand")
    #expect(lines.nextHost == "a")
    #expect(lines.removeFirst(of: "a", hasRoom: true)?.position == 3)
    #expect(lines.removeFirst(of: "a", hasRoom: true)?.position == 5)
    #expect(lines.nextHost == nil)
    #expect(lines.nextToRead(limit: 8)?.positions == [9..<10])
  }

  @Test mutating func `a host is forgotten with its last line`() throws {
    lines.insert(3, of: "a", hasRoom: true)
    lines.take([try line(3)], of: "a", in: [3..<4], hasRoom: true)
    #expect(lines.rangeCount == 0)
    #expect(lines.removeFirst(of: "a", hasRoom: false)?.position == 3)
    #expect(lines.isEmpty)
    #expect(lines.removeFirst(of: "a", hasRoom: true) == nil)
  }

  @Test mutating func `a host's lines before a position are found of either kind`() throws {
    for position in [3, 6] { lines.insert(position, of: "a", hasRoom: true) }
    #expect(lines.contains("a", before: 4))
    #expect(!lines.contains("a", before: 3))
    #expect(!lines.contains("b", before: 9))
    lines.take([try line(3)], of: "a", in: [3..<4], hasRoom: true)
    #expect(lines.contains("a", before: 4), "a line that was read again counts")
    _ = lines.removeFirst(of: "a", hasRoom: true)
    #expect(!lines.contains("a", before: 6))
    #expect(lines.contains("a", before: 7))
  }
}

@Suite struct HostBacklogTests {
  private var backlog = HostBacklog()

  private mutating func count(beforeTransfer: Int = 0, waiting: Int = 0) {
    var change = HostBacklog()
    change.beforeTransfer = beforeTransfer
    change.waiting = waiting
    backlog.count(change, missWindow: 8)
  }

  @Test mutating func `there is no limit while no line had to wait`() {
    count(beforeTransfer: 1_000)
    #expect(!backlog.isFull)
    count(beforeTransfer: -1)
    #expect(!backlog.isFull)
  }

  @Test mutating func `once a line had to wait, few are taken up ahead`() {
    count(beforeTransfer: 4)
    count(beforeTransfer: -1, waiting: 1)
    #expect(!backlog.isFull)
    count(beforeTransfer: 4)
    #expect(backlog.isFull)
  }

  @Test mutating func `the limit stays when none waits any more`() {
    count(waiting: 1)
    count(waiting: -1)
    #expect(backlog.isEmpty)
    count(beforeTransfer: 8)
    #expect(backlog.isFull)
  }

  @Test mutating func `a full backlog shrinks to half before it grows again`() {
    count(waiting: 8)
    count(waiting: -3)
    #expect(backlog.isFull)
    count(waiting: -1)
    #expect(!backlog.isFull)
    count(waiting: 3)
    #expect(!backlog.isFull)
  }

  @Test mutating func `each hit makes room for one more line`() {
    count(waiting: 1)
    count(waiting: -1)
    count(beforeTransfer: 8)
    count(beforeTransfer: -8)
    count(beforeTransfer: 15)
    #expect(!backlog.isFull)
    count(beforeTransfer: 1)
    #expect(backlog.isFull)
  }

  @Test mutating func `a changed limit holds at once`() {
    count(waiting: 6)
    backlog.limit(to: 6)
    #expect(backlog.isFull)
    backlog.limit(to: 20)
    #expect(!backlog.isFull)
  }
}
