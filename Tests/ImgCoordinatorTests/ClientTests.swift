import FoundationEssentials
public import ImgModel
import ImgScheduler
import ImgSettings
import ImgWire
import TestFiles
import Testing

@testable import ImgCoordinator

@Suite(.timeLimit(.minutes(20))) struct ClientTableTests {
  @Test func `a client greets before it asks for anything`() throws {
    let parts = try CoordinatorParts()
    let client = try parts.connect()
    let reply = try client.ask(.status(client.newRequest()))
    #expect(reply?.refusal?.message == "the first frame is not a hello")
    #expect(try client.next() == nil)
    #expect(parts.clients.isEmpty)
  }

  @Test
  func `a client of another protocol learns the coordinator's and the reason, then it is closed`()
    throws
  {
    let parts = try CoordinatorParts()
    let client = try parts.connect()
    let reply = try client.ask(.hello(Hello(protocolVersion: 1, processID: 1)))
    guard case .hello(let hello) = reply else {
      Issue.record("no hello came")
      return
    }
    #expect(hello.protocolVersion == Build.protocolVersion)
    #expect(hello.storeDirectory == parts.settings.storeDirectory)
    let refusal = try client.next()?.refusal
    #expect(refusal?.code == .versionMismatch)
    #expect(refusal?.message.contains("and the client 1;") == true)
    #expect(try client.next() == nil)
  }

  @Test func `beyond the maximum a client is refused with the reason`() throws {
    let parts = try CoordinatorParts(clientMaximum: 2)
    let clients = [try parts.greetedClient(), try parts.greetedClient()]
    let third = try parts.connect()
    let refusal = try third.next()?.refusal
    #expect(refusal?.code == .unavailable)
    #expect(refusal?.message.hasPrefix("2 clients are connected already") == true)
    #expect(try third.next() == nil)
    for client in clients {
      let reply = try client.ask(.jobs(client.newRequest(), JobsRequest()))
      guard case .jobs = reply else {
        Issue.record("an earlier client was closed")
        return
      }
    }
  }

  @Test func `replies wait for the flush, and their client is not served meanwhile`() throws {
    let parts = try CoordinatorParts()
    let client = try parts.greetedClient()
    let connection = try #require(parts.clients.all.first)
    let requests = [client.newRequest(), client.newRequest()]
    for request in requests {
      parts.clients.send(.stopping(request, clients: []), to: connection)
    }
    #expect(connection.channel.hasUnsent)
    #expect(!connection.wantsTurn)
    #expect(!connection.isRead)
    parts.clients.flush()
    #expect(!connection.channel.hasUnsent)
    for request in requests {
      #expect(try client.next() == .stopping(request, clients: []))
    }
  }

  @Test func `a socket that was removed is created again and accepts clients`() throws {
    let parts = try CoordinatorParts()
    let early = try parts.greetedClient()
    try parts.directory.remove("socket")
    parts.listener.doWhatIsDue(at: parts.listener.deadline)
    #expect(FileManager.default.fileExists(atPath: parts.settings.socketPath))
    let late = try parts.greetedClient()
    for client in [early, late] {
      let reply = try client.ask(.jobs(client.newRequest(), JobsRequest()))
      guard case .jobs = reply else {
        Issue.record("a client was closed")
        return
      }
    }
  }
}

extension Identifier: ExpressibleByIntegerLiteral {
  /// The thing of this number.
  public init(integerLiteral value: UInt64) {
    self.init(rawValue: value)
  }
}

/// What clients cost, and which of them have to go.
@Suite struct ClientLedgerTests {
  private let start = Instant.now
  private var ledger = ClientLedger(
    clientMaximum: 3, timeout: .seconds(60), byteCountMaximum: 1_000)

  private mutating func update(
    _ client: ClientID, bytes: Int = 0, isOwing: Bool = false, isInUse: Bool = false,
    after time: Duration = .zero
  ) {
    ledger.update(
      client,
      ClientLedger.Account(heldByteCount: bytes, isOwing: isOwing, isInUse: isInUse),
      at: start + time)
  }

  @Test mutating func `the client that holds most goes when all together hold too much`() {
    update(1, bytes: 300)
    update(2, bytes: 500)
    update(3, bytes: 200)
    #expect(ledger.heaviest == nil)
    #expect(ledger.isTight)
    update(3, bytes: 201)
    #expect(ledger.heaviest == 2)
    ledger.remove(2)
    #expect(ledger.heldByteCount == 501)
    #expect(ledger.heaviest == nil)
  }

  @Test mutating func `what a client no longer holds does not count`() {
    update(1, bytes: 1_001)
    #expect(ledger.heaviest == 1)
    update(1, bytes: 10)
    #expect(ledger.heaviest == nil)
    #expect(!ledger.isTight)
    #expect(ledger.heldByteCount == 10)
  }

  @Test mutating func `a debt is due a timeout after it began, however often the client sends`() {
    update(1, isOwing: true)
    update(2, isOwing: true, after: .seconds(1))
    for second in 2..<60 { update(1, bytes: second, isOwing: true, after: .seconds(second)) }
    #expect(ledger.deadline == start + .seconds(60))
    #expect(ledger.overdue(at: start + .seconds(59)).isEmpty)
    #expect(ledger.overdue(at: start + .seconds(60)) == [1])
    #expect(ledger.overdue(at: start + .seconds(61)) == [1, 2])
  }

  @Test mutating func `a debt that is paid, and a client that has left, have no deadline`() {
    update(1, isOwing: true)
    update(1, after: .seconds(1))
    update(1, isOwing: true, after: .seconds(2))
    #expect(ledger.deadline == start + .seconds(62))
    ledger.remove(1)
    #expect(ledger.deadline == nil)
    #expect(ledger.overdue(at: start + .seconds(1_000)).isEmpty)
  }

  @Test mutating func `the client that has been idle for longest makes room, after the timeout`() {
    update(1, after: .seconds(5))
    update(2, isInUse: true)
    #expect(ledger.admission(at: start) == .admitted)
    update(3, after: .seconds(3))
    #expect(ledger.admission(at: start + .seconds(62)) == .full)
    #expect(ledger.admission(at: start + .seconds(63)) == .replacing(3))
    update(3, after: .seconds(63))
    #expect(ledger.admission(at: start + .seconds(64)) == .full)
    #expect(ledger.admission(at: start + .seconds(65)) == .replacing(1))
    ledger.remove(1)
    #expect(ledger.admission(at: start + .seconds(65)) == .admitted)
  }

  @Test mutating func `a client that waits or owes is never idle`() {
    update(1, isInUse: true)
    update(2, isOwing: true)
    update(3, isOwing: true, isInUse: true)
    #expect(ledger.admission(at: start + .seconds(1_000)) == .full)
  }
}

@Suite struct OpenSubmissionTests {
  private var submission = OpenSubmission(request: RequestID(rawValue: 1), job: JobID(rawValue: 1))

  @Test mutating func `eight parts may wait for the disk`() {
    for _ in 0..<7 {
      submission.partWasQueued()
      #expect(submission.takesParts)
    }
    submission.partWasQueued()
    #expect(!submission.takesParts)
    submission.partWasWritten()
    #expect(submission.takesParts)
    #expect(submission.unwrittenCount == 7)
  }

  @Test mutating func `it is complete once its last part has arrived`() {
    #expect(!submission.isComplete)
    submission.complete()
    #expect(submission.isComplete)
  }

  @Test func `a part that was not queued cannot be written`() async {
    await #expect(processExitsWith: .failure) {
      var submission = OpenSubmission(request: RequestID(rawValue: 1), job: JobID(rawValue: 1))
      submission.partWasWritten()
    }
  }
}

@Suite struct PendingRequestsTests {
  private var pending = PendingRequests()

  private func request(_ number: UInt64) -> RequestID { RequestID(rawValue: number) }

  private func status(_ job: UInt64, done: Int = 0) -> ImageJob {
    var counts = JobCounts(total: 20)
    counts.done = done
    return ImageJob(
      JobRecord(
        id: JobID(rawValue: job), options: RequestOptions(variant: .standard), state: .queued,
        counts: counts, submittedAt: WallTime(rawValue: 0)))
  }

  @Test mutating func `a number that is pending may not be used again, whatever it asked for`() {
    #expect(pending.isEmpty)
    pending.addWatch(request(1), sent: status(1))
    pending.addViewer(ViewerID(rawValue: 1), for: request(2))
    pending.addChange(request(3))
    #expect(!pending.isEmpty)
    for number: UInt64 in 1...3 {
      #expect(pending.obstacle(to: request(number)) == "a request of this number waits already")
    }
    #expect(pending.obstacle(to: request(4)) == nil)
    pending.removeChange(request(3))
    #expect(pending.obstacle(to: request(3)) == nil)
  }

  @Test mutating func `1,024 requests may be pending, of all kinds together`() {
    pending.addChange(request(0))
    for number: UInt64 in 1..<1_024 {
      #expect(pending.obstacle(to: request(number)) == nil)
      pending.addViewer(ViewerID(rawValue: number), for: request(number))
    }
    #expect(pending.obstacle(to: request(1_024)) == "1024 requests of this client wait already")
    pending.removeViewer(for: request(7))
    #expect(pending.obstacle(to: request(1_024)) == nil)
    #expect(pending.viewerIDs.count == 1_022)
  }

  @Test mutating func `a watch knows the status that was sent last, and ends with its job`() {
    pending.addWatch(request(1), sent: status(1))
    pending.addWatch(request(2), sent: status(1))
    pending.addWatch(request(3), sent: status(2))
    pending.updateWatch(request(1), sent: status(1, done: 5))
    #expect(
      Set(pending.watches) == [
        .init(request: request(1), sent: status(1, done: 5)),
        .init(request: request(2), sent: status(1)),
        .init(request: request(3), sent: status(2)),
      ])
    #expect(Set(pending.removeWatches(of: JobID(rawValue: 1))) == [request(1), request(2)])
    #expect(pending.watches.map(\.request) == [request(3)])
    #expect(pending.removeWatches(of: JobID(rawValue: 1)).isEmpty)
    #expect(pending.hasWatches)
  }

  @Test mutating func `a watch ends once`() {
    pending.addWatch(request(1), sent: status(1))
    let ended = [pending.removeWatch(request(2)), pending.removeWatch(request(1))]
    #expect(ended == [false, true])
    #expect(!pending.hasWatches)
    let again = pending.removeWatch(request(1))
    #expect(!again)
  }

  @Test func `a number that is pending already is a bug of the caller`() async {
    await #expect(processExitsWith: .failure) {
      var pending = PendingRequests()
      pending.addChange(RequestID(rawValue: 1))
      pending.addChange(RequestID(rawValue: 1))
    }
  }
}
