import ImgCore
import ImgModel
import ImgSystem
import ImgTransport
import ImgWire

/// Connections of clients: accepted, read, closed.
extension Coordinator {
  /// What is read at once from one client. Less while all clients together hold much memory, so that
  /// requests are served no slower than others arrive.
  private var readByteCount: Int { ledger.isTight ? 16 << 10 : 64 << 10 }
  /// Connections taken in one round of the loop.
  private static let acceptMaximum = 64

  func acceptClients() {
    do throws(SystemError) {
      for _ in 0..<Self.acceptMaximum {
        guard let connection = try listener.accept() else { return }
        try accept(connection)
      }
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
    if userID != ThisProcess.userID, userID != 0 {
      return turnAway(
        client, .notPermitted, "this coordinator serves user \(ThisProcess.userID) alone")
    }
    switch ledger.admission(at: .now) {
    case .admitted: break
    case .replacing(let idle):
      if let idle = clients[idle] {
        expel(
          idle, .unavailable,
          "it was idle, and another client needs its place; connect again, or allow more than "
            + "\(ledger.clientMaximum) clients: imgctl start --clients N")
      }
    case .full:
      return turnAway(
        client, .unavailable,
        "\(ledger.clientMaximum) clients are connected already; close some, or allow more: "
          + "imgctl stop, then imgctl start --clients N")
    }
    try poller.register(
      client.channel.descriptor, client.interest, token: Token.client(client.number).rawValue)
    clients[client.number] = client
    settle(client)
  }

  /// Says why to one that never becomes a client; the connection closes with its object.
  private func turnAway(
    _ stranger: ClientConnection, _ code: RequestRefusal.Code, _ message: String
  ) {
    log.note("client \(stranger.number) is dismissed: \(message)")
    // A new socket has room for it. One that is closed again already needs no reason.
    try? stranger.channel.send(
      .refused(
        RequestRefusal(id: RequestRefusal.wholeConnection, code: code, message: message)))
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
      // Replies to a client that has hung up are an error, which closes it.
      if readiness.isWritable || readiness.isHungUp { try client.channel.flush() }
      if readiness.isHungUp {
        client.isHungUp = true
        poller.unregister(client.channel.descriptor)
      } else if readiness.isReadable, client.isRead {
        if try read(client) == .closed { return close(client) }
      }
      settle(client)
    } catch {
      lose(client, because: error)
    }
  }

  func read(
    _ client: ClientConnection
  ) throws(ChannelError) -> Channel<ClientMessage, CoordinatorReply>.ReadResult {
    try client.channel.read(upTo: readByteCount)
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

  /// Waits for what the client's state calls for: its turn when a request has arrived, its requests
  /// while it may be read, room in its socket while something is unsent. A client that is closing is
  /// closed once nothing is unsent.
  func settle(_ client: ClientConnection) {
    guard clients[client.number] != nil else { return }
    if client.isClosing, !client.channel.hasUnsent { return close(client) }
    if client.wantsTurn { turns.append(client.number) }
    ledger.update(client.number, client.account, at: .now)
    let interest = client.wantedInterest
    guard interest != client.interest, !client.isHungUp else { return }
    client.interest = interest
    // The descriptor is registered and open; a failure to change its events would be a bug in here.
    try? poller.update(
      client.channel.descriptor, interest, token: Token.client(client.number).rawValue)
  }

  /// A client that breaks the protocol hears why, if it listens, and is closed. Nobody else
  /// notices.
  func lose(_ client: ClientConnection, because error: ChannelError) {
    guard clients[client.number] != nil else { return }
    switch error {
    case .framing, .message, .attachment:
      expel(client, .invalidRequest, error.description)
    case .peerDoesNotRead:
      log.note("client \(client.number) is closed: \(error)")
      close(client)
    case .closed, .timedOut, .system:
      close(client)
    }
  }

  /// Closes a client at once. It hears why if its socket has room for that.
  func expel(_ client: ClientConnection, _ code: RequestRefusal.Code, _ reason: String) {
    log.note("client \(client.number) is closed: \(reason)")
    let refusal = RequestRefusal(
      id: RequestRefusal.wholeConnection, code: code, message: reason)
    try? client.channel.send(.refused(refusal))
    close(client)
  }

  /// Forgets the client: its viewers leave, its unfinished list is dropped. Its jobs go on.
  func close(_ client: ClientConnection) {
    guard clients.removeValue(forKey: client.number) != nil else { return }
    ledger.remove(client.number)
    poller.unregister(client.channel.descriptor)
    abandonSubmission(of: client)
    for viewer in client.viewers.values {
      waitingViewers[viewer] = nil
      feed(.viewerLeft(viewer))
    }
  }
}
