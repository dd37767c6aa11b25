import ImgModel
import ImgSystem
import ImgTransport
import ImgWire
import Testing

@Suite(.timeLimit(.minutes(20))) struct ChannelTests {
  private typealias CoordinatorEnd = Channel<WorkerMessage, CoordinatorMessage>
  private typealias WorkerEnd = Channel<CoordinatorMessage, WorkerMessage>

  private func channels() throws -> (CoordinatorEnd, WorkerEnd) {
    var pair = try UnixSocket.pair()
    return (try Channel(pair.takeFirst()), try Channel(pair.takeSecond()))
  }

  private var soon: ContinuousClock.Instant { .now + .seconds(60) }

  @Test func `what one end sends the other receives, in order`() throws {
    let (coordinator, worker) = try channels()
    for number in 1...100 {
      try coordinator.send(.cancel(LeaseList(leases: [LeaseID(rawValue: UInt64(number))])))
    }
    for number in 1...100 {
      let message = try worker.next(until: soon)
      #expect(message == .cancel(LeaseList(leases: [LeaseID(rawValue: UInt64(number))])))
    }
  }

  @Test func `posted messages go together with the next flush`() throws {
    let (coordinator, worker) = try channels()
    try coordinator.post(.drain)
    try coordinator.post(.cancel(LeaseList(leases: [LeaseID(rawValue: 1)])))
    #expect(coordinator.hasUnsent)
    #expect(try worker.read(upTo: 1_000) == .nothing)
    try coordinator.flush()
    #expect(!coordinator.hasUnsent)
    #expect(try worker.receive().deliveries.count == 2)
  }

  @Test func `a peer that reads no posted messages is an error`() throws {
    let (coordinator, worker) = try channels()
    let leases = LeaseList(leases: (0..<50_000).map { LeaseID(rawValue: $0) })
    #expect(throws: ChannelError.self) {
      while true { try coordinator.post(.cancel(leases)) }
    }
    #expect(try worker.read(upTo: 10) == .bytes)
  }

  @Test func `what has been read waits until it is taken, one message at a time`() throws {
    let (coordinator, worker) = try channels()
    #expect(try worker.read(upTo: 1_000) == .nothing)
    try coordinator.send(.drain)
    try coordinator.send(.cancel(LeaseList(leases: [LeaseID(rawValue: 1)])))
    while try worker.read(upTo: 10) == .bytes {}
    #expect(worker.heldByteCount > 0)
    #expect(worker.hasMessage && !worker.isWithinMessage)
    #expect(try worker.takeMessage()?.message == .drain)
    #expect(worker.hasMessage)
    #expect(
      try worker.takeMessage()?.message == .cancel(LeaseList(leases: [LeaseID(rawValue: 1)])))
    #expect(!worker.hasMessage)
    #expect(worker.heldByteCount == 0)
    #expect(try worker.takeMessage() == nil)
  }

  @Test func `replies that were read leave no memory behind`() throws {
    let (coordinator, worker) = try channels()
    let leases = LeaseList(leases: (0..<50_000).map { LeaseID(rawValue: $0) })
    while !coordinator.hasUnsent { try coordinator.send(.cancel(leases)) }
    #expect(coordinator.heldByteCount > 0)
    while coordinator.hasUnsent {
      _ = try worker.receive()
      try coordinator.flush()
    }
    #expect(coordinator.heldByteCount == 0)
  }

  @Test func `nothing to read is no message and no wait`() throws {
    let (coordinator, worker) = try channels()
    #expect(try worker.receive().deliveries.isEmpty)
    #expect(try !coordinator.receive().isClosed)
  }

  @Test func `a closed end is told after its last message`() throws {
    var (coordinator, worker): (CoordinatorEnd?, WorkerEnd) = try channels()
    try coordinator?.send(.drain)
    coordinator = nil
    #expect(try worker.next(until: soon) == .drain)
    #expect {
      try worker.next(until: soon)
    } throws: {
      if case ChannelError.closed = $0 { true } else { false }
    }
  }

  @Test func `a message to a closed end says that it is closed`() throws {
    let worker = try channels().1
    // Until no child that another test starts has the other end open, as it has until its exec.
    #expect(throws: ChannelError.self) { try worker.next(until: soon) }
    #expect {
      try worker.send(.released(LeaseList(leases: [LeaseID(rawValue: 1)])))
    } throws: {
      ($0 as? ChannelError)?.isClosedEnd == true
    }
    #expect(!ChannelError.timedOut.isClosedEnd)
  }

  @Test func `waiting for a silent peer ends at the deadline`() throws {
    let (coordinator, worker) = try channels()
    #expect {
      try worker.next(until: .now)
    } throws: {
      if case ChannelError.timedOut = $0 { true } else { false }
    }
    withExtendedLifetime(coordinator) {}
  }

  @Test func `a peer that does not read is given up, not buffered for`() throws {
    let (coordinator, worker) = try channels()
    let leases = LeaseList(leases: (0..<50_000).map { LeaseID(rawValue: $0) })
    #expect {
      for _ in 0..<1_000 { try coordinator.send(.cancel(leases)) }
    } throws: {
      if case ChannelError.peerDoesNotRead = $0 { true } else { false }
    }
    withExtendedLifetime(worker) {}
  }

  @Test func `what did not fit the socket arrives once the peer reads`() throws {
    let (coordinator, worker) = try channels()
    let leases = LeaseList(leases: (0..<50_000).map { LeaseID(rawValue: $0) })
    while !coordinator.hasUnsent { try coordinator.send(.cancel(leases)) }
    var received: [CoordinatorMessage] = []
    while coordinator.hasUnsent {
      received += try worker.receive().deliveries.map(\.message)
      try coordinator.flush()
    }
    received += try worker.receive().deliveries.map(\.message)
    #expect(received.last == .cancel(leases))
  }

  @Test(
    arguments: [
      [0, 0, 0, 0], [0xFF, 0xFF, 0xFF, 0xFF], Frame.encode(Array("no JSON".utf8)),
      Frame.encode(Array(#"{"type":"hello"}"#.utf8)),
    ] as [[UInt8]])
  func `garbage is an error of this connection`(bytes: [UInt8]) throws {
    var pair = try UnixSocket.pair()
    let foreignEnd = pair.takeFirst()
    let coordinator: CoordinatorEnd = try Channel(pair.takeSecond())
    _ = try UnixSocket.send(foreignEnd.rawValue, bytes[...])
    #expect(throws: ChannelError.self) { try coordinator.next(until: soon) }
  }
}
