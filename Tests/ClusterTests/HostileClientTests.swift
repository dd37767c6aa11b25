import ImgClient
import ImgModel
import ImgSystem
import ImgTransport
import ImgWire
import TestCluster
import TestOrigin
import Testing

/// Clients that break the protocol are closed with a reason, and other clients do not notice.
@Suite(.timeLimit(.minutes(20)))
struct HostileClientTests {
  private let cluster: Cluster
  private let origin: ListOrigin

  init() throws {
    cluster = try Cluster(Cluster.inspectable)
    origin = try ListOrigin()
  }

  @Test func `a client of another protocol version gets this version and is closed`() throws {
    let channel = try cluster.connect()
    try channel.send(.hello(Hello(protocolVersion: 99, version: "9.9", processID: 1)))
    guard case .hello(let hello) = try channel.nextInTime() else {
      Issue.record("the answer to a hello is a hello")
      return
    }
    #expect(hello.protocolVersion == Build.protocolVersion)
    expectClosed(channel)
  }

  @Test func `a client without hello is refused and closed`() throws {
    let channel = try cluster.connect()
    try channel.send(.status(PlainRequest(id: RequestID(rawValue: 1))))
    try expectRefusal(on: channel, containing: "not a hello")
    expectClosed(channel)
  }

  @Test(arguments: [
    // A length of 2³¹, and one of 0.
    (bytes: [0x80, 0, 0, 0] as [UInt8], reason: "a frame of 2147483648 bytes"),
    (bytes: [0, 0, 0, 0], reason: "a frame of length 0"),
    (bytes: Array("GET / HTTP/1.1\r\n\r\n".utf8), reason: "a frame of"),
    (bytes: Frame.encode(Array("garbage".utf8)), reason: "not a message of a client"),
    (bytes: Frame.encode([0xFF, 0xFE]), reason: "not a message of a client"),
    (bytes: Frame.encode(Array("[]".utf8)), reason: "not a message of a client"),
    (bytes: Frame.encode(Array(#"{"type":"dance"}"#.utf8)), reason: "not a message of a client"),
    (
      bytes: Frame.encode(Array(#"{"type":"get","id":-1,"url":7}"#.utf8)),
      reason: "not a message of a client"
    ),
  ])
  func `invalid messages close the connection with the reason`(
    bytes: [UInt8], reason: String
  ) throws {
    try origin.hold("/held")
    let job = try cluster.submit([origin.url("/held")] + origin.pictures(10))
    let socket = try UnixSocket.connect(path: cluster.socketPath)
    #expect(try UnixSocket.send(socket.rawValue, bytes[...]) == bytes.count)
    let channel = try ClientChannel(socket)
    try expectRefusal(on: channel, containing: reason)
    expectClosed(channel)
    origin.origin.release("/held")
    #expect(try cluster.finished(job).done == 11)
    #expect(try cluster.runningCoordinator().messages().contains(reason))
  }

  @Test func `an unexpected descriptor is closed with the connection`() throws {
    let frame = try WireCoding.frame(ClientMessage.hello(Hello(processID: 1)))
    let file = try MemoryFile(containing: [1, 2, 3]).file
    let socket = try UnixSocket.connect(path: cluster.socketPath)
    _ = try UnixSocket.send(socket.rawValue, frame[...], passing: file.descriptor)
    let channel = try ClientChannel(socket)
    try expectRefusal(on: channel, containing: "a file beside a message that announces none")
    expectClosed(channel)
    #expect(openMemoryFileCount(of: try cluster.runningCoordinator().processID) == 0)
    #expect(try cluster.run(origin.pictures(3)).done == 3)
  }

  @Test func `half a frame and half a list leave nothing`() throws {
    do {
      let socket = try UnixSocket.connect(path: cluster.socketPath)
      #expect(try UnixSocket.send(socket.rawValue, [0, 0, 1, 0, 0x7B]) == 5)
    }
    do {
      let channel = try cluster.greetedChannel()
      let id = RequestID(rawValue: 1)
      let options = RequestOptions(variant: .standard)
      let submission = Submission(
        id: id, name: nil, options: options, order: .firstInFirstOut)
      try channel.send(.submit(submission))
      try channel.send(.submitLines(SubmissionLines(id: id, lines: origin.pictures(10))))
      try channel.flush(until: .now + ProgramRun.patience)
    }
    #expect(try cluster.run(origin.pictures(3)).done == 3)
    #expect(try cluster.client().jobs().jobs.count == 1)
    #expect(origin.origin.totals().requests == 3)
  }

  @Test func `requests beyond the limit are refused one by one`() throws {
    try origin.hold("/held")
    let channel = try cluster.greetedChannel()
    let maximum = 1_024
    for number in 1...maximum + 1 {
      try channel.send(
        .get(
          GetRequest(
            id: RequestID(rawValue: UInt64(number)), url: origin.url("/held"),
            options: RequestOptions(variant: .standard))))
    }
    try channel.flush(until: .now + ProgramRun.patience)
    try expectRefusal(on: channel, containing: "\(maximum) requests of this client wait already")
    origin.origin.release("/held")
    for _ in 1...maximum {
      guard case .got = try channel.nextInTime() else {
        Issue.record("every request that was taken is answered")
        return
      }
    }
    #expect(origin.origin.counters("/held").requests == 1)
  }

  @Test func `pixels of a picture with a URL are refused, as they are never stored`() throws {
    let channel = try cluster.greetedChannel()
    let request = UploadRequest(
      id: RequestID(rawValue: 1), url: origin.url("/a"), byteCount: 1,
      options: RequestOptions(variant: .standard), wantsPixels: true)
    try channel.send(.upload(request), with: MemoryFile(containing: [7]).file)
    try expectRefusal(on: channel, containing: "upload the picture without a URL")
  }

  // MARK: - Answers

  private func expectRefusal(on channel: ClientChannel, containing reason: String) throws {
    guard case .refused(let refusal) = try channel.nextInTime() else {
      Issue.record("the answer is a refusal")
      return
    }
    #expect(refusal.message.contains(reason))
  }

  private func expectClosed(_ channel: ClientChannel) {
    do {
      _ = try channel.nextInTime()
      Issue.record("nothing follows")
    } catch ChannelError.closed {
    } catch {
      Issue.record("closed rather than: \(error)")
    }
  }
}
