import ImgClient
import ImgModel
import ImgSystem
import ImgWire
import TestCluster
import TestOrigin
import TestPictures
import Testing

/// Clients that break the protocol are closed with a reason, and other clients do not notice.
@Suite(.timeLimit(.minutes(20))) struct HostileClientTests {
  private let cluster: Cluster
  private let origin = ListOrigin()

  init() throws {
    cluster = try Cluster(Cluster.inspectable)
  }

  @Test func `invalid messages close their connection with the reason, and no other`() throws {
    origin.hold("/held")
    let job = try cluster.submit([origin.url("/held")] + origin.pictures(10))
    let frames: [(bytes: [UInt8], reason: String)] = [
      // A length of 2³¹, and one of 0.
      ([0x80, 0, 0, 0], "a frame of 2147483648 bytes"), ([0, 0, 0, 0], "a frame of length 0"),
      (Array("GET / HTTP/1.1\r\n\r\n".utf8), "a frame of"),
    ]
    let messages = [
      Array("garbage".utf8), [0xFF, 0xFE], Array("[]".utf8), Array(#"{"type":"dance"}"#.utf8),
      Array(#"{"type":"get","id":-1,"url":7}"#.utf8),
    ].map { (bytes: [0, 0, 0, UInt8($0.count)] + $0, reason: "not a message of a client") }
    for (bytes, reason) in frames + messages {
      let socket = try UnixSocket.connect(path: cluster.socketPath)
      #expect(try UnixSocket.send(socket.rawValue, bytes[...]) == bytes.count)
      let channel = try ClientChannel(socket)
      try expectRefusal(on: channel, containing: reason)
      channel.expectClosed()
      #expect(try cluster.runningCoordinator().messages().contains(reason))
    }
    origin.origin.release("/held")
    #expect(try cluster.finished(job).done == 11)
  }

  @Test func `pixels of a picture with a URL are refused, as they are never stored`() throws {
    let channel = try cluster.greetedChannel()
    let request = UploadRequest(
      url: origin.url("/a"), byteCount: 1, options: RequestOptions(variant: .standard),
      wantsPixels: true)
    try channel.send(
      .upload(RequestID(rawValue: 1), request), with: MemoryFile(containing: [7]).file)
    try expectRefusal(on: channel, containing: "upload the picture without a URL")
  }

  // MARK: - Answers

  private func expectRefusal(on channel: ClientChannel, containing reason: String) throws {
    #expect(try #require(try channel.nextInTime().refusal).message.contains(reason))
  }
}

extension ClientChannel {
  fileprivate func expectClosed() {
    #expect {
      try nextInTime()
    } throws: {
      if case ChannelError.closed = $0 { true } else { false }
    }
  }
}

/// Many clients, and clients that ask for more than they read: each has its turn, and all of them
/// together cost the coordinator a bounded amount of memory.
@Suite(.timeLimit(.minutes(20))) struct ClientFairnessTests {
  private static let request = RequestID(rawValue: 1)

  /// The frames of a greeting and of requests for a job's results.
  private func frames(asking job: JobID, times count: Int) throws -> [UInt8] {
    let requests = (1...count).map { number in
      ClientMessage.results(
        RequestID(rawValue: UInt64(number)), ResultsRequest(job: job, from: 0, isFailedOnly: false))
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
        + WireCoding.frame(ClientMessage.status(last)))
    // Served before the last of those requests, which shows what it has changed.
    _ = try cluster.client().answer(.limit(LimitChange(transfers: 7)))
    _ = try busy.nextInTime()
    for number in 1...count {
      let reply = try busy.nextInTime()
      let isPage = if case .results = reply { true } else { false }
      #expect(isPage && reply.request == RequestID(rawValue: UInt64(number)), "in their order")
    }
    #expect(try busy.nextInTime().status?.limits.transfers == 7)
  }

  @Test func `unread replies take bounded memory`() throws {
    let cluster = try Cluster()
    let origin = ListOrigin()
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
    let origin = ListOrigin()
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

  @Test func `a client without hello or with half a request is closed after the timeout`() throws {
    let cluster = try Cluster(["CLIENT_TIMEOUT": "2s"])
    let origin = ListOrigin()
    origin.hold("/held")
    let job = try cluster.submit([origin.url("/held")])
    let idle = try cluster.greetedChannel()
    let watching = try cluster.greetedChannel()
    try watching.sendWhole(.job(Self.request, job, isWatching: true))
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
    try idle.sendWhole(.status(Self.request))
    #expect(try idle.nextInTime().status != nil, "an idle client is served")
    origin.origin.release("/held")
    while case .job(_, let job) = try watching.nextInTime(), !job.hasEnded {}
  }

  private func expectClosed(_ channel: ClientChannel, because reason: String) throws {
    let reply = try channel.nextInTime()
    #expect(reply.refusal?.message.contains(reason) == true)
    #expect(reply.request == .wholeConnection)
    channel.expectClosed()
  }
}
