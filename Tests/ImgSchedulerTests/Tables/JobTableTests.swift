import ImgModel
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

@Suite struct JobTableTests {
  private let now = ContinuousClock.now
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
    for request in jobs.pagesToRead(of: id) {
      let lines = (0..<lineCount).map { JobLine(index: $0, text: url($0)) }
      jobs.take(LinePage(lines: lines, next: lineCount), for: request)
    }
    return id
  }

  private func waiter(_ job: JobID, _ index: Int, startTag: UInt64 = 0) -> Waiter {
    Waiter(who: .line(job, index: index), expiry: .standard, startTag: startTag)
  }

  /// The next job by turn, of the highest priority.
  private mutating func nextStartTag() -> JobID? {
    for level in jobs.levels {
      if let job = jobs.takeTurn(atLevel: level) { return job }
    }
    return nil
  }

  @Test mutating func `lines are taken in the order of the list, and go back to it`() {
    let id = add(1)
    #expect(jobs.takeLine(of: id)?.index == 0)
    jobs.checkOut(0, of: id)
    #expect(jobs.takeLine(of: id)?.index == 1)
    jobs.checkOut(1, of: id)
    #expect(jobs[id]?.inHand == [0, 1])
    #expect(
      jobs.sendBack(0, startTag: 0, host: "example.com", of: id).count == 1, "it is read again")
    #expect(jobs[id]?.inHand == [1])
  }

  @Test mutating func `jobs of the highest priority take turns`() {
    let ids = [add(1), add(2), add(3, priority: 1)]
    #expect(nextStartTag() == ids[2])
    #expect(nextStartTag() == ids[0])
    jobs.enqueue(ids[0])
    #expect(nextStartTag() == ids[1])
    #expect(nextStartTag() == ids[0])
    #expect(nextStartTag() == nil)
  }

  @Test
  mutating func `a start tag follows the one before, and the one served when the line arrived`() {
    let id = add(1)
    jobs.serve(7, at: 0)
    #expect(jobs.servedTag(at: 0) == 7)
    jobs.serve(5, at: 0)
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
    jobs.checkOut(0, of: id)
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
    #expect(jobs.count(waiters, at: item, host: "a", by: looking + waiting * -1, at: wall) == [id])
    #expect(jobs[id]?.leasedCount == 2)
    #expect(jobs[id]?.record.startedAt == wall)
    #expect(jobs.beginRecording(of: id, at: wall) == false)
  }

  @Test mutating func `jobs with lines that wait behind others are known`() {
    let id = add(1)
    let behind = StageNumbers(.behindEarlierLines)
    let item = WorkID(rawValue: 1)
    _ = jobs.count([waiter(id, 0)], at: item, host: "a", by: behind, at: wall)
    #expect(jobs.withHeldLines == [id])
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
    jobs.endRecording(of: 0, outcome, of: id, at: now)
    #expect(jobs.finishIfComplete(id) == false)
    jobs.endRecording(of: 1, outcome, of: id, at: now)
    #expect(jobs.finishIfComplete(id) == true)
    #expect(jobs.finishIfComplete(id) == false, "its end is journaled once")
    #expect(jobs.unrecordedCount == 0)
    #expect(jobs.remove(id)?.record.counts.failed == 2)
    #expect(jobs.remove(id) == nil)
    #expect(jobs.isEmpty)
  }

  @Test mutating func `a paused job takes nothing, and goes on when the pause is withdrawn`() {
    let id = add(1)
    jobs.beginPause(id)
    #expect(jobs.takeLine(of: id) == nil)
    #expect(jobs.pagesToRead(of: id).isEmpty)
    jobs.withdraw(.pause, of: id)
    #expect(jobs.pagesToRead(of: id).count == 1, "what was read is forgotten")
  }

  @Test mutating func `a new priority takes effect when it is durable`() {
    let ids = [add(1), add(2)]
    #expect(nextStartTag() == ids[0])
    jobs.enqueue(ids[0])
    jobs.apply(.prioritise(2), to: ids[0], at: wall, now: now)
    #expect(jobs[ids[0]]?.record.options.priority == 2)
    #expect(nextStartTag() == ids[0])
    #expect(nextStartTag() == ids[1])
    #expect(nextStartTag() == nil)
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
