import ImgModel
import ImgScheduler
import ImgWire
import Testing

@testable import ImgCoordinator

@Suite(.timeLimit(.minutes(20)))
struct LineReaderTests {
  @Test func `a page that the scheduler asked for is read once`() throws {
    let parts = try CoordinatorParts()
    let reader = LineReader(
      scheduler: parts.scheduler, journal: parts.journal, lifecycle: parts.lifecycle, log: Log())
    parts.makeWorkerReady()
    let client = try parts.greetedClient()
    let job = try #require(try client.submit(["http://h/1", "http://h/2"]))
    let requests = parts.otherEffects.compactMap { effect in
      if case .readLines(let request) = effect { request } else { nil }
    }
    let request = try #require(requests.first)
    #expect(request.job == job)
    #expect(reader.isIdle)
    reader.add(request)
    #expect(!reader.isIdle)
    #expect(parts.scheduler.state.awaits(request))
    reader.readNext()
    #expect(reader.isIdle)
    #expect(!parts.scheduler.state.awaits(request))
    // A page that the scheduler has, or wants no longer, is not read again.
    reader.add(request)
    reader.readNext()
    #expect(parts.lifecycle.isRunning)
  }
}
