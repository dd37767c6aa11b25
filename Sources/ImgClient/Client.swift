import ImgModel
import ImgSystem
import ImgTransport
import ImgWire

/// A connection to the coordinator, one request at a time, each call waiting for its answer.
///
/// Calls throw ``ClientError``, and what the closures that they are given throw. Belongs to one
/// thread.
package final class Client {
  private let channel: Channel<CoordinatorReply, ClientMessage>
  private var lastRequest: UInt64 = 0

  /// The coordinator's process.
  package let coordinatorProcessID: Int32
  /// Where the coordinator says that its workers keep thumbnails: to be compared with the client's
  /// own place, and never opened.
  private let storeDirectory: String
  private let socketPath: String

  /// How long the coordinator may take for an answer that it has at hand.
  private static let answerTime = Duration.seconds(30)

  /// Connects, provided that the socket and its listener are safe, and greets.
  package init(socketPath: String) throws(ClientError) {
    let connection = try CoordinatorSocket.connect(path: socketPath)
    do throws(SystemError) {
      channel = try Channel(connection)
    } catch {
      throw .unreachable(socketPath: socketPath, reason: error.description)
    }
    let hello: Hello
    do throws(ClientError) {
      hello = try Self.greet(over: channel)
    } catch .connection(.closed) {
      // The socket of one that is just being killed still accepts.
      throw .unreachable(socketPath: socketPath, reason: "it closed the connection")
    }
    guard let storeDirectory = hello.storeDirectory else { throw Self.unexpected }
    coordinatorProcessID = hello.processID
    self.socketPath = socketPath
    self.storeDirectory = storeDirectory
  }

  /// Makes sure that the coordinator keeps its thumbnails in the client's own store.
  ///
  /// - Throws: ``ClientError/otherStore(socketPath:theirs:ours:)`` when it does not.
  package func requireStore(in directory: String) throws(ClientError) {
    guard storeDirectory == directory else {
      throw .otherStore(socketPath: socketPath, theirs: storeDirectory, ours: directory)
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
    guard case .hello(let hello) = reply else { throw unexpected }
    guard hello.protocolVersion == Build.protocolVersion else {
      throw .otherVersion(theirs: hello)
    }
    return hello
  }

  // MARK: - Requests and replies

  func newRequest() -> RequestID {
    lastRequest += 1
    return RequestID(rawValue: lastRequest)
  }

  func send(_ message: ClientMessage, with file: MemoryFile? = nil) throws(ClientError) {
    do throws(ChannelError) {
      try channel.send(message, with: file)
      try channel.flush(until: .now + Self.answerTime)
    } catch {
      // A refusal that came before the end is the reason for it.
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

  /// The next reply to this request. Others are late replies to requests that were given up.
  func reply(to id: RequestID) throws(ClientError) -> CoordinatorReply {
    try reply(to: id, until: .now + Self.answerTime)
  }

  func reply(
    to id: RequestID, until deadline: ContinuousClock.Instant?
  ) throws(ClientError) -> CoordinatorReply {
    try delivery(to: id, until: deadline).message
  }

  /// The next reply to this request, and the file beside it.
  func delivery(
    to id: RequestID, until deadline: ContinuousClock.Instant?
  ) throws(ClientError) -> Delivery<CoordinatorReply> {
    while true {
      let delivery = try nextDelivery(until: deadline)
      let reply = delivery.message
      if case .refused(let refusal) = reply,
        refusal.id == id || refusal.id == RequestRefusal.wholeConnection
      {
        throw .refused(refusal.code, message: refusal.message)
      }
      if reply.request == id { return delivery }
    }
  }

  func nextDelivery(
    until deadline: ContinuousClock.Instant?
  ) throws(ClientError) -> Delivery<CoordinatorReply> {
    do throws(ChannelError) {
      return try channel.nextDelivery(until: deadline)
    } catch {
      throw .connection(error)
    }
  }

  func jobReply(to id: RequestID) throws(ClientError) -> JobStatus {
    try jobReply(to: id, until: .now + Self.answerTime)
  }

  func jobReply(
    to id: RequestID, until deadline: ContinuousClock.Instant?
  ) throws(ClientError) -> JobStatus {
    guard case .job(let reply) = try reply(to: id, until: deadline) else { throw Self.unexpected }
    return reply.status
  }

  static var unexpected: ClientError {
    .connection(.message(MessageError(description: "an answer to another question")))
  }
}

extension CoordinatorReply {
  /// The request that this answers; `nil` for a hello.
  fileprivate var request: RequestID? {
    switch self {
    case .hello: nil
    case .refused(let refusal): refusal.id
    case .submitted(let submitted): submitted.id
    case .status(let reply): reply.id
    case .jobs(let page): page.id
    case .job(let reply): reply.id
    case .results(let page): page.id
    case .got(let reply): reply.id
    case .waiting(let reply): reply.id
    case .forgotten(let request): request.id
    case .sweeping(let request): request.id
    case .stopping(let request): request.id
    }
  }
}
