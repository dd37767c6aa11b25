import ImgCore
import ImgSystem
import ImgTransport
import ImgWire

/// Connections of clients: accepted, read, closed.
extension Coordinator {
  private static let clientMaximum = 512

  func acceptClients() {
    do throws(SystemError) {
      while let connection = try listener.accept() { try accept(connection) }
    } catch {
      // Mostly for want of descriptors. The listener stays readable, so that it must not be
      // listened to until some are free.
      log.note("clients cannot be accepted for a second: \(error)")
      listen(to: [])
      listeningResumes = .now + .seconds(1)
    }
  }

  func resumeListening() {
    listeningResumes = nil
    listen(to: .read)
  }

  private func listen(to interest: Poller.Interest) {
    // The descriptor is registered and open; a failure to change its events would be a bug in here.
    try? poller.update(listener.descriptor, interest, token: Token.listener.rawValue)
  }

  private func accept(_ connection: consuming AcceptedConnection) throws(SystemError) {
    let userID = connection.credentials.userID
    lastClient += 1
    let client = ClientConnection(
      number: lastClient, channel: try Channel(connection.takeDescriptor()))
    try poller.register(
      client.channel.descriptor, .read, token: Token.client(client.number).rawValue)
    clients[client.number] = client
    if userID != ThisProcess.userID, userID != 0 {
      dismiss(client, .notPermitted, "this coordinator serves user \(ThisProcess.userID) alone")
    } else if clients.count > Self.clientMaximum {
      dismiss(client, .unavailable, "\(Self.clientMaximum) clients are connected already")
    }
  }

  /// Says why, and closes once that is sent.
  func dismiss(_ client: ClientConnection, _ code: RequestRefusal.Code, _ message: String) {
    log.note("client \(client.number) is dismissed: \(message)")
    client.isClosing = true
    refuse(RequestRefusal.wholeConnection, of: client, code, message)
  }

  func clientIsReady(_ number: UInt32, _ readiness: Poller.Readiness) {
    guard let client = clients[number] else { return }
    do throws(ChannelError) {
      if readiness.isWritable { try client.channel.flush() }
      if readiness.isReadable || readiness.isHungUp {
        let received = try client.channel.receive()
        // A message may be the last: it may close the client, or make it one that is closing.
        for delivery in received.deliveries where isHeard(client) {
          handle(delivery, from: client)
        }
        if received.isClosed { return close(client) }
      }
      settle(client)
    } catch {
      lose(client, because: error)
    }
  }

  private func isHeard(_ client: ClientConnection) -> Bool {
    clients[client.number] != nil && !client.isClosing
  }

  /// Sends a reply; a client that cannot take it is closed.
  func send(
    _ reply: CoordinatorReply, with file: MemoryFile? = nil, to client: ClientConnection
  ) {
    do throws(ChannelError) {
      try client.channel.send(reply, with: file)
      settle(client)
    } catch {
      lose(client, because: error)
    }
  }

  func refuse(
    _ request: RequestID, of client: ClientConnection, _ code: RequestRefusal.Code,
    _ message: String
  ) {
    send(.refused(RequestRefusal(id: request, code: code, message: message)), to: client)
  }

  /// Waits for what the client's state calls for: its requests while it may be read, room in its
  /// socket while something is unsent. One that is closing closes once nothing is unsent.
  func settle(_ client: ClientConnection) {
    guard clients[client.number] != nil else { return }
    if client.isClosing, !client.channel.hasUnsent { return close(client) }
    var interest: Poller.Interest = []
    if client.isReading { interest.insert(.read) }
    if client.channel.hasUnsent { interest.insert(.write) }
    // The descriptor is registered and open; a failure to change its events would be a bug in here.
    try? poller.update(
      client.channel.descriptor, interest, token: Token.client(client.number).rawValue)
  }

  /// A client that breaks the protocol hears why, if it listens, and is closed. Nobody else
  /// notices.
  private func lose(_ client: ClientConnection, because error: ChannelError) {
    guard clients[client.number] != nil else { return }
    switch error {
    case .framing, .message, .attachment:
      log.note("client \(client.number) is closed: \(error)")
      let refusal = RequestRefusal(
        id: RequestRefusal.wholeConnection, code: .invalidRequest, message: error.description)
      // It may be beyond listening; it is closed in any case.
      try? client.channel.send(.refused(refusal))
    case .peerDoesNotRead:
      log.note("client \(client.number) is closed: \(error)")
    case .closed, .timedOut, .system:
      break
    }
    close(client)
  }

  /// Forgets the client: its viewers leave, its unfinished list is dropped. Its jobs go on.
  private func close(_ client: ClientConnection) {
    guard clients.removeValue(forKey: client.number) != nil else { return }
    poller.unregister(client.channel.descriptor)
    abandonSubmission(of: client)
    for viewer in client.viewers.values {
      waitingViewers[viewer] = nil
      feed(.viewerLeft(viewer))
    }
  }
}
