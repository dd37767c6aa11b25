import Glibc
import ImgModel
import ImgSystem
import ImgWire

/// A greeted connection to the coordinator. Requests are numbered, and each reply is matched with its
/// request. Belongs to one thread.
final class CoordinatorConnection {
  /// What the coordinator said first.
  let hello: Hello
  /// For a loop; others use ``send(_:with:)`` and the replies.
  let channel: Channel<CoordinatorReply, ClientMessage>
  private var lastRequest: UInt64 = 0

  /// How long the coordinator may take for an answer that it has at hand.
  static let answerTime = Duration.seconds(30)

  /// Connects, provided that the socket and its listener are safe, and greets.
  init(socketPath: String) throws(ClientError) {
    let connection = try CoordinatorSocket.connect(path: socketPath)
    do throws(SystemError) {
      channel = try Channel(connection)
    } catch {
      throw .unreachable(socketPath: socketPath, reason: error.description)
    }
    do throws(ClientError) {
      hello = try Self.greet(over: channel)
    } catch .connection(.closed) {
      // The socket of a coordinator that was just killed still accepts.
      throw .unreachable(socketPath: socketPath, reason: "it closed the connection")
    }
  }

  private static func greet(
    over channel: Channel<CoordinatorReply, ClientMessage>
  ) throws(ClientError) -> Hello {
    do throws(ChannelError) {
      try channel.send(.hello(Hello(processID: ThisProcess.processID)))
    } catch {
      // A coordinator that takes no more clients may have said so and closed already.
      guard error.meansPeerGone else { throw .connection(error) }
    }
    let reply: CoordinatorReply
    do throws(ChannelError) {
      reply = try channel.next(until: .now + answerTime)
    } catch {
      throw .connection(error)
    }
    if case .refused(let refusal) = reply {
      throw .refused(refusal.code, message: refusal.message)
    }
    guard case .hello(let hello) = reply else { throw .unexpectedReply }
    guard hello.protocolVersion == Build.protocolVersion else {
      throw .otherVersion(theirs: hello)
    }
    return hello
  }

  // MARK: - Requests

  /// A number that no request of this connection has.
  func newRequest() -> RequestID {
    lastRequest += 1
    return RequestID(rawValue: lastRequest)
  }

  /// Sends a request, and waits for its answer.
  ///
  /// - Parameter onUpdate: takes the replies before the answer.
  func answer<Answer>(
    _ request: CoordinatorRequest<Answer>, onUpdate: (ReceivedReply) throws(ClientError) -> Void
  ) throws(ClientError) -> Answer {
    let exchange = request.exchange
    let id = try send(exchange)
    while true {
      let reply = try reply(to: id, until: exchange.isPrompt ? .now + Self.answerTime : nil)
      guard case .more(let message) = exchange.step(after: reply.message) else {
        return try request.answer(reply)
      }
      try onUpdate(reply)
      if let message { try send(message) }
    }
  }

  /// - Returns: the number of the request.
  func send(_ exchange: Exchange) throws(ClientError) -> RequestID {
    let id = newRequest()
    try send(exchange.message(id), with: exchange.file)
    return id
  }

  func send(_ message: ClientMessage, with file: PassedFile? = nil) throws(ClientError) {
    do throws(ChannelError) {
      try channel.send(message, with: file)
      try channel.flush(until: .now + Self.answerTime)
    } catch {
      // A refusal that arrived before the end is the reason for it.
      if let refusal = arrivedRefusal() { throw refusal }
      throw .connection(error)
    }
  }

  /// The refusal of the latest request, or of the whole connection, that has arrived.
  private func arrivedRefusal() -> ClientError? {
    do throws(ClientError) {
      _ = try reply(to: RequestID(rawValue: lastRequest), until: .now)
    } catch {
      if case .refused = error { return error }
    }
    return nil
  }

  // MARK: - Replies

  /// The next reply to a request. Late replies to requests that the caller
  /// has abandoned are skipped.
  ///
  /// - Parameter deadline: `nil` waits for ever.
  /// - Throws: ``ClientError/refused(_:message:)`` where the request or the connection is refused.
  func reply(
    to id: RequestID, until deadline: ContinuousClock.Instant?
  ) throws(ClientError) -> ReceivedReply {
    while true {
      let delivery = try nextDelivery(until: deadline)
      let reply = delivery.message
      if case .refused(let refusal) = reply,
        refusal.id == id || refusal.id == RequestRefusal.wholeConnection
      {
        throw .refused(refusal.code, message: refusal.message)
      }
      if reply.request == id { return ReceivedReply(delivery) }
    }
  }

  /// Skips replies until the coordinator closes its end.
  func waitUntilClosed() throws(ClientError) {
    do throws(ClientError) {
      while true { _ = try nextDelivery(until: nil) }
    } catch .connection(.closed) {
      return
    }
  }

  private func nextDelivery(
    until deadline: ContinuousClock.Instant?
  ) throws(ClientError) -> Delivery<CoordinatorReply> {
    do throws(ChannelError) {
      return try channel.nextDelivery(until: deadline)
    } catch {
      throw .connection(error)
    }
  }
}

extension CoordinatorReply {
  /// The request that this answers; `nil` for a hello.
  var request: RequestID? {
    switch self {
    case .hello: nil
    case .refused(let refusal): refusal.id
    case .submitted(let submitted): submitted.id
    case .status(let reply): reply.id
    case .jobs(let page): page.id
    case .job(let reply): reply.id
    case .results(let page): page.id
    case .got(let reply): reply.id
    case .preview(let reply): reply.id
    case .progress(let reply): reply.id
    case .waiting(let reply): reply.id
    case .detached(let request): request.id
    case .forgotten(let request): request.id
    case .sweeping(let request): request.id
    case .stopping(let request): request.id
    }
  }
}

/// The control socket as a client finds it. The listener is sent URLs, headers and pictures, so the
/// client checks the place and the listener before it sends a byte.
enum CoordinatorSocket {
  /// Connects to a listener of root, of this process's user, or of the user that owns the socket's
  /// directory.
  ///
  /// The directory belongs to root or to this process's user, or root alone decided which user owns
  /// it, as for the directory of a service in /run. Other users cannot write there.
  ///
  /// - Throws: ``ClientError/unreachable(socketPath:reason:)`` when no process listens,
  ///   ``ClientError/untrusted(socketPath:reason:)`` when the place or the listener is not safe,
  ///   ``ClientError/denied(socketPath:ownerID:reason:)`` when this user may not connect,
  ///   ``ClientError/connection(_:)`` when this process can open no socket.
  static func connect(path: String) throws(ClientError) -> OwnedDescriptor {
    let owner = try ownerOfDirectory(of: path)
    do throws(SystemError) {
      let socket = try UnixSocket.connect(path: path)
      let listener = try UnixSocket.credentials(of: socket.rawValue)
      if [0, ThisProcess.userID, owner].contains(listener.userID) { return socket }
      throw SystemError(
        operation: "trust process \(listener.processID) of user \(listener.userID), which listens",
        code: EPERM)
    } catch {
      throw Self.error(error, at: path)
    }
  }

  private static func ownerOfDirectory(of path: String) throws(ClientError) -> UInt32 {
    do throws(SystemError) {
      return try Directory.requireExclusive(UnixSocket.directory(of: path), mayBeForeign: true)
    } catch {
      throw Self.error(error, at: path)
    }
  }

  /// Neither lstat(2) nor connect(2) to a path fails with EPERM on its own account (unix(7)).
  private static func error(_ error: SystemError, at path: String) -> ClientError {
    let reason = error.description
    switch error.code {
    // This process can open nothing. The coordinator may run.
    case EMFILE, ENFILE: return .connection(.system(error))
    case EPERM: return .untrusted(socketPath: path, reason: reason)
    case EACCES: return .denied(socketPath: path, ownerID: owner(nearest: path), reason: reason)
    default: return .unreachable(socketPath: path, reason: reason)
    }
  }

  /// The owner of a path or, where that cannot be seen, of the nearest directory above that can.
  private static func owner(nearest path: String) -> UInt32 {
    var names = path.split(separator: "/")
    while !names.isEmpty {
      if let status = try? FileStatus(at: "/" + names.joined(separator: "/")) {
        return status.userID
      }
      names.removeLast()
    }
    return 0
  }
}
