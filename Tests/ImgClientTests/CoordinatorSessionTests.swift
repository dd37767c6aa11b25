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

    func connect() throws(ClientError) -> Client {
      let path = left.withLock { $0.isEmpty ? nil : $0.removeFirst() }
      guard let path else { throw .notStarted(reason: "the test has no further coordinator") }
      return try Client(socketPath: path)
    }

    var leftCount: Int { left.withLock { $0.count } }
  }

  private let directory = TestDirectory()

  private func session(
    over names: [String], patience: Duration = SilenceWatch.standardPatience
  ) throws -> (CoordinatorSession, Route) {
    let route = Route(names.map(directory.file))
    let session = try CoordinatorSession(patience: patience) { () throws(ClientError) in
      try route.connect()
    }
    return (session, route)
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
    try await session.answer(.sweep)
    #expect(route.leftCount == 0)
    #expect(
      silent.requests().contains { if case .status = $0 { true } else { false } },
      "it is asked before it is given up")
    withExtendedLifetime(next) {}
  }

  @Test func `a call that a stopping coordinator refuses is answered by the next`() async throws {
    let stopping = try ScriptedCoordinator(socketPath: directory.file("stopping")) { request in
      guard case .sweep(let id) = request else { return [] }
      return [.refused(id, .stopping, message: "stopping"), nil]
    }
    let next = try coordinator("next")
    let (session, _) = try session(over: ["stopping", "next"])
    try await session.answer(.sweep)
    #expect(stopping.requests().count == 1)
    withExtendedLifetime(next) {}
  }

  @Test func `what was read for a lost coordinator is not brought to the next`() async throws {
    let file = WantedFile(url: "file:///a.jpg#imgctl-1", maximumByteCount: 1)
    let first = try ScriptedCoordinator(socketPath: directory.file("first")) { request in
      guard case .readFiles(let id, _) = request else { return [] }
      return [.fetch(id, FetchWanted(limit: .seconds(60), file: file)), nil]
    }
    let reading = Mutex<RequestID?>(nil)
    let sweeps = Atomic(0)
    let (asked, ask) = AsyncStream.makeStream(of: Void.self)
    let next = try ScriptedCoordinator(socketPath: directory.file("next")) { request in
      switch request {
      case .readFiles(let id, _):
        reading.withLock { $0 = id }
        ask.finish()
        return []
      case .sweep(let id):
        guard sweeps.wrappingAdd(1, ordering: .relaxed).newValue == 3 else {
          return [.sweeping(id)]
        }
        return [.sweeping(id), reading.withLock { $0 }.map { .filesRead($0) }, nil]
      default: return []
      }
    }
    let (session, _) = try session(over: ["first", "next"])
    let (brought, bring) = AsyncStream.makeStream(of: Void.self)
    async let end: Void = try session.answer(
      .readFiles(of: JobID(rawValue: 1)),
      fetchingBy: { _ in
        for await _ in asked {}
        bring.finish()
        return .failed(Failure(stage: .fetch, code: .unreadableFile, detail: "gone"))
      })
    for await _ in brought {}
    for _ in 1...3 { try await session.answer(.sweep) }
    try await end
    withExtendedLifetime(session) {}
    #expect(first.requests().count == 1)
    let brings = next.requests().filter { if case .fetchFailed = $0 { true } else { false } }
    #expect(brings == [])
  }

  @Test func `a call ends at its deadline, and the coordinator is told`() async throws {
    // It closes the connection when it is told.
    let silent = try ScriptedCoordinator(socketPath: directory.file("silent")) { request in
      if case .detach = request { [nil] } else { [] }
    }
    let (session, _) = try session(over: ["silent"])
    // Late enough for the call to be sent before, on a machine that is busy.
    let deadline = ContinuousClock.now + .seconds(2)
    let error = await #expect(throws: SessionError.self) {
      try await session.answer(.watch(JobID(rawValue: 1)), until: deadline)
    }
    guard case .timedOut = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(ContinuousClock.now >= deadline)
    #expect(silent.requests().contains { if case .detach = $0 { true } else { false } })
    withExtendedLifetime(session) {}
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

struct CallTableTests {
  private var table = CallTable()
  private var lastNumber: UInt64 = 0

  private static func call(isRepeatable: Bool = true) -> SessionCall {
    SessionCall(Exchange(isRepeatable: isRepeatable) { .status($0) })
  }

  private static func load(from host: String, priority: Int = 0) -> SessionCall {
    var exchange = CoordinatorRequest.status.exchange
    exchange.turn = .load(host: host, priority: priority)
    return SessionCall(exchange)
  }

  /// Sends what may be sent.
  private mutating func sendAll() -> [SessionCall] {
    var sent: [SessionCall] = []
    var number = lastNumber
    while let next = table.takeNext(as: {
      number += 1
      return RequestID(rawValue: number)
    }) {
      sent.append(next.call)
      #expect(table.call(of: next.number) === next.call)
      #expect(table.number(of: next.call) == next.number)
    }
    lastNumber = number
    return sent
  }

  private func isSame(_ left: [SessionCall], _ right: [SessionCall]) -> Bool {
    left.map(ObjectIdentifier.init) == right.map(ObjectIdentifier.init)
  }

  @Test mutating func `calls are sent in their order, a thousand at a time`() {
    let calls = (0..<2_500).map { _ in Self.call() }
    calls.forEach { table.add($0) }
    #expect(isSame(sendAll(), Array(calls[..<1_000])))
    #expect(sendAll().isEmpty)
    for number in 1...700 { table.remove(RequestID(rawValue: UInt64(number))) }
    #expect(isSame(sendAll(), Array(calls[1_000..<1_700])))
    for number in 701...1_700 { table.remove(RequestID(rawValue: UInt64(number))) }
    #expect(isSame(sendAll(), Array(calls[1_700...])))
    #expect(!table.isAnyWaiting)
  }

  @Test mutating func `a call that has ended is not sent`() {
    let calls = (0..<3).map { _ in Self.call() }
    calls.forEach { table.add($0) }
    calls[1].end(.failure(.cancelled))
    #expect(isSame(sendAll(), [calls[0], calls[2]]))
  }

  @Test mutating func `calls that ended do not wait, nor keep their memory`() {
    let calls = (0..<1_000).map { _ in Self.call() }
    calls.forEach { table.add($0) }
    weak var ended: SessionCall?
    do {
      let call = Self.call()
      ended = call
      table.add(call)
      call.end(.failure(.cancelled))
      table.callEnded()
    }
    for call in calls {
      call.end(.failure(.cancelled))
      table.callEnded()
    }
    #expect(!table.isAnyWaiting)
    #expect(ended == nil)
  }

  @Test mutating func `after a lost connection, calls without an answer come before the others`() {
    let calls = (0..<1_002).map { _ in Self.call() }
    calls.forEach { table.add($0) }
    _ = sendAll()
    table.remove(RequestID(rawValue: 2))
    calls[2].end(.failure(.cancelled))
    #expect(table.requeueSent().isEmpty)
    #expect(table.number(of: calls[0]) == nil)
    #expect(isSame(sendAll(), [calls[0]] + calls[3...]))
  }

  @Test mutating func `a call is sent three times at most`() {
    let call = Self.call()
    table.add(call)
    for _ in 0..<2 {
      _ = sendAll()
      #expect(table.requeueSent().isEmpty)
    }
    _ = sendAll()
    #expect(isSame(table.requeueSent(), [call]))
    #expect(!table.isAnyWaiting)
  }

  @Test mutating func `a call that is answered in part is sent again after each lost connection`() {
    let call = Self.call()
    table.add(call)
    for _ in 0..<10 {
      #expect(isSame(sendAll(), [call]))
      table.forgiveSends(of: RequestID(rawValue: lastNumber))
      #expect(table.requeueSent().isEmpty)
    }
  }

  @Test mutating func `a call that may not be repeated is not sent again`() {
    let calls = [Self.call(isRepeatable: false), Self.call(isRepeatable: false)]
    table.add(calls[0])
    _ = sendAll()
    table.add(calls[1])
    #expect(isSame(table.requeueSent(), [calls[0]]))
    #expect(isSame(sendAll(), [calls[1]]))
  }

  @Test mutating func `a host takes so many places at most, and the loads of others go on`() {
    let slow = (0..<300).map { _ in Self.load(from: "slow") }
    let fast = (0..<3).map { _ in Self.load(from: "fast") }
    (slow + fast).forEach { table.add($0) }
    let first = sendAll()
    #expect(first.count == CallTable.maximumCountPerHost + 3)
    #expect(fast.allSatisfy { call in first.contains { $0 === call } })
    #expect(sendAll().isEmpty)
    table.remove(RequestID(rawValue: 1))
    #expect(isSame(sendAll(), [slow[CallTable.maximumCountPerHost]]))
  }

  @Test mutating func `hosts take turns, and the loads of one go in their order`() {
    let loads = ["a", "a", "a", "b", "c", "c"].map { Self.load(from: $0) }
    loads.forEach { table.add($0) }
    #expect(isSame(sendAll(), [0, 3, 4, 1, 5, 2].map { loads[$0] }))
  }

  @Test mutating func `loads of a higher priority are sent first`() {
    let loads = [0, -1, 2, 0, 1].map { Self.load(from: "a", priority: $0) }
    loads.forEach { table.add($0) }
    #expect(isSame(sendAll(), [2, 4, 0, 3, 1].map { loads[$0] }))
  }

  @Test mutating func `loads leave places for questions, which are sent first`() {
    let loads = (0..<1_000).map { Self.load(from: "\($0)") }
    loads.forEach { table.add($0) }
    #expect(sendAll().count == CallTable.maximumLoadCount)
    let questions = (0..<200).map { _ in Self.call() }
    questions.forEach { table.add($0) }
    let places = CallTable.maximumSentCount - CallTable.maximumLoadCount
    #expect(isSame(sendAll(), Array(questions[..<places])))
  }

  @Test mutating func `an answer makes room for the next load, also after a lost connection`() {
    let loads = (0..<2 * CallTable.maximumCountPerHost).map { _ in Self.load(from: "a") }
    loads.forEach { table.add($0) }
    _ = sendAll()
    #expect(table.requeueSent().isEmpty)
    #expect(isSame(sendAll(), Array(loads[..<CallTable.maximumCountPerHost])))
  }

  @Test mutating func `a call whose coordinator leaves is sent again, three times at most`() {
    let call = Self.call()
    table.add(call)
    for time in 1...CallTable.maximumSendCount {
      _ = sendAll()
      #expect(table.requeue(RequestID(rawValue: lastNumber)) == (time < CallTable.maximumSendCount))
    }
    #expect(!table.isAnyWaiting)
    #expect(!table.isAnySent)
  }

  @Test mutating func `all calls are found at the end`() {
    let calls = (0..<1_200).map { _ in Self.call() }
    calls.forEach { table.add($0) }
    _ = sendAll()
    let removed = Set(table.removeAll().map(ObjectIdentifier.init))
    #expect(removed == Set(calls.map(ObjectIdentifier.init)))
    #expect(table.removeAll().isEmpty)
  }
}

struct SilenceWatchTests {
  private let start = ContinuousClock.now

  @Test func `a coordinator that says nothing is asked once, and then given up`() {
    var watch = SilenceWatch(at: start, patience: .seconds(30))
    #expect(watch.look(at: start + .seconds(29)) == .nothing)
    #expect(watch.deadline == start + .seconds(30))
    #expect(watch.look(at: start + .seconds(30)) == .isSilent)
    #expect(watch.look(at: start + .seconds(31)) == .nothing)
    #expect(watch.deadline == start + .seconds(60))
    #expect(watch.look(at: start + .seconds(60)) == .isLost)
  }

  @Test func `a word begins the time from the start`() {
    var watch = SilenceWatch(at: start, patience: .seconds(30))
    _ = watch.look(at: start + .seconds(30))
    watch.heard(at: start + .seconds(31))
    #expect(watch.look(at: start + .seconds(60)) == .nothing)
    #expect(watch.look(at: start + .seconds(61)) == .isSilent)
  }
}
