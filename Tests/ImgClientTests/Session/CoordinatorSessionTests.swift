import ImgModel
import ImgSystem
import ImgWire
import Synchronization
import TestCluster
import TestFiles
import Testing

@testable import ImgClient

/// Sessions with coordinators that behave as a test says.
@Suite(.timeLimit(.minutes(20)))
struct CoordinatorSessionTests {
  /// The sockets that a session connects to, one after the other.
  private final class Route: Sendable {
    private let left: Mutex<[String]>

    init(_ paths: [String]) {
      left = Mutex(paths)
    }

    func connect() throws(ClientError) -> CoordinatorConnection {
      let path = left.withLock { $0.isEmpty ? nil : $0.removeFirst() }
      guard let path else { throw .notStarted(reason: "the test has no further coordinator") }
      return try CoordinatorConnection(socketPath: path)
    }

    var leftCount: Int { left.withLock { $0.count } }
  }

  private let directory: TestDirectory

  init() throws {
    directory = try TestDirectory()
  }

  private func session(
    over names: [String], patience: Duration = SilenceWatch.standardPatience
  ) throws -> (CoordinatorSession, Route) {
    let route = Route(names.map(directory.file))
    let session = try CoordinatorSession(patience: patience) { () throws(ClientError) in
      try route.connect()
    }
    return (session, route)
  }

  private func question(isRepeatable: Bool = true) -> SessionCall {
    SessionCall(isRepeatable: isRepeatable, request: { .sweep(PlainRequest(id: $0)) })
  }

  /// Answers every question.
  private func coordinator(_ name: String) throws -> ScriptedCoordinator {
    try ScriptedCoordinator(socketPath: directory.file(name)) { request in
      switch request {
      case .sweep(let request): [.sweeping(request)]
      default: []
      }
    }
  }

  @Test func `a coordinator that no longer answers is given up for the next one`() async throws {
    let silent = try ScriptedCoordinator(socketPath: directory.file("silent")) { _ in [] }
    let next = try coordinator("next")
    let (session, route) = try session(over: ["silent", "next"], patience: .seconds(1))
    _ = try await session.answer(to: question())
    #expect(route.leftCount == 0)
    #expect(
      silent.requests().contains { if case .status = $0 { true } else { false } },
      "it is asked before it is given up")
    withExtendedLifetime(next) {}
  }

  @Test func `a call that a stopping coordinator refuses is answered by the next one`() async throws
  {
    let stopping = try ScriptedCoordinator(socketPath: directory.file("stopping")) { request in
      guard case .sweep(let request) = request else { return [] }
      return [
        .refused(RequestRefusal(id: request.id, code: .stopping, message: "stopping")), nil,
      ]
    }
    let next = try coordinator("next")
    let (session, _) = try session(over: ["stopping", "next"])
    let reply = try await session.answer(to: question())
    guard case .sweeping = reply.message else {
      Issue.record("\(reply.message)")
      return
    }
    #expect(stopping.requests().count == 1)
    withExtendedLifetime(next) {}
  }

  @Test func `a call that must not be repeated is not sent to the next coordinator`() async throws {
    let lost = try ScriptedCoordinator(socketPath: directory.file("lost")) { _ in [nil] }
    let (session, route) = try session(over: ["lost", "next"])
    let question = question(isRepeatable: false)
    let error = await #expect(throws: SessionError.self) { try await session.answer(to: question) }
    guard case .client(.connection) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(route.leftCount == 1)
    #expect(lost.requests().count == 1)
  }

  @Test func `a call ends at its deadline, and the coordinator is told`() async throws {
    // It closes the connection when it is told.
    let silent = try ScriptedCoordinator(socketPath: directory.file("silent")) { request in
      if case .detach = request { [nil] } else { [] }
    }
    let (session, _) = try session(over: ["silent"])
    let call = SessionCall(
      request: { .sweep(PlainRequest(id: $0)) }, detachment: { .detach(PlainRequest(id: $0)) })
    let deadline = ContinuousClock.now + .milliseconds(100)
    let error = await #expect(throws: SessionError.self) {
      try await session.answer(to: call, until: deadline)
    }
    guard case .timedOut = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(ContinuousClock.now >= deadline)
    #expect(silent.requests().contains { if case .detach = $0 { true } else { false } })
    withExtendedLifetime(session) {}
  }

  @Test func `a call that ended before its task waits is not sent`() async throws {
    let next = try coordinator("next")
    var session: CoordinatorSession? = try session(over: ["next"]).0
    let call = question()
    call.end(.failure(.timedOut))
    let error = await #expect(throws: SessionError.self) { try await session?.answer(to: call) }
    guard case .timedOut = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    _ = try await session?.answer(to: question())
    session = nil
    #expect(next.requests().count == 1)
  }

  @Test func `a listener that accepts nobody is an error in the end`() throws {
    let path = directory.file("full")
    let listener = try UnixListener(path: path)
    var queued: [PassedFile] = []
    // Until the backlog is full.
    while let socket = try? UnixSocket.connect(path: path, until: .now) {
      queued.append(PassedFile(adopting: socket))
    }
    #expect(throws: SystemError.self) { _ = try UnixSocket.connect(path: path, until: .now) }
    #expect(!queued.isEmpty)
    withExtendedLifetime(listener.descriptor) {}
  }
}
