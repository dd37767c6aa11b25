import ImgModel
import ImgScheduler
import ImgWire
import Testing

@testable import ImgCoordinator

@Suite struct PendingRequestsTests {
  private var pending = PendingRequests()

  private func request(_ number: UInt64) -> RequestID { RequestID(rawValue: number) }

  private func status(_ job: UInt64, done: Int = 0) -> JobStatus {
    var counts = JobCounts(total: 20)
    counts.done = done
    return JobStatus(
      JobRecord(
        id: JobID(rawValue: job), options: RequestOptions(variant: .standard), state: .queued,
        counts: counts, submittedAt: WallTime(rawValue: 0)))
  }

  @Test mutating func `a number that is pending may not be used again, whatever it asked for`() {
    #expect(pending.isEmpty)
    pending.addWatch(request(1), sent: status(1))
    pending.addViewer(ViewerID(rawValue: 1), for: request(2))
    pending.addChange(request(3))
    #expect(!pending.isEmpty)
    for number: UInt64 in 1...3 {
      #expect(pending.obstacle(to: request(number)) == "a request of this number waits already")
    }
    #expect(pending.obstacle(to: request(4)) == nil)
    pending.removeChange(request(3))
    #expect(pending.obstacle(to: request(3)) == nil)
  }

  @Test mutating func `1,024 requests may be pending, of all kinds together`() {
    pending.addChange(request(0))
    for number: UInt64 in 1..<1_024 {
      #expect(pending.obstacle(to: request(number)) == nil)
      pending.addViewer(ViewerID(rawValue: number), for: request(number))
    }
    #expect(
      pending.obstacle(to: request(1_024)) == "1024 requests of this client wait already")
    pending.removeViewer(for: request(7))
    #expect(pending.obstacle(to: request(1_024)) == nil)
    #expect(pending.viewerIDs.count == 1_022)
  }

  @Test mutating func `a watch knows the status that was sent last, and ends with its job`() {
    pending.addWatch(request(1), sent: status(1))
    pending.addWatch(request(2), sent: status(1))
    pending.addWatch(request(3), sent: status(2))
    pending.updateWatch(request(1), sent: status(1, done: 5))
    #expect(
      Set(pending.watches) == [
        .init(request: request(1), sent: status(1, done: 5)),
        .init(request: request(2), sent: status(1)),
        .init(request: request(3), sent: status(2)),
      ])
    #expect(Set(pending.removeWatches(of: JobID(rawValue: 1))) == [request(1), request(2)])
    #expect(pending.watches.map(\.request) == [request(3)])
    #expect(pending.removeWatches(of: JobID(rawValue: 1)).isEmpty)
    #expect(pending.hasWatches)
  }

  @Test mutating func `a watch ends once`() {
    pending.addWatch(request(1), sent: status(1))
    let ended = [pending.removeWatch(request(2)), pending.removeWatch(request(1))]
    #expect(ended == [false, true])
    #expect(!pending.hasWatches)
    let again = pending.removeWatch(request(1))
    #expect(!again)
  }

  @Test func `a number that is pending already is a bug of the caller`() async {
    await #expect(processExitsWith: .failure) {
      var pending = PendingRequests()
      pending.addChange(RequestID(rawValue: 1))
      pending.addChange(RequestID(rawValue: 1))
    }
  }
}
