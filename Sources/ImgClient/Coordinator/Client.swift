import Glibc
package import ImgModel
import ImgSystem
import ImgWire

/// A greeted connection to the coordinator: one request at a time, each call waits for its answer. Requests
/// are numbered, and each reply is matched with its request.
///
/// Calls throw ``ClientError``, and what the closures that they are given throw. Belongs to one
/// thread.
package final class Client {
  package let socketPath: String
  /// Where the coordinator says that its workers keep thumbnails. Only compared.
  let storeDirectory: String
  /// The proxies of its workers, without their passwords.
  package let proxies: ProxySettings
  /// The coordinator's process.
  package let coordinatorProcessID: Int32
  /// Whether the coordinator runs as this process's user, as the kernel tells it.
  package let isOfOwnUser: Bool
  /// For a loop; others use ``answer(_:onUpdate:)``.
  let channel: Channel<CoordinatorReply, ClientMessage>
  private(set) var lastRequest: UInt64 = 0

  /// How long the coordinator may take for an answer that it has at hand.
  private static let answerTime = Duration.seconds(30)
  /// The maximum length of a viewer's name in a request.
  package static let maximumViewerByteCount = GetRequest.maximumViewerByteCount

  /// Connects, provided that the socket and its listener are safe, and greets.
  package init(socketPath: String) throws(ClientError) {
    let socket = try CoordinatorSocket.connect(path: socketPath)
    do throws(SystemError) {
      isOfOwnUser =
        try UnixSocket.credentials(of: socket.rawValue).userID == ThisProcess.userID
      channel = try Channel(socket)
    } catch {
      throw .unreachable(socketPath: socketPath, reason: error.description)
    }
    let hello: Hello
    do throws(ClientError) {
      hello = try Self.greet(over: channel)
    } catch .connection(.closed) {
      // The socket of a coordinator that was just killed still accepts.
      throw .unreachable(socketPath: socketPath, reason: "it closed the connection")
    }
    guard let storeDirectory = hello.storeDirectory else { throw .unexpectedReply }
    self.socketPath = socketPath
    self.storeDirectory = storeDirectory
    proxies = hello.proxies ?? .none
    coordinatorProcessID = hello.processID
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
    let reply = try rethrowing(
      try channel.next(until: .now + answerTime), as: ClientError.connection)
    if case .refused(_, let code, let message) = reply { throw .refused(code, message: message) }
    guard case .hello(let hello) = reply else { throw .unexpectedReply }
    guard hello.protocolVersion == Build.protocolVersion else {
      throw .otherVersion(theirs: hello)
    }
    return hello
  }

  /// Makes sure that the coordinator keeps its thumbnails in the client's own store.
  ///
  /// - Throws: ``ClientError/otherStore(socketPath:theirs:ours:)`` when it does not.
  package func requireStore(in directory: String) throws(ClientError) {
    guard !DirectorySpelling.areSame(storeDirectory, directory) else { return }
    throw .otherStore(
      socketPath: socketPath, theirs: storeDirectory, ours: directory,
      status: try? answer(.status))
  }

  /// Makes sure that local files are read for a coordinator of this process's user: another one could ask for any.
  package func requireOwnUser() throws(ClientError) {
    guard isOfOwnUser else {
      throw .refused(
        .blockedPath,
        message:
          "the coordinator at \(socketPath) runs as another user, and this command reads no files for it; "
          + "start one of your own, or name files below its --allow-directory as file:///srv/a.jpg")
    }
  }

  // MARK: - Requests

  /// Sends a request, and waits for its answer.
  ///
  /// - Parameter onUpdate: takes the replies before the answer.
  @discardableResult
  package func answer<Answer>(
    _ request: CoordinatorRequest<Answer>,
    onUpdate: (ReceivedReply) throws(ClientError) -> Void = { _ in }
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

  /// The requests to come have higher numbers.
  func numberRequests(after number: UInt64) { lastRequest = max(lastRequest, number) }

  /// A number that no request of this connection has.
  func newRequest() -> RequestID {
    lastRequest += 1
    return RequestID(rawValue: lastRequest)
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

  /// The next reply to a request. Late replies to requests that the caller has abandoned are skipped.
  ///
  /// - Parameter deadline: `nil` waits for ever.
  /// - Throws: ``ClientError/refused(_:message:)`` where the request or the connection is refused.
  func reply(
    to id: RequestID, until deadline: ContinuousClock.Instant?
  ) throws(ClientError) -> ReceivedReply {
    while true {
      let delivery = try nextDelivery(until: deadline)
      let reply = delivery.message
      if case .refused(let request, let code, let message) = reply,
        request == id || request == .wholeConnection
      {
        throw .refused(code, message: message)
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
    try rethrowing(try channel.nextDelivery(until: deadline), as: ClientError.connection)
  }
}

/// Requests that take more than one answer.
extension Client {
  /// Asks the coordinator to finish what runs and to leave.
  ///
  /// - Returns: when it has left, the processes of the gateways that were connected.
  @discardableResult
  package func stop() throws(ClientError) -> [Int32] {
    let others = try answer(.stop)
    try waitUntilClosed()
    return others.filter { OtherProcess.name(of: $0) == "imggateway" }
  }

  /// Makes the coordinator fetch pictures again that it remembers as missing.
  ///
  /// - Parameter urls: in the spelling of ``ImageURL/text``.
  package func forgetFailures(of urls: [String]) throws(ClientError) {
    var batcher = SubmissionBatcher()
    for url in urls {
      if let batch = batcher.add(ListLine(url)) { try answer(.forget(batch.texts)) }
    }
    if let last = batcher.finish() { try answer(.forget(last.texts)) }
  }

  /// The newest jobs that have not ended.
  package func activeJobs(atMost count: Int) throws(ClientError) -> [ImageJob] {
    Array(try answer(.jobs(isActiveOnly: true)).jobs.prefix(count))
  }

  /// Calls `body` with each job, newest first.
  package func forEachJob(_ body: (ImageJob) throws -> Void) throws {
    var oldest: JobID?
    while true {
      let page = try answer(.jobs(before: oldest))
      try page.jobs.forEach(body)
      oldest = page.jobs.last?.job
      guard page.hasMore, oldest != nil else { return }
    }
  }

  /// Calls `body` with each of the job's lines, or each that failed, in their order.
  package func results(
    of job: JobID, isFailedOnly: Bool, _ body: (LineResult) throws -> Void
  ) throws {
    var from: Int? = 0
    while let start = from {
      let page = try answer(.results(of: job, from: start, isFailedOnly: isFailedOnly))
      try page.entries.forEach(body)
      from = page.next
    }
  }

  /// Stores a picture as if it had been fetched from a URL just now.
  ///
  /// - Parameter store: that of the coordinator.
  /// - Returns: its thumbnail; its original if nothing else is kept.
  /// - Throws: a ``Failure`` if the picture cannot be decoded or stored.
  package func put(
    _ picture: [UInt8], as url: ImageURL, options: RequestOptions, in store: LocalStore
  ) throws -> CacheRecord {
    let asked = WallTime.now
    let result = try answer(.upload(picture, as: url.text, options: options))
    if let failure = result.uncached?.facts.failure ?? result.outcome.failure() { throw failure }
    let name = options.fetch.name(of: url)
    let reader = try store.reader()
    let stored =
      options.keep.isOriginalAlone
      ? try reader?.original(of: name, isLenient: options.isLenient)
      : try reader?.thumbnail(
        for: name, variant: options.variant, isLenient: options.isLenient, at: asked)
    guard let stored else { throw Failure.isGone }
    return stored.record
  }
}

/// Requests that take more than one message.
extension Client {
  /// Submits a list as one job.
  ///
  /// - Parameters:
  ///   - order: in which the lines are fetched.
  ///   - pinPolicy: how long the job pins what it stores.
  ///   - namesFiles: whether lines may name files that this user's commands read, see ``JobFileReader``.
  ///   - columns: the names of those that the lines have.
  ///   - nextLines: the list's next lines, within ``Submission/maximumLineCount`` and
  ///     ``Submission/maximumByteCount``; `nil` at its end.
  /// - Returns: the job and the number of its lines, once it is durable.
  /// - Throws: ``ClientError/submission(isComplete:_:)`` where the connection ends first, unless
  ///   the coordinator said why before.
  package func submit(
    name: String?, options: RequestOptions, order: LineOrder = .firstInFirstOut,
    pinPolicy: PinPolicy = .none, namesFiles: Bool = false, columns: [String] = [],
    nextLines: () throws -> ListLines?
  ) throws -> (job: JobID, total: Int) {
    let id = newRequest()
    var isComplete = false
    do {
      try send(
        .submit(
          id,
          Submission(
            name: name, options: options, order: order, pinPolicy: pinPolicy,
            namesFiles: namesFiles, columns: columns)))
      while let lines = try nextLines() { try send(.submitLines(id, lines)) }
      try send(.submitEnd(id))
      isComplete = true
      guard case .submitted(_, let job, let total) = try reply(to: id, until: nil).message
      else {
        throw ClientError.unexpectedReply
      }
      return (job, total)
    } catch ClientError.connection(let error) {
      throw ClientError.submission(isComplete: isComplete, error)
    }
  }

  /// Follows a job until it ends.
  ///
  /// - Parameters:
  ///   - interval: how often `body` is called at least, whether or not something has changed.
  ///   - body: takes the newest state; returns `false` to stop following.
  /// - Returns: the state that `body` saw last.
  package func watch(
    _ job: JobID, every interval: Duration, _ body: (ImageJob) throws -> Bool
  ) throws -> ImageJob {
    let request = CoordinatorRequest.watch(job)
    let id = try send(request.exchange)
    func next(within time: Duration) throws(ClientError) -> ImageJob {
      try request.answer(reply(to: id, until: .now + time))
    }
    var status = try next(within: Self.answerTime)
    while try body(status), !status.hasEnded {
      do {
        status = try next(within: interval)
      } catch ClientError.connection(.timedOut) {
        continue
      }
    }
    return status
  }
}

/// Collects the lines of a list into batches that fit a frame.
package struct SubmissionBatcher: Sendable {
  private var batch = ListLines()
  private var byteCount = 0

  package init() {}

  /// Adds a line to the unfinished batch, or to the next one if that is full.
  ///
  /// - Returns: the full batch; `nil` if the line fits.
  package mutating func add(_ line: ListLine) -> ListLines? {
    let lineByteCount = line.text.utf8.count + line.columns.json.utf8.count
    let isFull =
      batch.count == Submission.maximumLineCount
      || byteCount + lineByteCount > Submission.maximumByteCount
    let full = isFull ? finish() : nil
    batch.append(line)
    byteCount += lineByteCount
    return full
  }

  /// The unfinished batch; `nil` if it is empty.
  package mutating func finish() -> ListLines? {
    guard !batch.isEmpty else { return nil }
    defer {
      batch = ListLines()
      byteCount = 0
    }
    return batch
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
    try rethrowing(
      try Directory.requireExclusive(UnixSocket.directory(of: path), mayBeForeign: true)
    ) { (error: SystemError) in Self.error(error, at: path) }
  }

  /// Neither lstat(2) nor connect(2) to a path fails with EPERM on its own account (unix(7)).
  private static func error(_ error: SystemError, at path: String) -> ClientError {
    switch error.code {
    // This process can open nothing. The coordinator may run.
    case EMFILE, ENFILE: return .connection(.system(error))
    case EPERM:
      let owner = owner(nearest: UnixSocket.directory(of: path))
      let isForeign = ![0, ThisProcess.userID].contains(owner)
      return .untrusted(
        socketPath: path, ownerID: isForeign ? owner : nil, reason: error.sentence)
    case EACCES:
      return .denied(socketPath: path, ownerID: owner(nearest: path), reason: error.reason)
    default: return .unreachable(socketPath: path, reason: error.reason)
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
