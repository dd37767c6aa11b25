import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

@Suite struct JobTableTests {
  private let id = JobID(rawValue: 1)
  private var jobs = JobTable()

  /// A job of three lines, which were read.
  init() {
    let record = JobRecord(
      id: id, options: RequestOptions(variant: .standard), order: .firstInFirstOut, state: .queued,
      counts: JobCounts(total: 3), submittedAt: WallTime(rawValue: 1_000))
    let backlogMaximum = jobs.backlogMaximum(transfersPerHost: 8)
    jobs.add(ActiveJob(record, backlogMaximum: backlogMaximum, at: .now))
    jobs.divideLines(transfersPerHost: 8)
    for case .readLines(let request) in jobs.readOn(id) {
      let lines = (0..<3).map { JobLine(index: $0, text: url($0)) }
      _ = jobs.take(LinePage(lines: lines, next: 3), for: request)
    }
  }

  private func waiter(_ index: Int) -> Waiter {
    Waiter(who: .line(id, index: index), expiry: .standard, startTag: 0)
  }

  @Test mutating func `a start tag follows the last one, and the one served on arrival`() {
    jobs.serve(Urgency(priority: 0, startTag: 7, item: WorkID(rawValue: 1)))
    #expect(jobs.servedTag(at: 0) == 7)
    jobs.serve(Urgency(priority: 0, startTag: 5, item: WorkID(rawValue: 1)))
    #expect(jobs.servedTag(at: 0) == 7)
    var first = waiter(0)
    first.arrivalTag = 7
    jobs.assignStartTag(to: &first)
    var second = waiter(1)
    jobs.assignStartTag(to: &second)
    #expect([first.startTag, second.startTag] == [8, 9])
    jobs.assignStartTag(to: &second)
    #expect(second.startTag == 9, "it keeps the tag it has")
  }

  @Test mutating func `the next line gets the start tag of a line that goes back`() {
    var first = waiter(0)
    #expect(jobs.nextLine().line?.job == id)
    jobs.assignStartTag(to: &first)
    _ = jobs.sendBack(0, startTag: first.startTag, host: "example.com", of: id)
    var second = waiter(1)
    jobs.assignStartTag(to: &second)
    #expect(second.startTag == first.startTag)
  }
}

@Suite struct ViewerTableTests {
  private let now = Instant.now
  private let item = WorkID(rawValue: 1)
  private var viewers = ViewerTable()

  private func viewer(_ number: UInt64) -> ViewerID { ViewerID(rawValue: number) }

  @Test mutating func `an earlier viewer that leaves does not take a later one's name along`() {
    viewers.wait(viewer(1), name: "a", for: item, reportAt: nil)
    viewers.wait(viewer(2), name: "a", for: item, reportAt: nil)
    viewers.remove(viewer(1))
    #expect(viewers.viewer(named: "a") == viewer(2))
    #expect(viewers.nameCount == 1)
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

  private func subject(_ number: Int) throws -> WorkItem.Subject {
    let url = try ImageURL(line: url(number))
    let key = WorkItem.Key(
      name: PictureName(url), request: ThumbnailRequest(variant: .standard),
      isRevalidation: false)
    return WorkItem.Subject(key, url)
  }

  private func viewer(_ number: UInt64) -> Waiter {
    Waiter(who: .viewer(ViewerID(rawValue: number)), expiry: .standard)
  }

  private mutating func add(_ number: Int) throws -> WorkItem {
    work.add(try subject(number), viewer(UInt64(number)))
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

  @Test mutating func `the most urgent item is looked up first`() throws {
    let items = try (1...3).map { try add($0) }
    items.forEach { work.queueLookup($0.id) }
    #expect(work.takeLookup() == items[2].id)
    #expect(work.takeLookup() == items[1].id)
    work.remove(items[0].id)
    #expect(work.takeLookup() == nil)
    #expect(!work.isAnyLookupQueued)
  }
}
