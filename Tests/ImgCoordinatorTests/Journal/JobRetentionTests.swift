import ImgModel
import ImgStore
import ImgWire
import Testing

@testable import ImgCoordinator

@Suite(.timeLimit(.minutes(20)))
struct JobRetentionTests {
  private let parts: CoordinatorParts
  private let client: TestClient
  private let start = ContinuousClock.now

  init() throws {
    parts = try CoordinatorParts()
    client = try parts.greetedClient()
  }

  private func retention(keep: Duration?) -> JobRetention {
    JobRetention(
      keptTime: keep, journal: parts.journal, changes: parts.requests.changes,
      lifecycle: parts.lifecycle, at: start)
  }

  @Test func `a job that has ended is removed once it is old enough, an open one stays`() throws {
    let ended = try #require(try client.submit(["http://h/1"]))
    let open = try #require(try client.submit(["http://h/2"]))
    let reply = try client.ask(
      .change(ChangeRequest(id: client.newRequest(), job: ended, change: .cancel)))
    #expect(reply?.job?.state == .cancelled)
    retention(keep: .seconds(3_600)).removeOldJobs(at: start)
    retention(keep: .zero).removeOldJobs(at: start)
    while try parts.journal.stored.job(ended) != nil { try parts.round() }
    #expect(try parts.journal.stored.job(open) != nil)
  }

  @Test func `rounds follow each other after a pause, none while every job stays`() {
    let retention = retention(keep: .seconds(10))
    #expect(retention.deadline == start)
    retention.removeOldJobs(at: start)
    #expect(retention.deadline == start + .seconds(10))
    #expect(self.retention(keep: nil).deadline == nil)
    parts.lifecycle.drain()
    #expect(retention.deadline == nil)
  }
}
