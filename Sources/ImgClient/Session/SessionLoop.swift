import ImgModel
import ImgSystem
import ImgTransport
import ImgWire

/// What tasks ask of a session's thread.
enum SessionCommand: Sendable {
  case start(SessionCall)
  /// Its task no longer waits.
  case detach(SessionCall)
  case stop
}

/// Sends the calls of a session over one connection, hands them their replies, and connects again when the
/// connection is lost. Belongs to the session's thread.
final class SessionLoop {
  private enum Token: UInt64 {
    case commands, connection
  }

  private let commands: Mailbox<SessionCommand>
  private let connect: () throws(ClientError) -> CoordinatorConnection
  private let poller: Poller
  private var connection: CoordinatorConnection?
  private var calls = CallTable()
  /// `nil` unless a connection was lost.
  private var reconnection: ReconnectionPlan?
  private var isStopped = false

  /// - Parameter connect: makes a connection; blocks.
  init(
    commands: Mailbox<SessionCommand>,
    connect: @escaping () throws(ClientError) -> CoordinatorConnection
  ) throws(SystemError) {
    self.commands = commands
    self.connect = connect
    poller = try Poller()
    try poller.register(commands.descriptor, .read, token: Token.commands.rawValue)
  }

  /// Returns when the session has ended.
  func run() {
    while true {
      commands.takeAll().forEach(handle)
      guard !isStopped else { return endAll(.connection(.closed)) }
      connectIfNeeded()
      exchange()
      do throws(SystemError) {
        for event in try poller.wait(timeout: timeout)
        where event.token == Token.connection.rawValue && (event.isReadable || event.isHungUp) {
          receive()
        }
      } catch {
        return endAll(.connection(.system(error)))
      }
    }
  }

  private func handle(_ command: SessionCommand) {
    switch command {
    case .start(let call): calls.add(call)
    case .detach(let call):
      // It keeps its place among the sent calls until its answer: the coordinator counts it, too.
      guard let number = calls.number(of: call), let message = call.detachment?(number) else {
        return
      }
      post(message)
    case .stop: isStopped = true
    }
  }

  /// `nil` waits for the next event.
  private var timeout: Duration? {
    guard connection == nil, calls.isAnyWaiting, let reconnection else { return nil }
    return max(.zero, ContinuousClock.now.duration(to: reconnection.nextAttempt))
  }

  // MARK: - The connection

  private func connectIfNeeded() {
    guard connection == nil, calls.isAnyWaiting,
      (reconnection?.nextAttempt ?? .now) <= .now
    else { return }
    do throws(ClientError) {
      let new = try connect()
      do throws(SystemError) {
        try poller.register(new.channel.descriptor, .read, token: Token.connection.rawValue)
      } catch {
        throw .connection(.system(error))
      }
      connection = new
      reconnection = nil
    } catch {
      let hasFurtherAttempt =
        error.mayPass && reconnection?.attemptFailed(at: .now) ?? false
      if !hasFurtherAttempt {
        reconnection = nil
        endAll(error)
      }
    }
  }

  private func lose(_ error: ClientError) {
    guard let lost = connection else { return }
    poller.unregister(lost.channel.descriptor)
    connection = nil
    reconnection = ReconnectionPlan(at: .now)
    for call in calls.rewind() { call.end(.failure(.client(error))) }
  }

  private func endAll(_ error: ClientError) {
    for call in calls.removeAll() { call.end(.failure(.client(error))) }
  }

  // MARK: - Messages

  /// Sends what may be sent, and hands the kernel what it takes.
  private func exchange() {
    guard let connection else { return }
    while self.connection != nil, let next = calls.takeNext(as: connection.newRequest) {
      post(next.call.request(next.number))
    }
    flush()
  }

  private func post(_ message: ClientMessage) {
    guard let channel = connection?.channel else { return }
    do throws(ChannelError) {
      try channel.post(message)
    } catch {
      lose(.connection(error))
    }
  }

  private func flush() {
    guard let channel = connection?.channel else { return }
    do throws(ChannelError) {
      try channel.flush()
      try watch(channel.descriptor, channel.hasUnsent ? [.read, .write] : .read)
    } catch {
      lose(.connection(error))
    }
  }

  private func watch(
    _ descriptor: CInt, _ interest: Poller.Interest
  ) throws(ChannelError) {
    do throws(SystemError) {
      try poller.update(descriptor, interest, token: Token.connection.rawValue)
    } catch {
      throw .system(error)
    }
  }

  private func receive() {
    guard let channel = connection?.channel else { return }
    do throws(ChannelError) {
      let received = try channel.receive()
      received.deliveries.forEach(receive)
      if received.isClosed { lose(.connection(.closed)) }
    } catch {
      lose(.connection(error))
    }
  }

  private func receive(_ reply: SessionCall.Answer) {
    if case .refused(let refusal) = reply.message {
      return refused(refusal)
    }
    guard let number = reply.message.request, let call = calls.call(of: number) else { return }
    if let message = call.receive(reply) { post(message) }
    if call.hasEnded, reply.message.endsRequest { calls.remove(number) }
  }

  private func refused(_ refusal: RequestRefusal) {
    let error = ClientError.refused(refusal.code, message: refusal.message)
    guard refusal.id != RequestRefusal.wholeConnection else { return lose(error) }
    guard let call = calls.call(of: refusal.id) else { return }
    calls.remove(refusal.id)
    call.end(.failure(.client(error)))
  }
}

extension ClientError {
  /// Whether the next attempt to connect may succeed: a coordinator may be leaving or starting.
  fileprivate var mayPass: Bool {
    switch self {
    case .unreachable, .notListening, .notStarted, .connection: true
    case .refused(let code, _): code == .unavailable || code == .stopping
    case .denied, .untrusted, .listensElsewhere, .notAutostarted, .otherStore, .otherVersion,
      .submission:
      false
    }
  }
}

extension CoordinatorReply {
  /// Whether no other reply to its request follows.
  fileprivate var endsRequest: Bool {
    switch self {
    case .preview, .progress, .waiting: false
    case .job(let reply): reply.status.hasEnded
    default: true
    }
  }
}
