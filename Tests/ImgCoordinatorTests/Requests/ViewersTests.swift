import ImgModel
import ImgScheduler
import ImgWire
import Testing

@testable import ImgCoordinator

/// Clients that wait for one thumbnail.
@Suite(.timeLimit(.minutes(20)))
struct ViewersTests {
  private let parts: CoordinatorParts
  private let client: TestClient

  init() throws {
    parts = try CoordinatorParts()
    client = try parts.greetedClient()
  }

  private func get(_ url: String, viewer: String? = nil) -> ClientMessage {
    .get(
      GetRequest(
        id: client.newRequest(), url: url, viewer: viewer,
        options: RequestOptions(variant: .standard)))
  }

  @Test func `a request that cannot be served is answered with its failure`() throws {
    guard case .got(let reply) = try client.ask(get("no URL")) else {
      Issue.record("no answer came")
      return
    }
    guard case .failed(let failure, _) = reply.outcome else {
      Issue.record("the URL is none")
      return
    }
    #expect(failure.code == .invalidURL)
    #expect(parts.scheduler.state.viewerCount == 0)
  }

  @Test func `a later request of the same viewer cancels the earlier one`() throws {
    try client.send(get("http://h/1", viewer: "page"))
    try client.send(get("http://h/2", viewer: "page"))
    guard case .got(let reply) = try client.next() else {
      Issue.record("no answer came")
      return
    }
    #expect(reply.id == RequestID(rawValue: 1))
    #expect(reply.outcome == .cancelled)
    #expect(parts.scheduler.state.viewerCount == 1)
  }

  @Test func `the viewers of a client that leaves, leave with it`() throws {
    do {
      let other = try parts.greetedClient()
      try other.send(
        .get(
          GetRequest(
            id: other.newRequest(), url: "http://h/1",
            options: RequestOptions(variant: .standard))))
      while parts.scheduler.state.viewerCount == 0 { try parts.round() }
    }
    while parts.scheduler.state.viewerCount > 0 { try parts.round() }
  }

  @Test func `a client with several requests learns what each of them waits for`() throws {
    let requests = [get("http://h/1"), get("http://h/2")]
    for request in requests { try client.send(request) }
    while parts.scheduler.state.viewerCount < requests.count { try parts.round() }
    parts.requests.viewers.reportWaits(at: .now + .seconds(60))
    parts.performEffects()
    let waiting = try requests.map { _ in
      guard case .waiting(let reply) = try client.next() else { return RequestID(rawValue: 0) }
      return reply.id
    }
    #expect(Set(waiting) == [RequestID(rawValue: 1), RequestID(rawValue: 2)])
  }

  @Test func `a viewer's name has at most 200 bytes`() throws {
    let reply = try client.ask(get("http://h/1", viewer: String(repeating: "x", count: 201)))
    #expect(reply?.refusal?.message == "a viewer's name has at most 200 bytes")
  }
}
