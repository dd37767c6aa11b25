import ImgModel
import ImgScheduler
import ImgSettings
import ImgSystem
import ImgWire

/// The clients that are connected: admitted, read in turn, sent replies, closed.
///
/// It knows nothing of what requests mean. What a closed client leaves behind is taken by
/// ``takeClosed()``.
final class ClientTable {
  private var clients: [ClientID: ClientConnection] = [:]
  private var lastNumber: UInt64 = 0
  private var ledger: ClientLedger
  /// The clients whose requests have arrived and are not served.
  private var turns = TurnQueue<ClientID>()
  /// The clients with replies that ``flush()`` sends.
  private var unflushed = TurnQueue<ClientID>()
  private var closed: [ClientConnection] = []
  private let poller: Poller
  private let log: Log
  private let timeout: Duration

  init(limits: Limits, poller: Poller, log: Log) {
    timeout = limits.clientTimeout
    ledger = ClientLedger(clientMaximum: limits.clients, timeout: timeout)
    self.poller = poller
    self.log = log
  }

  subscript(id: ClientID) -> ClientConnection? { clients[id] }

  var all: some Collection<ClientConnection> { clients.values }

  var isEmpty: Bool { clients.isEmpty }

  /// Whether a client waits for its turn.
  var hasTurns: Bool { !turns.isEmpty }

  // MARK: - Admission

  /// Takes a connection that was accepted, unless its user or the number of clients forbids it.
  func admit(_ connection: consuming AcceptedConnection) throws(SystemError) {
    let (userID, processID) = (connection.credentials.userID, connection.credentials.processID)
    lastNumber += 1
    let client = ClientConnection(
      id: ClientID(rawValue: lastNumber), processID: processID,
      channel: try Channel(connection.takeDescriptor()))
    if userID != ThisProcess.userID, userID != 0 {
      return turnAway(
        client, .notPermitted,
        "this coordinator serves user \(ThisProcess.userID) alone; run the command as that user, such as with "
          + "sudo -u '#\(ThisProcess.userID)'")
    }
    guard makeRoom(for: client) else { return }
    try poller.register(
      client.channel.descriptor, client.interest, token: Token.client(client.id).rawValue)
    clients[client.id] = client
    advance(client)
  }

  /// - Returns: whether there is room for one more client.
  private func makeRoom(for client: ClientConnection) -> Bool {
    switch ledger.admission(at: .now) {
    case .admitted:
      return true
    case .replacing(let idle):
      if let idle = clients[idle] {
        expel(
          idle, .unavailable,
          "it was idle, and another client needs its place; connect again, or allow more than "
            + "\(ledger.clientMaximum) clients: --clients N of imgctl start, or IMGCTL_CLIENTS of a service"
        )
      }
      return true
    case .full:
      turnAway(
        client, .unavailable,
        "\(ledger.clientMaximum) clients are connected already; close some, or allow more: "
          + "imgctl stop && imgctl start --clients N (of a service: IMGCTL_CLIENTS)")
      return false
    }
  }

  /// Refuses a connection that never becomes a client. It closes with its object.
  private func turnAway(
    _ connection: ClientConnection, _ code: Failure.Code, _ message: String
  ) {
    log.note("client \(connection.id) is dismissed: \(message)")
    // A new socket has room for the reason. A peer that has closed it already needs none.
    try? connection.channel.send(.ofConnection(code, message))
  }

  // MARK: - Reading

  /// Bytes read at once from one client. Fewer while all clients together hold much memory, so that
  /// requests are served no slower than others arrive.
  private var readByteCount: Int { ledger.isTight ? 16 << 10 : 64 << 10 }

  func isReady(_ id: ClientID, _ readiness: Poller.Readiness) {
    guard let client = clients[id] else { return }
    do throws(ChannelError) {
      // Replies to a client that has hung up are an error, which closes it.
      if readiness.isWritable || readiness.isHungUp { try client.channel.flush() }
      if readiness.isHungUp {
        client.didHangUp()
        poller.unregister(client.channel.descriptor)
      } else if readiness.isReadable, client.isRead {
        if try client.channel.read(upTo: readByteCount) == .closed { return close(client) }
      }
      advance(client)
    } catch {
      disconnect(client, after: error)
    }
  }

  /// Hands the next request of the client whose turn it is to `handle`.
  ///
  /// - Returns: whether a client had its turn.
  func serveNext(
    _ handle: (Delivery<ClientMessage>, ClientConnection) -> Void
  ) -> Bool {
    guard let id = turns.removeFirst() else { return false }
    guard let client = clients[id], client.wantsTurn else { return true }
    do throws(ChannelError) {
      if let delivery = try client.channel.takeMessage() {
        handle(delivery, client)
      } else if try client.channel.read(upTo: readByteCount) != .bytes {
        // Only a client that has hung up has a turn without a request.
        close(client)
      }
      advance(client)
    } catch {
      disconnect(client, after: error)
    }
    return true
  }

  // MARK: - Replies

  /// Sends a reply with the next ``flush()``. A client that cannot take it is closed.
  func send(
    _ reply: CoordinatorReply, with file: PassedFile? = nil, to client: ClientConnection
  ) {
    do throws(ChannelError) {
      try client.channel.post(reply, with: file)
      unflushed.append(client.id)
    } catch {
      disconnect(client, after: error)
    }
  }

  /// Whether a client leaves replies unread. Those that wait for ``flush()`` do not count.
  func isBehind(_ client: ClientConnection) -> Bool {
    client.channel.hasUnsent && !unflushed.contains(client.id)
  }

  /// Hands the kernel the replies since the last call: one system call and one wake-up for all that a
  /// client gets.
  func flush() {
    while let id = unflushed.removeFirst() {
      guard let client = clients[id] else { continue }
      do throws(ChannelError) {
        try client.channel.flush()
        advance(client)
      } catch {
        disconnect(client, after: error)
      }
    }
  }

  func refuse(
    _ request: RequestID, of client: ClientConnection, _ code: Failure.Code,
    _ message: String
  ) {
    send(.refused(request, code, message: message), to: client)
  }

  /// Sends the reason, and closes the client once it has read that.
  func dismiss(_ client: ClientConnection, _ code: Failure.Code, _ message: String) {
    log.note("client \(client.id.rawValue) is dismissed: \(message)")
    client.beginClosing()
    send(.ofConnection(code, message), to: client)
  }

  /// Does what the client's state calls for. Closes a client that is closing once nothing is unsent,
  /// gives it a turn once a request has arrived, and watches its socket for what comes next.
  func advance(_ client: ClientConnection) {
    // What is about to be sent may change all that.
    guard clients[client.id] != nil, !unflushed.contains(client.id) else { return }
    if client.isClosing, !client.channel.hasUnsent { return close(client) }
    if client.wantsTurn { turns.append(client.id) }
    ledger.update(client.id, client.account, at: .now)
    guard let interest = client.takeInterestChange() else { return }
    // The descriptor is registered and open: a failure to change its events would be a bug here.
    try? poller.update(
      client.channel.descriptor, interest, token: Token.client(client.id).rawValue)
  }

  /// Waits until all clients have taken their replies, up to the deadline.
  func flush(until deadline: ContinuousClock.Instant) {
    for client in clients.values { try? client.channel.flush(until: deadline) }
  }

  // MARK: - Closing

  /// When a client may have owed something for too long; `nil` when none owes anything.
  var deadline: Instant? { ledger.deadline }

  /// Closes the clients that have owed the rest of a request for too long.
  func closeOverdue(at now: Instant) {
    for id in ledger.overdue(at: now) {
      guard let client = clients[id], let debt = client.debt else { continue }
      expel(
        client, .invalidRequest, "\(debt.rawValue) within \(timeout.text)")
    }
  }

  /// Closes clients until all of them together hold no more memory than they may.
  func closeHeaviest() {
    while let id = ledger.heaviest, let client = clients[id] {
      expel(
        client, .unavailable,
        "all clients together hold too much memory for unread replies and half-sent requests, and "
          + "this one holds most: \(client.channel.heldByteCount >> 10) KiB; read each reply before "
          + "the next request")
    }
  }

  /// The clients that were closed since the last call.
  func takeClosed() -> [ClientConnection] {
    defer { closed = [] }
    return closed
  }

  /// Closes a client after an error. A client that broke the protocol is sent the reason.
  private func disconnect(_ client: ClientConnection, after error: ChannelError) {
    guard clients[client.id] != nil else { return }
    switch error {
    case .framing, .message, .passedFile:
      expel(client, .invalidRequest, error.description)
    case .peerDoesNotRead:
      log.note("client \(client.id.rawValue) is closed: \(error)")
      close(client)
    case .closed, .timedOut, .system:
      close(client)
    }
  }

  /// Closes a client at once. It receives the reason if its socket has room for that.
  private func expel(
    _ client: ClientConnection, _ code: Failure.Code, _ reason: String
  ) {
    log.note("client \(client.id.rawValue) is closed: \(reason)")
    try? client.channel.send(.ofConnection(code, reason))
    close(client)
  }

  private func close(_ client: ClientConnection) {
    guard clients.removeValue(forKey: client.id) != nil else { return }
    ledger.remove(client.id)
    poller.unregister(client.channel.descriptor)
    closed.append(client)
  }
}

extension CoordinatorReply {
  /// Why a whole connection ends.
  fileprivate static func ofConnection(_ code: Failure.Code, _ message: String) -> Self {
    .refused(.wholeConnection, code, message: message)
  }
}

/// The number of a client's connection. Numbers are not reused.
typealias ClientID = Identifier<IdentifierKind.Client>

extension IdentifierKind {
  enum Client {}
}

/// A client's request whose answer comes later.
struct Requester: Hashable {
  let client: ClientID
  let request: RequestID
}

/// One client: its connection and what it asked for that is not answered.
final class ClientConnection {
  /// What a client owes that takes no time.
  enum Debt: String {
    case greeting = "it did not greet"
    case request = "it did not send the rest of a request"
    case reading = "it did not read why it is closed"
  }

  let id: ClientID
  /// Its process, as the kernel tells it; 0 for one that this PID namespace cannot number.
  let processID: Int32
  let channel: Channel<ClientMessage, CoordinatorReply>
  var pending = PendingRequests()
  /// The list that it sends; `nil` when it sends none.
  var submission: OpenSubmission?
  private(set) var hasGreeted = false
  /// Whether it is closed once everything is sent.
  private(set) var isClosing = false
  /// Whether it has closed its end. The poller no longer watches the socket, which would be ready at
  /// all times. What the client sent before is read as its requests are served.
  private(set) var isHungUp = false
  /// What the poller watches the socket for.
  private(set) var interest: Poller.Interest = .read

  init(id: ClientID, processID: Int32, channel: Channel<ClientMessage, CoordinatorReply>) {
    self.id = id
    self.processID = processID
    self.channel = channel
  }

  // MARK: - Changes

  /// - Parameter isSame: whether both ends speak the same protocol. Otherwise no request is served.
  func didGreet(inSameProtocol isSame: Bool) {
    hasGreeted = isSame
  }

  func beginClosing() {
    isClosing = true
  }

  func didHangUp() {
    isHungUp = true
  }

  /// - Returns: what the poller has to watch the socket for from now on; `nil` when that stays as it
  ///   is.
  func takeInterestChange() -> Poller.Interest? {
    let wanted = wantedInterest
    guard wanted != interest, !isHungUp else { return nil }
    interest = wanted
    return wanted
  }

  // MARK: - What the state calls for

  /// Whether the client may be served: not before it has read the replies to its earlier requests,
  /// and not while the disk lags behind its list.
  private var isServed: Bool {
    !isClosing && !channel.hasUnsent && (submission?.takesParts ?? true)
  }

  /// Whether the client has a turn coming.
  var wantsTurn: Bool { isServed && (channel.hasMessage || isHungUp) }

  /// Whether the socket may be read: not before the requests that have arrived are served.
  var isRead: Bool { isServed && !channel.hasMessage && !isHungUp }

  private var wantedInterest: Poller.Interest {
    var interest: Poller.Interest = []
    if isRead { interest.insert(.read) }
    if channel.hasUnsent { interest.insert(.write) }
    return interest
  }

  /// Why the client is closed when it owes something for too long; `nil` when it owes nothing.
  var debt: Debt? {
    if isClosing { return .reading }
    guard isRead else { return nil }
    if !hasGreeted { return .greeting }
    return channel.isWithinMessage ? .request : nil
  }

  var account: ClientLedger.Account {
    ClientLedger.Account(
      heldByteCount: channel.heldByteCount, isOwing: debt != nil,
      isInUse: submission != nil || !pending.isEmpty || channel.hasUnsent || channel.hasMessage)
  }

  /// The refusal of a request that may not become pending; `nil` when it may.
  func refusalToWait(_ request: RequestID) -> CoordinatorReply? {
    pending.obstacle(to: request).map { .refused(request, .invalidRequest, message: $0) }
  }
}

/// What an event of the poller is about, packed into its 64 bits: the kind in the highest 8, and the
/// number in the others. Numbers are not reused, so an event for a connection that was closed in the
/// same round finds nothing.
enum Token {
  case listener
  case signals
  case journal
  case client(ClientID)
  case workerChannel(WorkerID)
  case workerExit(WorkerID)
  case decoderExit(DecoderNumber)
  case errors(ErrorSource)

  /// Counting up reaches no number that has more bits.
  private static let numberBitCount: UInt64 = 56

  private var kind: UInt64 {
    switch self {
    case .listener: 0
    case .signals: 1
    case .journal: 2
    case .client: 3
    case .workerChannel: 4
    case .workerExit: 5
    case .decoderExit: 6
    case .errors(.worker): 7
    case .errors(.decoder): 8
    }
  }

  private var number: UInt64 {
    switch self {
    case .listener, .signals, .journal: 0
    case .client(let client): client.rawValue
    case .workerChannel(let worker), .workerExit(let worker), .errors(.worker(let worker)):
      worker.rawValue
    case .decoderExit(let decoder), .errors(.decoder(let decoder)): decoder.rawValue
    }
  }

  var rawValue: UInt64 { kind << Self.numberBitCount | number }

  /// Whether an event is about a client, or about one that wants to connect.
  static func isOfClientsOrListener(_ rawValue: UInt64) -> Bool {
    switch Token(rawValue: rawValue) {
    case .listener, .client: true
    case .signals, .journal, .workerChannel, .workerExit, .decoderExit, .errors, nil: false
    }
  }

  init?(rawValue: UInt64) {
    let number = rawValue & (1 << Self.numberBitCount - 1)
    switch rawValue >> Self.numberBitCount {
    case 0: self = .listener
    case 1: self = .signals
    case 2: self = .journal
    case 3: self = .client(ClientID(rawValue: number))
    case 4: self = .workerChannel(WorkerID(rawValue: number))
    case 5: self = .workerExit(WorkerID(rawValue: number))
    case 6: self = .decoderExit(DecoderNumber(rawValue: number))
    case 7: self = .errors(.worker(WorkerID(rawValue: number)))
    case 8: self = .errors(.decoder(DecoderNumber(rawValue: number)))
    default: return nil
    }
  }
}
