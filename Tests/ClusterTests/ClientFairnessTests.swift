import ImgClient
import ImgModel
import ImgSystem
import ImgTransport
import ImgWire
import TestCluster
import TestOrigin
import Testing

/// Many clients, and clients that ask for more than they read: each has its turn, and all of them
/// together cost the coordinator a bounded amount of memory.
@Suite(.timeLimit(.minutes(20)))
struct ClientFairnessTests {
  private static let request = RequestID(rawValue: 1)

  /// The frames of a greeting and of requests for a job's results.
  private func frames(asking job: JobID, times count: Int) throws -> [UInt8] {
    let requests = (1...count).map { number in
      ClientMessage.results(
        ResultsRequest(
          id: RequestID(rawValue: UInt64(number)), job: job, from: 0, isFailedOnly: false))
    }
    return try ([.hello(Hello(processID: ThisProcess.processID))] + requests)
      .flatMap(WireCoding.frame)
  }

  /// A job of long lines that fail at once.
  private func job(of cluster: Cluster, lines: Int, ofByteCount byteCount: Int) throws -> JobID {
    let line = "gopher://\(String(repeating: "a", count: byteCount))"
    let status = try cluster.run((0..<lines).map { "\(line)\($0)" })
    #expect(status.failed == lines)
    return status.job
  }

  private func connect(to cluster: Cluster, sending bytes: [UInt8]) throws -> ClientChannel {
    let socket = try UnixSocket.connect(path: cluster.socketPath)
    var rest = bytes[...]
    while !rest.isEmpty {
      rest = rest.dropFirst(try UnixSocket.send(socket.rawValue, rest) ?? 0)
    }
    return try ClientChannel(socket)
  }

  @Test func `a client with a thousand requests does not delay another`() throws {
    let cluster = try Cluster()
    let count = 1_000
    let job = try job(of: cluster, lines: 1, ofByteCount: 3_000)
    let last = RequestID(rawValue: UInt64(count + 1))
    let busy = try connect(
      to: cluster,
      sending: frames(asking: job, times: count)
        + WireCoding.frame(ClientMessage.status(PlainRequest(id: last))))
    // Served before the last of those requests, which shows what it has changed.
    _ = try cluster.client().limit(LimitChange(transfers: 7))
    guard case .hello = try busy.nextInTime() else {
      Issue.record("the answer to a hello is a hello")
      return
    }
    for number in 1...count {
      guard case .results(let page) = try busy.nextInTime() else {
        Issue.record("request \(number) is answered in its order")
        return
      }
      #expect(page.id == RequestID(rawValue: UInt64(number)))
    }
    guard case .status(let reply) = try busy.nextInTime() else {
      Issue.record("the last request is answered")
      return
    }
    #expect(reply.cluster.limits.transfers == 7)
  }

  @Test func `unread replies take bounded memory`() throws {
    let cluster = try Cluster()
    let origin = try ListOrigin()
    let job = try job(of: cluster, lines: 12, ofByteCount: 8_000)
    let count = 80
    let bytes = try frames(asking: job, times: count)
    let deaf = try (0..<60).map { _ in try connect(to: cluster, sending: bytes) }
    #expect(try cluster.run(origin.pictures(3)).done == 3)
    let peak = try #require(peakByteCount(of: try cluster.runningCoordinator().processID))
    #expect(peak < 120 << 20)
    for _ in 0...count { _ = try deaf[0].nextInTime() }
  }

  @Test func `half-sent requests of all clients take bounded memory`() throws {
    let cluster = try Cluster()
    let origin = try ListOrigin()
    let bytes = [0, 0x10, 0, 0] + [UInt8](repeating: 0x20, count: 900 << 10)
    // Those that are closed meanwhile cannot send all of it.
    let halves = (0..<200).compactMap { _ in try? connect(to: cluster, sending: bytes) }
    #expect(!halves.isEmpty)
    #expect(try cluster.run(origin.pictures(3)).done == 3)
    let coordinator = try cluster.runningCoordinator()
    #expect(try coordinator.messages().contains("all clients together hold too much memory"))
    let peak = try #require(peakByteCount(of: coordinator.processID))
    #expect(peak < 130 << 20)
  }

  @Test func `a client without hello or with a half-sent request is closed after the timeout`()
    throws
  {
    let cluster = try Cluster(["CLIENT_TIMEOUT": "2s"])
    let origin = try ListOrigin()
    try origin.hold("/held")
    let job = try cluster.submit([origin.url("/held")])
    let idle = try cluster.greetedChannel()
    let watching = try cluster.greetedChannel()
    try watching.sendWhole(.job(JobRequest(id: Self.request, job: job, isWatching: true)))
    let silent = try cluster.connect()
    let hello = try frames(asking: job, times: 1)
    let halves = try (0..<300).map { _ in
      try connect(to: cluster, sending: hello.dropLast())
    }
    try expectClosed(silent, because: "it did not greet within 2s")
    for half in halves {
      _ = try half.nextInTime()
      try expectClosed(half, because: "it did not send the rest of a request within 2s")
    }
    try idle.sendWhole(.status(PlainRequest(id: Self.request)))
    guard case .status = try idle.nextInTime() else {
      Issue.record("an idle client is served")
      return
    }
    origin.origin.release("/held")
    while case .job(let reply) = try watching.nextInTime(), !reply.status.hasEnded {}
  }

  @Test func `a client beyond the limit is refused with the number of clients`() throws {
    let cluster = try Cluster(["CLIENTS": "2"])
    var channels = [try cluster.greetedChannel(), try cluster.greetedChannel()]
    for _ in 0..<20 {
      let result = try cluster.imgctl("list")
      #expect(result.exitCode == 3)
      #expect(
        result.messages
          == "imgctl: 2 clients are connected already; close some, or allow more: imgctl stop, "
          + "then imgctl start --clients N\n")
    }
    channels.removeLast()
    #expect(try eventually { try cluster.imgctl("list").exitCode == 0 })
  }

  @Test func `a new client replaces an idle one when all connections are in use`() throws {
    let cluster = try Cluster(["CLIENTS": "1", "CLIENT_TIMEOUT": "1s"])
    let idle = try cluster.greetedChannel()
    #expect(try eventually { try cluster.imgctl("list").exitCode == 0 })
    try expectClosed(idle, because: "it was idle, and another client needs its place")
  }

  private func expectClosed(_ channel: ClientChannel, because reason: String) throws {
    guard case .refused(let refusal) = try channel.nextInTime() else {
      Issue.record("a client is told why it is closed")
      return
    }
    #expect(refusal.message.contains(reason))
    #expect(refusal.id == RequestRefusal.wholeConnection)
    #expect {
      try channel.nextInTime()
    } throws: {
      if case ChannelError.closed = $0 { true } else { false }
    }
  }
}
