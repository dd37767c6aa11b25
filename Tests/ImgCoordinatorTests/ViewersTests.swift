import ImgModel
import ImgScheduler
import ImgSystem
import ImgWire
import Testing

@testable import ImgCoordinator

/// Clients that wait for one thumbnail.
@Suite(.timeLimit(.minutes(20))) struct ViewersTests {
  private let parts: CoordinatorParts
  private let client: TestClient

  init() throws {
    parts = try CoordinatorParts()
    client = try parts.greetedClient()
  }

  private func get(_ url: String, viewer: String? = nil) -> ClientMessage {
    .get(
      client.newRequest(),
      GetRequest(url: url, viewer: viewer, options: RequestOptions(variant: .standard)))
  }

  @Test func `a request that cannot be served is answered with its failure`() throws {
    guard case .got(_, let reply) = try client.ask(get("no URL")) else {
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
    guard case .got(let id, let reply) = try client.next() else {
      Issue.record("no answer came")
      return
    }
    #expect(id == RequestID(rawValue: 1))
    #expect(reply.outcome == .cancelled)
    #expect(parts.scheduler.state.viewerCount == 1)
  }

  @Test func `the viewers of a client that leaves, leave with it`() throws {
    do {
      let other = try parts.greetedClient()
      try other.send(
        .get(
          other.newRequest(),
          GetRequest(url: "http://h/1", options: RequestOptions(variant: .standard))))
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
      guard case .waiting(let id, _) = try client.next() else { return RequestID(rawValue: 0) }
      return id
    }
    #expect(Set(waiting) == [RequestID(rawValue: 1), RequestID(rawValue: 2)])
  }

  // MARK: - Detaching

  private static let picture = Thumbnail(format: .jpeg, width: 10, height: 10, byteCount: 1)

  private func detach(_ number: UInt64) throws {
    try client.send(.detach(RequestID(rawValue: number)))
  }

  private func arrive(_ requests: ClientMessage...) throws {
    let count = parts.scheduler.state.viewerCount + requests.count
    for request in requests { try client.send(request) }
    while parts.scheduler.state.viewerCount < count { try parts.round() }
  }

  private func nextEnd() throws -> (id: RequestID, outcome: Outcome)? {
    if case .got(let id, let reply) = try client.next() { (id, reply.outcome) } else { nil }
  }

  @Test func `a request that its client detaches from ends as cancelled, and no other`() throws {
    try arrive(get("http://h/1"), get("http://h/1"))
    try detach(1)
    let end = try nextEnd()
    #expect(end?.id.rawValue == 1)
    #expect(end?.outcome == .cancelled)
    #expect(parts.scheduler.state.viewerCount == 1)
  }

  @Test func `detaching from a request that has ended, or never was, has no answer`() throws {
    try arrive(get("http://h/1"))
    #expect(try client.ask(get("no URL")) != nil)
    try detach(2)
    try detach(99)
    #expect(try client.ask(get("no URL either")) != nil)
    #expect(parts.scheduler.state.viewerCount == 1)
    try detach(1)
    try detach(1)
    #expect(try nextEnd()?.outcome == .cancelled)
    try client.send(get("not a URL"))
    #expect(try nextEnd()?.id.rawValue == 4, "the second detach is not answered")
  }

  @Test func `an upload that its client detaches from is released`() throws {
    let upload = UploadRequest(url: nil, byteCount: 1, options: RequestOptions(variant: .standard))
    try client.send(.upload(client.newRequest(), upload), with: MemoryFile(containing: [1]).file)
    while parts.scheduler.state.viewerCount == 0 { try parts.round() }
    #expect(parts.files.count == 1)
    try detach(1)
    #expect(try nextEnd()?.outcome == .cancelled)
    #expect(parts.files.count == 0)
  }

  @Test func `a preview that waits is dropped when the client detaches`() throws {
    try arrive(get("http://h/1"))
    show(try MemoryFile(containing: [1]).file)
    weak var waiting: PassedFile?
    do {
      let file = try MemoryFile(containing: [2]).file
      show(file)
      waiting = file
    }
    #expect(waiting != nil)
    try detach(1)
    guard case .preview = try client.next() else {
      Issue.record("the first preview was not sent")
      return
    }
    #expect(try nextEnd()?.outcome == .cancelled)
    #expect(waiting == nil)
  }

  /// Shows the only viewer a preview.
  private func show(_ file: PassedFile) {
    let id = parts.files.add(file)
    parts.requests.viewers.show(id, Self.picture, to: ViewerID(rawValue: 1))
    parts.files.release(id)
    parts.performEffects()
  }

  @Test func `a viewer's name has at most 200 bytes`() throws {
    let reply = try client.ask(get("http://h/1", viewer: String(repeating: "x", count: 201)))
    #expect(reply?.refusal?.message == "a viewer's name has at most 200 bytes")
  }
}

@Suite struct RequesterTableTests {
  private func requester(_ client: ClientID, _ request: RequestID) -> Requester {
    Requester(client: client, request: request)
  }

  @Test func `each request has a viewer of its own, numbered in the order of arrival`() {
    var table = RequesterTable()
    let first = table.add(requester(1, 1))
    let second = table.add(requester(2, 1))
    #expect(first < second)
    #expect(table[second] == requester(2, 1))
  }

  @Test func `a viewer is removed once, and its identifier is not used again`() {
    var table = RequesterTable()
    let viewer = table.add(requester(1, 1))
    #expect(table.remove(viewer) == requester(1, 1))
    #expect(table.remove(viewer) == nil)
    #expect(table[viewer] == nil)
    #expect(table.add(requester(1, 1)) != viewer)
  }
}

/// Previews on their way to a client.
struct PreviewMailboxTests {
  private func thumbnail(_ byteCount: Int) -> Thumbnail {
    Thumbnail(format: .jpeg, width: 10, height: 10, byteCount: byteCount)
  }

  private func file() throws -> PassedFile { try MemoryFile(containing: [1]).file }

  @Test func `a client that keeps up gets each preview, numbered from 1`() throws {
    var mailbox = PreviewMailbox()
    for number in 1...3 {
      let sent = try mailbox.add(thumbnail(number), file())
      #expect(sent?.number == number)
      #expect(sent?.thumbnail == thumbnail(number))
      #expect(mailbox.requestNext() == nil)
    }
  }

  @Test func `a slow client gets the newest preview, and none of those before it`() throws {
    var mailbox = PreviewMailbox()
    _ = try mailbox.add(thumbnail(1), file())
    for number in 2...50 {
      #expect(try mailbox.add(thumbnail(number), file()) == nil)
      #expect(mailbox.isAnyWaiting)
    }
    let next = mailbox.requestNext()
    #expect(next?.number == 2)
    #expect(next?.thumbnail == thumbnail(50))
    #expect(!mailbox.isAnyWaiting)
  }
}
