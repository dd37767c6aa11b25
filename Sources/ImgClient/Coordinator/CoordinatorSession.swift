import ImgModel
import ImgSystem
import ImgWire

/// The coordinator as many tasks use it at the same time: over one connection, which a thread of its own
/// makes when the first call needs it, and again when it is lost.
///
/// A call whose connection is lost is sent again, unless it may not be repeated. At most
/// ``CallTable/maximumSentCount`` calls are under way; further ones wait in order.
final class CoordinatorSession: Sendable {
  /// How many bytes of the pictures that it loads may be kept in memory.
  let memory: MemoryShare
  private let commands: Mailbox<SessionCommand>
  private let thread: ServiceThread<Never>

  /// - Parameters:
  ///   - patience: how long the coordinator may say nothing while calls wait for it, see ``SilenceWatch``.
  ///   - memoryByteCount: what may be kept in memory until the coordinator tells that.
  ///   - connect: makes a connection, on the session's thread, and may block.
  ///   - connectIfRunning: the same, but starts no coordinator. A session without it asks for memory only while calls
  ///     have a connection.
  init(
    patience: Duration = SilenceWatch.standardPatience,
    memoryByteCount: Int = MemoryShare.standardByteCount,
    connect: @escaping @Sendable () throws(ClientError) -> Client,
    connectIfRunning: (@Sendable () throws(ClientError) -> Client)? = nil
  ) throws(SystemError) {
    let commands = try Mailbox<SessionCommand>()
    self.commands = commands
    let memory = MemoryShare(byteCount: memoryByteCount) { commands.post(.shareMemory) }
    self.memory = memory
    thread = try ServiceThread(name: "imgclient", capacity: 1) { _ in
      while true {
        do throws(SystemError) {
          return try SessionLoop(
            commands: commands, memory: memory, patience: patience, connect: connect,
            connectIfRunning: connectIfRunning
          ).run()
        } catch {
          guard Self.refuse(commands, because: error) else { return }
        }
      }
    }
  }

  /// Answers for a thread that cannot wait for a connection: the process has no descriptors left.
  ///
  /// - Returns: when there is a further call, for which the thread tries again; `false` if the session has
  ///   ended.
  private static func refuse(
    _ commands: Mailbox<SessionCommand>, because error: SystemError
  ) -> Bool {
    for command in commands.takeAll() {
      switch command {
      case .start(let call): call.end(.failure(.client(.connection(.system(error)))))
      case .bring, .detach, .shareMemory: break
      case .stop: return false
      }
    }
    // If the wait fails, the thread tries again at once.
    _ = try? UnixSocket.waitReadable(commands.descriptor, until: nil)
    return true
  }

  deinit {
    commands.post(.stop)
  }

  /// Sends a request, and waits for its answer, the deadline or the cancellation of the task.
  ///
  /// - Parameters:
  ///   - fetch: fetches the picture of a request that has offered it, if the coordinator asks for that. Is cancelled
  ///     at the end of the request.
  ///   - onUpdate: takes the replies before the answer. It runs on the session's thread, so it is quick.
  @discardableResult
  func answer<Answer>(
    _ request: CoordinatorRequest<Answer>, until deadline: ContinuousClock.Instant? = nil,
    fetchingBy fetch: (@Sendable (FetchWanted) async -> BroughtPicture)? = nil,
    onUpdate: (@Sendable (ReceivedReply) -> Void)? = nil
  ) async throws(SessionError) -> Answer {
    let fetches = fetch.map { AskedFetches($0, commands) }
    defer { fetches?.end() }
    let call = SessionCall(request.exchange, onFetch: fetches?.handler, onUpdate: onUpdate)
    let reply = try await lastReply(to: call, until: deadline)
    return try rethrowing(try request.answer(reply), as: SessionError.client)
  }

  /// The deadline needs no task of its own, so that the answer reaches the caller without a change of threads more.
  func lastReply(
    to call: SessionCall, until deadline: ContinuousClock.Instant? = nil
  ) async throws(SessionError) -> ReceivedReply {
    let timeout = deadline.map { Timeouts.shared.add(at: $0) { self.leave(call, .timedOut) } }
    defer { timeout?.end() }
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        if call.wait(continuation) { commands.post(.start(call)) }
      }
    } onCancel: {
      leave(call, .cancelled)
    }
    return try result.get()
  }

  /// The task of a call no longer waits.
  private func leave(_ call: SessionCall, _ reason: SessionError) {
    call.end(.failure(reason))
    commands.post(.detach(call))
  }
}

/// What tasks ask of a session's thread.
enum SessionCommand: Sendable {
  case start(SessionCall)
  /// Its task has fetched the picture that the coordinator asked for, under this number of the call.
  case bring(BroughtPicture, SessionCall, RequestID)
  /// Its task no longer waits.
  case detach(SessionCall)
  /// Something keeps pictures in memory. The coordinator is asked how much that may be, if it runs.
  case shareMemory
  case stop
}

/// Sends the calls of a session over one connection, hands them their replies, and connects again when the
/// connection is lost. Belongs to the session's thread.
final class SessionLoop {
  private enum Token: UInt64 {
    case commands, connection
  }

  private let commands: Mailbox<SessionCommand>
  private let memory: MemoryShare
  private let connect: () throws(ClientError) -> Client
  private let connectIfRunning: (() throws(ClientError) -> Client)?
  private let poller: Poller
  private var connection: Client?
  /// The request for a share of memory; `nil` if the connection has none.
  private var memoryRequest: RequestID?
  /// The last number of a request over the connections before: a number means one request in the whole session.
  private var lastRequest: UInt64 = 0
  /// Whether a connection is wanted for that request alone.
  private var isMemoryWanted = false
  private var calls = CallTable()
  /// Why the connection is no longer of use; `nil` while it is.
  private var loss: ClientError?
  /// `nil` unless a connection was lost, and no call has waited for the next one or had a reply from it.
  private var reconnection: ReconnectionPlan?
  private var hasLostConnection = false
  /// The coordinator has said that it stops. Calls wait for the next connection.
  private var isCoordinatorLeaving = false
  private var silence: SilenceWatch
  private var isStopped = false

  /// Further calls wait while so many bytes have not been sent: the coordinator is slow.
  private static let unsentMaximumByteCount = 256 << 10

  /// - Parameters:
  ///   - memory: gets the size that the coordinator tells.
  ///   - patience: how long the coordinator may say nothing while calls wait for it, see ``SilenceWatch``.
  ///   - connect: makes a connection; blocks.
  ///   - connectIfRunning: see ``CoordinatorSession``.
  init(
    commands: Mailbox<SessionCommand>, memory: MemoryShare, patience: Duration,
    connect: @escaping () throws(ClientError) -> Client,
    connectIfRunning: (() throws(ClientError) -> Client)?
  ) throws(SystemError) {
    self.commands = commands
    self.memory = memory
    self.connect = connect
    self.connectIfRunning = connectIfRunning
    silence = SilenceWatch(at: .now, patience: patience)
    poller = try Poller()
    try poller.register(commands.descriptor, .read, token: Token.commands.rawValue)
  }

  /// Returns when the session has ended.
  ///
  /// - Throws: if the thread cannot wait for events. All calls have ended then.
  func run() throws(SystemError) {
    while true {
      commands.takeAll().forEach(handle)
      guard !isStopped else { return endAll(.connection(.closed)) }
      connectIfNeeded()
      shareMemory()
      sendCalls()
      flush()
      if let loss { handleLoss(loss) }
      do throws(SystemError) {
        for event in try poller.wait(timeout: timeout)
        where event.token == Token.connection.rawValue && (event.isReadable || event.isHungUp) {
          receive()
        }
      } catch {
        endAll(.connection(.system(error)))
        throw error
      }
      endSilence()
      if let loss { handleLoss(loss) }
    }
  }

  private func handle(_ command: SessionCommand) {
    switch command {
    case .start(let call): calls.add(call)
    case .bring(let picture, let call, let number):
      // Over another connection the call has another number, and the coordinator asks again, maybe for something else.
      guard calls.number(of: call) == number else { return }
      switch picture {
      case .fetched(let picture, let file): post(.fetched(number, picture), with: file)
      case .failed(let failure): post(.fetchFailed(number, failure))
      }
    case .detach(let call):
      // A sent call keeps its place until its answer: the coordinator counts it, too.
      guard let number = calls.number(of: call) else { return calls.callEnded() }
      if call.exchange.updates != .none { post(.detach(number)) }
    case .shareMemory: isMemoryWanted = true
    case .stop: isStopped = true
    }
  }

  /// `nil` waits for the next event.
  private var timeout: Duration? {
    let next: ContinuousClock.Instant?
    if connection == nil {
      next = calls.isAnyWaiting ? reconnection?.nextAttempt ?? .now : nil
    } else {
      next = calls.isAnySent ? silence.deadline : nil
    }
    return next.map { max(.zero, ContinuousClock.now.duration(to: $0)) }
  }

  // MARK: - The connection

  private func connectIfNeeded() {
    guard connection == nil else { return }
    guard calls.isAnyWaiting else { return connectForMemory() }
    if hasLostConnection, reconnection == nil { reconnection = ReconnectionPlan(at: .now) }
    guard (reconnection?.nextAttempt ?? .now) <= .now else { return }
    do throws(ClientError) {
      try begin(connect())
    } catch {
      attemptFailed(error)
    }
  }

  /// Makes a connection to a coordinator that runs, so that it counts this process.
  private func connectForMemory() {
    guard isMemoryWanted else { return }
    isMemoryWanted = false
    // Without a coordinator, the share stays as it is. The next one is looked for when more is kept.
    if let new = try? connectIfRunning?() { try? begin(new) }
  }

  private func begin(_ new: Client) throws(ClientError) {
    do throws(SystemError) {
      try poller.register(new.channel.descriptor, .read, token: Token.connection.rawValue)
    } catch {
      throw .connection(.system(error))
    }
    new.numberRequests(after: lastRequest)
    connection = new
    isCoordinatorLeaving = false
    silence.heard(at: .now)
  }

  /// There is another attempt, or all calls end.
  private func attemptFailed(_ error: ClientError) {
    guard error.mayPass, reconnection?.attemptFailed(at: .now) == true else {
      reconnection = nil
      return endAll(error)
    }
  }

  /// What has arrived counts. What has no answer is sent again over the next connection.
  private func handleLoss(_ error: ClientError) {
    loss = nil
    guard let lost = connection else { return }
    poller.unregister(lost.channel.descriptor)
    connection = nil
    lastRequest = lost.lastRequest
    memoryRequest = nil
    memory.coordinatorLeft()
    while let rest = try? lost.channel.receive(), !rest.deliveries.isEmpty {
      rest.deliveries.forEach(receive)
    }
    hasLostConnection = true
    for call in calls.requeueSent() { call.end(.failure(.client(error))) }
    // A connection without a reply was no success.
    if reconnection != nil { attemptFailed(error) }
  }

  private func endAll(_ error: ClientError) {
    for call in calls.removeAll() { call.end(.failure(.client(error))) }
  }

  // MARK: - Messages

  /// Asks for a share of memory, once for each connection.
  private func shareMemory() {
    isMemoryWanted = isMemoryWanted && connection == nil
    guard let connection, memoryRequest == nil, memory.keptByteCount > 0 else { return }
    let request = connection.newRequest()
    memoryRequest = request
    post(.shareMemory(request))
  }

  private func sendCalls() {
    guard let connection, !isCoordinatorLeaving else { return }
    if !calls.isAnySent { silence.heard(at: .now) }
    while loss == nil, connection.channel.heldByteCount < Self.unsentMaximumByteCount,
      let next = calls.takeNext(as: connection.newRequest)
    {
      post(next.call.exchange.message(next.number), with: next.call.exchange.file)
    }
  }

  private func post(_ message: ClientMessage, with file: PassedFile? = nil) {
    guard loss == nil, let channel = connection?.channel else { return }
    do throws(ChannelError) {
      try channel.post(message, with: file)
    } catch {
      loss = .connection(error)
    }
  }

  /// Hands the kernel what it takes.
  private func flush() {
    guard loss == nil, let channel = connection?.channel else { return }
    do throws(ChannelError) {
      try channel.flush()
      try watch(channel.descriptor, channel.hasUnsent ? [.read, .write] : .read)
    } catch {
      loss = .connection(error)
    }
  }

  private func watch(
    _ descriptor: CInt, _ interest: Poller.Interest
  ) throws(ChannelError) {
    try rethrowing(
      try poller.update(descriptor, interest, token: Token.connection.rawValue),
      as: ChannelError.system)
  }

  private func receive() {
    guard let channel = connection?.channel else { return }
    do throws(ChannelError) {
      let received = try channel.receive()
      received.deliveries.forEach(receive)
      if received.isClosed { loss = loss ?? .connection(.closed) }
    } catch {
      loss = .connection(error)
    }
  }

  private func receive(_ delivery: Delivery<CoordinatorReply>) {
    silence.heard(at: .now)
    let reply = ReceivedReply(delivery)
    if case .refused(let id, let code, let message) = reply.message {
      return refused(id, code, message)
    }
    if case .memoryShare(memoryRequest, let byteCount) = reply.message {
      return memory.change(to: Int(byteCount))
    }
    guard let number = reply.message.request, let call = calls.call(of: number) else { return }
    reconnection = nil
    switch call.receive(reply) {
    case .more(let message):
      // The coordinator has survived the request.
      switch reply.message {
      case .job, .fetch: calls.forgiveSends(of: number)
      default: break
      }
      if let message { post(message) }
    case .again: askAgain(number, call, otherwise: .connection(.closed))
    case .answer: calls.remove(number)
    }
  }

  /// The coordinator stops. The next one is asked.
  private func askAgain(_ number: RequestID, _ call: SessionCall, otherwise error: ClientError) {
    isCoordinatorLeaving = true
    if !calls.requeue(number) { call.end(.failure(.client(error))) }
  }

  /// Asks a coordinator that says nothing, and gives up one that does not answer that either.
  private func endSilence() {
    guard let connection, loss == nil, calls.isAnySent else { return }
    switch silence.look(at: .now) {
    case .nothing: break
    case .isSilent: post(.status(connection.newRequest()))
    case .isLost: loss = .connection(.timedOut)
    }
  }

  private func refused(_ request: RequestID, _ code: Failure.Code, _ message: String) {
    let error = ClientError.refused(code, message: message)
    guard request != .wholeConnection else {
      loss = error
      return
    }
    guard let call = calls.call(of: request) else { return }
    guard code != .stopping else { return askAgain(request, call, otherwise: error) }
    calls.remove(request)
    call.end(.failure(.client(error)))
  }
}

extension ClientError {
  /// Whether the next attempt to connect may succeed: a coordinator may be leaving or starting.
  fileprivate var mayPass: Bool {
    switch self {
    case .unreachable, .notListening, .notStarted, .connection: true
    case .refused(let code, _): code == .unavailable || code == .stopping
    case .denied, .untrusted, .listensElsewhere, .notAutostarted, .copy, .absent, .otherStore,
      .otherVersion, .submission:
      false
    }
  }
}

/// Notices a coordinator that no longer answers, such as one that was stopped by a signal. It is asked
/// something after some time without a word, and is given up after as long again.
struct SilenceWatch: Sendable {
  enum Finding: Sendable {
    case nothing, isSilent, isLost
  }

  static let standardPatience = Duration.seconds(30)

  private let patience: Duration
  private var lastWord: ContinuousClock.Instant
  private var isAsked = false

  init(at now: ContinuousClock.Instant, patience: Duration = standardPatience) {
    lastWord = now
    self.patience = patience
  }

  /// When to look again.
  var deadline: ContinuousClock.Instant { lastWord + patience * (isAsked ? 2 : 1) }

  /// The coordinator has said something, or no call waits for it.
  mutating func heard(at now: ContinuousClock.Instant) {
    lastWord = now
    isAsked = false
  }

  /// - Returns: `isSilent` once, when the coordinator is to be asked something.
  mutating func look(at now: ContinuousClock.Instant) -> Finding {
    guard now >= deadline else { return .nothing }
    guard !isAsked else { return .isLost }
    isAsked = true
    return .isSilent
  }
}

/// When a lost connection is made again: at once, then after pauses that double, until
/// ``patience`` is over.
struct ReconnectionPlan: Sendable {
  static let patience = Duration.seconds(10)
  private static let firstPause = Duration.milliseconds(50)
  private static let longestPause = Duration.seconds(1)

  private let end: ContinuousClock.Instant
  private var pause = firstPause
  private(set) var nextAttempt: ContinuousClock.Instant

  /// The connection was lost.
  init(at now: ContinuousClock.Instant) {
    end = now + Self.patience
    nextAttempt = now
  }

  /// An attempt has failed.
  ///
  /// - Returns: whether there is another one.
  mutating func attemptFailed(at now: ContinuousClock.Instant) -> Bool {
    guard now < end else { return false }
    nextAttempt = now + pause
    pause = min(pause * 2, Self.longestPause)
    return true
  }
}
