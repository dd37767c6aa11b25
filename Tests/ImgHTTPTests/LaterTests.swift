import Dispatch
import Glibc
import ImgHTTP
import Synchronization
import TestHTTP
import Testing

/// Answers that tasks prepare while their connections wait.
@Suite(.timeLimit(.minutes(1)))
struct LaterTests {
  private static let request = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"

  @Test(arguments: [HTTPAnswer.Executor.concurrent, .connection])
  func `an answer that comes later`(executor: HTTPAnswer.Executor) async throws {
    try await withServer { request in
      .later(executor) {
        await Task.yield()
        return .text("later \(request.target)")
      }
    } _: { server in
      var client = try RawClient(to: server.address)
      for index in 0..<3 {
        try client.send("GET /\(index) HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await client.receive().text == "later /\(index)")
      }
    }
  }

  @Test func `a later answer on the thread of its connection may need no wait`() async throws {
    try await withServer { _ in
      let thread = pthread_self()
      return .later(.connection) {
        .text(pthread_self() == thread ? "same thread" : "other thread")
      }
    } _: { server in
      var client = try RawClient(to: server.address)
      for _ in 0..<3 {
        try client.send(Self.request)
        #expect(try await client.receive().text == "same thread")
      }
      #expect(server.statistics.waitingRequests == 0)
    }
  }

  @Test func `a task on the thread of its connection goes on there after a wait`() async throws {
    let gate = Gate()
    try await withServer {
      $0.threadCount = 1
    } respond: { request in
      guard request.target == "/a" else {
        gate.open()
        return .response(.text("open"))
      }
      let thread = pthread_self()
      return .later(.connection) {
        await gate.wait()
        return .text(pthread_self() == thread ? "same thread" : "other thread")
      }
    } _: { server in
      var client = try RawClient(to: server.address, sending: Self.request)
      try await until { server.statistics.waitingRequests == 1 }
      // The only thread answers the next request after the first one waits.
      var other = try RawClient(to: server.address, sending: "GET /b HTTP/1.1\r\nHost: x\r\n\r\n")
      #expect(try await other.receive().text == "open")
      #expect(try await client.receive().text == "same thread")
    }
  }

  @Test func `a task goes on when the thread of its connection has ended`() async throws {
    let gate = Gate()
    let ended = Gate()
    try await withServer { _ in
      .later(.connection) {
        await gate.wait()
        ended.open()
        return .text("late")
      }
    } _: { server in
      var client = try RawClient(to: server.address, sending: Self.request)
      try await until { server.statistics.waitingRequests == 1 }
      await server.stop()
      #expect(try await client.receiveRest() == [])
      gate.open()
      await ended.wait()
    }
  }

  @Test(arguments: [4, 32])
  func `tasks amid their work go on when their thread ends`(count: Int) async throws {
    let hasStopped = Atomic(false)
    let endedCount = Atomic(0)
    try await withServer {
      $0.threadCount = 1
    } respond: { _ in
      .later(.connection) {
        while !hasStopped.load(ordering: .relaxed) { await Task.yield() }
        endedCount.add(1, ordering: .relaxed)
        return .text("late")
      }
    } _: { server in
      let clients = try (0..<count).map { _ in try Client(to: server.address) }
      for client in clients { try client.socket.send(Self.request) }
      try await until { server.statistics.waitingRequests == count }
      await server.stop()
      hasStopped.store(true, ordering: .relaxed)
      try await until { endedCount.load(ordering: .relaxed) == count }
    }
  }

  @Test func `a request does not wait until many tasks have had their turn`() async throws {
    let count = 64
    let gate = Gate()
    let endedCount = Atomic(0)
    let opened = Gate()
    let sent = DispatchSemaphore(value: 0)
    try await withServer {
      $0.threadCount = 1
    } respond: { request in
      switch request.target {
      case "/wait":
        return .later(.connection) {
          await gate.wait()
          endedCount.add(1, ordering: .relaxed)
          return .text("ended")
        }
      case "/open":
        // The thread finds all tasks and the next request ready when this returns.
        gate.open()
        opened.open()
        let hasArrived = sent.wait(timeout: .now() + 20) == .success
        return .response(.text(hasArrived ? "open" : "too late"))
      default:
        return .response(.text("\(endedCount.load(ordering: .relaxed))"))
      }
    } _: { server in
      let clients = try (0..<count).map { _ in try Client(to: server.address) }
      for client in clients {
        try client.socket.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
      }
      try await until { server.statistics.waitingRequests == count }
      var client = try RawClient(to: server.address)
      var other = try RawClient(to: server.address)
      // Its connection is known to the thread from now on.
      try other.send("GET /early HTTP/1.1\r\nHost: x\r\n\r\n")
      #expect(try await other.receive().text == "0")
      try client.send("GET /open HTTP/1.1\r\nHost: x\r\n\r\n")
      await opened.wait()
      try other.send("GET /late HTTP/1.1\r\nHost: x\r\n\r\n")
      sent.signal()
      #expect(try await client.receive().text == "open")
      let before = try #require(Int(try await other.receive().text))
      #expect(before < count)
      for client in clients { #expect(try await client.socket.receive().text == "ended") }
    }
  }

  @Test func `requests behind one that waits are answered after it`() async throws {
    let gate = Gate()
    try await withServer { request in
      request.target == "/a" ? later(gate) : .response(.text("at once"))
    } _: { server in
      var client = try RawClient(to: server.address)
      try client.send(Self.request + "GET /b HTTP/1.1\r\nHost: x\r\n\r\n")
      var other = try RawClient(to: server.address, sending: "GET /b HTTP/1.1\r\nHost: x\r\n\r\n")
      #expect(try await other.receive().text == "at once")
      gate.open()
      #expect(try await client.receive().text == "open")
      #expect(try await client.receive().text == "at once")
    }
  }

  @Test(
    arguments: [true, false], [HTTPAnswer.Executor.concurrent, .connection])
  func `a client that leaves cancels the task`(
    onlySending: Bool, executor: HTTPAnswer.Executor
  ) async throws {
    let started = Gate()
    let cancelled = Gate()
    try await withServer { _ in
      .later(executor) {
        started.open()
        await Gate().wait(orCancelled: cancelled)
        return .text("late")
      }
    } _: { server in
      do {
        let client = try RawClient(to: server.address)
        try client.send(Self.request)
        await started.wait()
        if onlySending {
          client.endSending()
          await cancelled.wait()
        }
      }
      await cancelled.wait()
    }
  }

  @Test func `requests above the limit of waiting ones get 503`() async throws {
    let gate = Gate()
    try await withServer {
      $0.limits.waitingRequests = 2
    } respond: { _ in
      later(gate)
    } _: { server in
      var clients = try (0..<2).map { _ in try Client(to: server.address) }
      for client in clients { try client.socket.send(Self.request) }
      try await until { server.statistics.waitingRequests == 2 }
      var refused = try RawClient(to: server.address, sending: Self.request)
      let response = try await refused.receive()
      #expect(response.status == 503)
      #expect(response["Retry-After"] == "1")
      gate.open()
      for client in clients { #expect(try await client.socket.receive().status == 200) }
      clients = []
      try refused.send(Self.request)
      #expect(try await refused.receive().status == 200)
    }
  }

  @Test func `the handler records each response, also a refusal of the server`() async throws {
    let gate = Gate()
    let handler = RecordingHandler(gate: gate)
    var configuration = HTTPServer.Configuration(listener: .tcp(host: "127.0.0.1", port: 0))
    configuration.limits.waitingRequests = 1
    let server = try HTTPServer(configuration, handler: handler)
    var first = try RawClient(to: server.address, sending: Self.request)
    try await until { server.statistics.waitingRequests == 1 }
    var second = try RawClient(to: server.address)
    try second.send("GET /b HTTP/1.1\r\nHost: x\r\n\r\nGET /c HTTP/1.1\r\n\r\n")
    #expect(try await second.receive().status == 503)
    #expect(try await second.receive().status == 400)
    gate.open()
    #expect(try await first.receive().status == 200)
    #expect(handler.records.withLock { $0 } == ["503 /b", "400 nil", "200 /a"])
    await server.stop()
  }

  private final class RecordingHandler: HTTPHandler {
    let records = Mutex<[String]>([])
    private let gate: Gate

    init(gate: Gate) {
      self.gate = gate
    }

    func answer(to request: HTTPRequest) -> HTTPAnswer {
      .later { [gate] in
        await gate.wait()
        return .text("open")
      }
    }

    func record(_ status: HTTPStatus, to request: HTTPRequest?, after duration: Duration) {
      records.withLock { $0.append("\(status.rawValue) \(request?.target ?? "nil")") }
    }
  }

  @Test func `a stop lets requests under way finish`() async throws {
    let gate = Gate()
    try await withServer { _ in
      later(gate)
    } _: { server in
      var client = try RawClient(to: server.address)
      var idle = try RawClient(to: server.address)
      try client.send(Self.request)
      try await until { server.statistics.waitingRequests == 1 }
      async let stop: Void = server.stop(drainingFor: .seconds(60))
      #expect(try await idle.receiveRest() == [])
      #expect(throws: RawClient.Failure.self) { _ = try RawClient(to: server.address) }
      gate.open()
      let response = try await client.receive()
      #expect(response.text == "open")
      #expect(response["Connection"] == "close")
      #expect(try await client.receiveRest() == [])
      await stop
    }
  }

  @Test func `a stop cancels tasks at its deadline`() async throws {
    let cancelled = Gate()
    try await withServer { _ in
      .later {
        await Gate().wait(orCancelled: cancelled)
        return .text("late")
      }
    } _: { server in
      var client = try RawClient(to: server.address, sending: Self.request)
      try await until { server.statistics.waitingRequests == 1 }
      await server.stop()
      await cancelled.wait()
      #expect(try await client.receiveRest() == [])
    }
  }

  private func later(_ gate: Gate) -> HTTPAnswer {
    .later {
      await gate.wait()
      return .text("open")
    }
  }
}
