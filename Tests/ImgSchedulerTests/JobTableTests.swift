import ImgModel
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

@Suite struct JobTableTests {
  private let now = Instant.now
  private let wall = WallTime(rawValue: 1_000)
  private var jobs = JobTable()

  /// A job that was read whole: its lines are at the hosts `line`.
  private mutating func add(
    _ number: UInt64, lineCount: Int = 3, priority: Int = 0
  ) -> JobID {
    let id = JobID(rawValue: number)
    let record = JobRecord(
      id: id, options: RequestOptions(variant: .standard, priority: priority),
      order: .firstInFirstOut, state: .queued, counts: JobCounts(total: lineCount),
      submittedAt: wall)
    jobs.add(
      ActiveJob(record, backlogMaximum: jobs.backlogMaximum(transfersPerHost: 8), at: now))
    jobs.divideLines(transfersPerHost: 8)
    for case .readLines(let request) in jobs.readOn(id) {
      let lines = (0..<lineCount).map { JobLine(index: $0, text: url($0)) }
      _ = jobs.take(LinePage(lines: lines, next: lineCount), for: request)
    }
    return id
  }

  private func waiter(_ job: JobID, _ index: Int, startTag: UInt64 = 0) -> Waiter {
    Waiter(who: .line(job, index: index), expiry: .standard, startTag: startTag)
  }

  /// Takes the next line.
  ///
  /// - Returns: its job.
  private mutating func nextJob() -> JobID? { jobs.nextLine().line?.job }

  @Test mutating func `lines are taken in the order of the list, and go back to it`() {
    let id = add(1)
    #expect(jobs.nextLine().line?.line.index == 0)
    #expect(jobs.nextLine().line?.line.index == 1)
    #expect(jobs[id]?.inHand.keys.sorted() == [0, 1])
    #expect(
      jobs.sendBack(0, startTag: 0, host: "example.com", of: id).count == 1, "it is read again")
    #expect(jobs[id]?.inHand.keys.sorted() == [1])
  }

  @Test mutating func `jobs of the highest priority take turns`() {
    let ids = [add(1, lineCount: 2), add(2), add(3, lineCount: 1, priority: 1)]
    let turns = (0..<6).map { _ in nextJob() }
    #expect(turns == [ids[2], ids[0], ids[1], ids[0], ids[1], ids[1]])
    #expect(nextJob() == nil)
  }

  @Test
  mutating func `a start tag follows the one before, and the one served when the line arrived`() {
    let id = add(1)
    jobs.serve(Urgency(priority: 0, startTag: 7, item: WorkID(rawValue: 1)))
    #expect(jobs.servedTag(at: 0) == 7)
    jobs.serve(Urgency(priority: 0, startTag: 5, item: WorkID(rawValue: 1)))
    #expect(jobs.servedTag(at: 0) == 7)
    var first = waiter(id, 0)
    first.arrivalTag = 7
    jobs.assignStartTag(to: &first)
    var second = waiter(id, 1)
    jobs.assignStartTag(to: &second)
    #expect([first.startTag, second.startTag] == [8, 9])
    jobs.assignStartTag(to: &second)
    #expect(second.startTag == 9, "it keeps the tag it has")
  }

  @Test mutating func `the next line gets the start tag of a line that goes back`() {
    let id = add(1)
    var first = waiter(id, 0)
    #expect(nextJob() == id)
    jobs.assignStartTag(to: &first)
    _ = jobs.sendBack(0, startTag: first.startTag, host: "example.com", of: id)
    var second = waiter(id, 1)
    jobs.assignStartTag(to: &second)
    #expect(second.startTag == first.startTag)
  }

  @Test mutating func `the first line with a worker starts the job, once`() {
    let id = add(1)
    let waiters = [waiter(id, 0), waiter(id, 1)]
    let item = WorkID(rawValue: 1)
    let waiting = StageNumbers(.awaitingLookup)
    let looking = StageNumbers(.lookingUp(LeaseID(rawValue: 1)))
    #expect(jobs.count(waiters, at: item, host: "a", by: waiting, at: wall).isEmpty)
    let started = jobs.count(waiters, at: item, host: "a", by: looking + waiting * -1, at: wall)
    #expect(started == [.journal(.start(id, at: wall))])
    #expect(jobs[id]?.leasedCount == 2)
    #expect(jobs[id]?.record.startedAt == wall)
    #expect(jobs.beginRecording(of: id, at: wall) == false)
  }

  @Test mutating func `jobs with lines that wait behind others are known`() {
    let id = add(1)
    let behind = StageNumbers(.behindEarlierLines)
    let item = WorkID(rawValue: 1)
    _ = jobs.count([waiter(id, 0)], at: item, host: "a", by: behind, at: wall)
    #expect(Array(jobs.withHeldLines.keys) == [id])
    #expect(jobs[id]?.lookups.next == item)
    _ = jobs.count([waiter(id, 0)], at: item, host: "a", by: behind * -1, at: wall)
    #expect(jobs.withHeldLines.isEmpty)
    #expect(jobs[id]?.backlogs.isEmpty == true)
  }

  @Test mutating func `a job ends when all of its outcomes are durable`() {
    let id = add(1, lineCount: 2)
    let outcome = Outcome.failed(Failure(stage: .fetch, code: .timeout, detail: ""))
    #expect(jobs.beginRecording(of: id, at: wall) == true)
    #expect(jobs.beginRecording(of: id, at: wall) == false)
    #expect(jobs.unrecordedCount == 2)
    let moment = Moment(instant: now, wall: wall)
    #expect(jobs.endRecording(of: 0, outcome, of: id, at: moment).isEmpty)
    let end = jobs.endRecording(of: 1, outcome, of: id, at: moment)
    #expect(end == [.journal(.finish(id, at: wall))])
    #expect(jobs.finishIfComplete(id, at: wall).isEmpty, "its end is journaled once")
    #expect(jobs.unrecordedCount == 0)
    #expect(jobs.remove(id)?.record.counts.failed == 2)
    #expect(jobs.remove(id) == nil)
    #expect(jobs.isEmpty)
  }

  @Test mutating func `a paused job takes nothing, and goes on when the pause is withdrawn`() {
    let id = add(1)
    jobs.change(id) { $0.beginPause() }
    #expect(nextJob() == nil)
    #expect(jobs.readOn(id).isEmpty)
    jobs.change(id) { $0.withdraw(.pause) }
    #expect(jobs.readOn(id).count == 1, "what was read is forgotten")
  }

  @Test mutating func `a new priority takes effect when it is durable`() {
    let ids = [add(1), add(2)]
    #expect(nextJob() == ids[0])
    jobs.apply(.setPriority(.veryHigh), to: ids[0], at: wall, now: now)
    #expect(jobs[ids[0]]?.record.options.priority == 2)
    let turns = (0..<3).map { _ in nextJob() }
    #expect(turns == [ids[0], ids[0], ids[1]])
  }

  @Test mutating func `jobs share the lines in hand, down to a minimum`() {
    _ = add(1)
    #expect(jobs.linesInHandPerJob == JobTable.linesInHandMaximum)
    _ = add(2)
    #expect(jobs.linesInHandPerJob == JobTable.linesInHandMaximum / 2)
    for number in 3...100 { _ = add(UInt64(number)) }
    #expect(jobs.linesInHandPerJob == JobTable.linesInHandMinimum)
  }
}

@Suite struct ViewerTableTests {
  private let now = Instant.now
  private let item = WorkID(rawValue: 1)
  private var viewers = ViewerTable()

  private func viewer(_ number: UInt64) -> ViewerID { ViewerID(rawValue: number) }

  @Test mutating func `a viewer is found by its name until it leaves`() {
    viewers.wait(viewer(1), name: "a", for: item, reportAt: nil)
    viewers.wait(viewer(2), name: nil, for: item, reportAt: nil)
    #expect(viewers.viewer(named: "a") == viewer(1))
    #expect(viewers.ids == [viewer(1), viewer(2)])
    #expect(viewers.remove(viewer(1)) != nil)
    #expect(viewers.viewer(named: "a") == nil)
    #expect(viewers.remove(viewer(1)) == nil)
    #expect(viewers.count == 1)
  }

  @Test mutating func `an earlier viewer that leaves does not take a later one's name along`() {
    viewers.wait(viewer(1), name: "a", for: item, reportAt: nil)
    viewers.wait(viewer(2), name: "a", for: item, reportAt: nil)
    viewers.remove(viewer(1))
    #expect(viewers.viewer(named: "a") == viewer(2))
    #expect(viewers.nameCount == 1)
  }

  @Test mutating func `a viewer with a delay waits for no item until that is over`() throws {
    let url = try ImageURL(line: url(1))
    var request = ViewerRequest(url: url.text, options: RequestOptions(variant: .standard))
    request.name = "a"
    viewers.delay(viewer(1), request, for: url)
    guard case .delayed = viewers[viewer(1)] else {
      Issue.record("it is not delayed")
      return
    }
    viewers.wait(viewer(1), name: "a", for: item, reportAt: now)
    guard case .waiting(name: "a", item) = viewers[viewer(1)] else {
      Issue.record("it does not wait")
      return
    }
    #expect(viewers.reportDeadline == now)
  }

  @Test mutating func `a wait is reported when it is due, and again only when it is news`() {
    viewers.wait(viewer(1), name: nil, for: item, reportAt: now)
    #expect(viewers.takeDueReport(at: now - .seconds(1)) == nil)
    #expect(viewers.takeDueReport(at: now)?.viewer == viewer(1))
    #expect(viewers.takeDueReport(at: now) == nil, "the next one is due later")
    #expect(viewers.report(Wait(.lookingUp), to: viewer(1)) == true)
    #expect(viewers.report(Wait(.lookingUp), to: viewer(1)) == false)
    #expect(viewers.report(Wait(.workersBusy), to: viewer(1)) == true)
    viewers.remove(viewer(1))
    #expect(!viewers.isAnyReportPending)
  }

  @Test mutating func `only so many viewers are told what they wait for`() {
    for number in 1...ViewerTable.reportMaximum + 1 {
      viewers.wait(viewer(UInt64(number)), name: nil, for: item, reportAt: now)
    }
    var reportCount = 0
    while viewers.takeDueReport(at: now) != nil { reportCount += 1 }
    #expect(reportCount == ViewerTable.reportMaximum)
  }
}

@Suite struct WorkTableTests {
  private var work = WorkTable()

  private func subject(_ number: Int, isRevalidation: Bool = false) throws -> WorkItem.Subject {
    let url = try ImageURL(line: url(number))
    let key = WorkItem.Key(
      name: PictureName(url), request: ThumbnailRequest(variant: .standard),
      isRevalidation: isRevalidation)
    return WorkItem.Subject(key, url)
  }

  private func viewer(_ number: UInt64) -> Waiter {
    Waiter(who: .viewer(ViewerID(rawValue: number)), expiry: .standard)
  }

  private mutating func add(_ number: Int, isRevalidation: Bool = false) throws -> WorkItem {
    work.add(try subject(number, isRevalidation: isRevalidation), viewer(UInt64(number)))
  }

  @Test mutating func `requests with equal keys find the item until it is closed`() throws {
    let item = try add(1)
    #expect(work.openItem(for: try subject(1)) == item.id)
    #expect(work[item.id]?.waiters.count == 1)
    work.close(item.id)
    #expect(work.openItem(for: try subject(1)) == nil)
    #expect(work.count == 1, "its worker still has it")
    let next = try add(1)
    #expect(next.id != item.id)
    work.remove(item.id)
    #expect(work.openItem(for: try subject(1)) == next.id, "the new one is still open")
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
