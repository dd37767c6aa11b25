import ImgModel
import ImgScheduler
import ImgStore
import ImgWire
import Testing

@testable import ImgCoordinator

/// Lists that clients send.
@Suite(.timeLimit(.minutes(20)))
struct SubmissionsTests {
  private let parts: CoordinatorParts

  init() throws {
    parts = try CoordinatorParts()
  }

  @Test func `a list becomes a job once its last part is durable`() throws {
    let client = try parts.greetedClient()
    let first = try #require(try client.submit(["no URL", "no URL"]))
    let record = try #require(try parts.journal.stored.job(first))
    #expect(record.counts.total == 2)
    #expect(parts.scheduler.state.status(of: first) != nil)
    let second = try #require(try client.submit(["no URL"]))
    #expect(second > first)
  }

  @Test func `one list at a time is received on a connection`() throws {
    let client = try parts.greetedClient()
    try client.send(.submit(.list(client.newRequest())))
    let reply = try client.ask(.submit(.list(client.newRequest())))
    #expect(reply?.refusal?.message == "one list at a time on one connection")
  }

  @Test func `a list with too many lines in a frame is refused, and its rest is skipped`() throws {
    let client = try parts.greetedClient()
    let id = client.newRequest()
    try client.send(.submit(.list(id)))
    let lines = [String](repeating: "a", count: SubmissionLines.maximumCount + 1)
    let reply = try client.ask(.submitLines(SubmissionLines(id: id, lines: lines)))
    #expect(reply?.refusal?.message == "more than 1000 lines in one frame")
    try client.send(.submitLines(SubmissionLines(id: id, lines: ["a"])))
    try client.send(.submitEnd(PlainRequest(id: id)))
    #expect(try client.submit(["no URL"]) == JobID(rawValue: 2))
  }

  @Test func `a name of more than 200 bytes is refused`() throws {
    let client = try parts.greetedClient()
    let name = String(repeating: "é", count: 101)
    let reply = try client.ask(.submit(.list(client.newRequest(), name: name)))
    #expect(reply?.refusal?.message == "a job's name has at most 200 bytes")
  }

  @Test func `a coordinator that drains takes no list`() throws {
    let client = try parts.greetedClient()
    parts.lifecycle.drain()
    let reply = try client.ask(.submit(.list(client.newRequest())))
    #expect(reply?.refusal?.code == .stopping)
  }

  @Test func `the list of a client that leaves in the middle is discarded`() throws {
    do {
      let client = try parts.greetedClient()
      let id = client.newRequest()
      try client.send(.submit(.list(id)))
      try client.send(.submitLines(SubmissionLines(id: id, lines: ["a"])))
    }
    while !parts.clients.isEmpty { try parts.round() }
    parts.journal.finish()
    #expect(try parts.journal.stored.jobs(after: nil, limit: 10).isEmpty)
  }
}
