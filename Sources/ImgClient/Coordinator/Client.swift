package import ImgModel
import ImgWire

/// The coordinator as a program uses it: one request at a time, each call waits for its answer.
///
/// Calls throw ``ClientError``, and what the closures that they are given throw. Belongs to one
/// thread.
package final class Client {
  let connection: CoordinatorConnection
  let socketPath: String
  /// Where the coordinator says that its workers keep thumbnails. Only compared, never opened.
  let storeDirectory: String

  /// Connects, provided that the socket and its listener are safe, and greets.
  package init(socketPath: String) throws(ClientError) {
    connection = try CoordinatorConnection(socketPath: socketPath)
    guard let storeDirectory = connection.hello.storeDirectory else { throw .unexpectedReply }
    self.storeDirectory = storeDirectory
    self.socketPath = socketPath
  }

  /// The socket.
  var descriptor: CInt { connection.channel.descriptor }

  /// The coordinator's process.
  package var coordinatorProcessID: Int32 { connection.hello.processID }

  /// Makes sure that the coordinator keeps its thumbnails in the client's own store.
  ///
  /// - Throws: ``ClientError/otherStore(socketPath:theirs:ours:)`` when it does not.
  package func requireStore(in directory: String) throws(ClientError) {
    guard storeDirectory == directory else {
      throw .otherStore(socketPath: socketPath, theirs: storeDirectory, ours: directory)
    }
  }
}

/// Requests of one message, and what is made of them.
extension Client {
  /// The maximum length of a viewer's name in a request.
  package static let maximumViewerByteCount = GetRequest.maximumViewerByteCount

  /// Sends a request, and waits for its answer.
  @discardableResult
  package func answer<Answer>(
    _ request: CoordinatorRequest<Answer>,
    onUpdate: (ReceivedReply) throws(ClientError) -> Void = { _ in }
  ) throws(ClientError) -> Answer {
    try connection.answer(request, onUpdate: onUpdate)
  }

  /// Asks the coordinator to finish what runs and to leave.
  ///
  /// - Returns: when it has left.
  package func stop() throws(ClientError) {
    try answer(.stop)
    try connection.waitUntilClosed()
  }

  /// Makes the coordinator fetch pictures again that it remembers as missing.
  ///
  /// - Parameter urls: in the spelling of ``ImageURL/text``.
  package func forgetFailures(of urls: [String]) throws(ClientError) {
    // As many as surely fit a frame, whatever their bytes are.
    let chunkCount = SubmissionLines.maximumByteCount / ImageURL.maximumByteCount
    var rest = urls[...]
    while !rest.isEmpty {
      try answer(.forget(Array(rest.prefix(chunkCount))))
      rest = rest.dropFirst(chunkCount)
    }
  }

  /// The newest jobs that have not ended.
  package func activeJobs(atMost count: Int) throws(ClientError) -> [JobStatus] {
    Array(try answer(.jobs(isActiveOnly: true)).jobs.prefix(count))
  }

  /// Calls `body` with each job, newest first.
  package func forEachJob(_ body: (JobStatus) throws -> Void) throws {
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
  ) throws -> StoredRecord {
    let asked = WallTime.now
    let result = try answer(.upload(picture, as: url.text, options: options))
    if let failure = result.uncached?.facts.failure ?? result.outcome.failure() { throw failure }
    let name = options.fetch.name(of: url)
    let reader = try store.reader()
    let stored =
      options.keep == .original
      ? try reader?.original(of: name, isLenient: options.isLenient)
      : try reader?.thumbnail(
        for: name, variant: options.variant, isLenient: options.isLenient, at: asked)
    guard let stored else { throw Failure.isGone }
    return StoredRecord(stored.facts)
  }
}

/// Requests of several messages.
extension Client {
  /// Submits a list as one job.
  ///
  /// - Parameters:
  ///   - order: in which the lines are fetched.
  ///   - pinPolicy: how long the job pins what it stores.
  ///   - nextLines: the list's next lines, within ``SubmissionLines/maximumCount`` and
  ///     ``SubmissionLines/maximumByteCount``; `nil` at its end.
  /// - Returns: the job and the number of its lines, once it is durable.
  /// - Throws: ``ClientError/submission(isComplete:_:)`` where the connection ends first, unless
  ///   the coordinator said why before.
  package func submit(
    name: String?, options: RequestOptions, order: LineOrder = .firstInFirstOut,
    pinPolicy: PinPolicy = .none, nextLines: () throws -> [String]?
  ) throws -> (job: JobID, total: Int) {
    let id = connection.newRequest()
    try sendPart(
      .submit(
        Submission(id: id, name: name, options: options, order: order, pinPolicy: pinPolicy)))
    while let lines = try nextLines() {
      try sendPart(.submitLines(SubmissionLines(id: id, lines: lines)))
    }
    try sendPart(.submitEnd(PlainRequest(id: id)))
    do throws(ClientError) {
      guard case .submitted(let submitted) = try connection.reply(to: id, until: nil).message
      else {
        throw .unexpectedReply
      }
      return (submitted.job, submitted.total)
    } catch .connection(let error) {
      throw ClientError.submission(isComplete: true, error)
    }
  }

  /// Sends a part of a list.
  private func sendPart(_ part: ClientMessage) throws(ClientError) {
    do throws(ClientError) {
      try connection.send(part)
    } catch .connection(let error) {
      throw .submission(isComplete: false, error)
    }
  }

  /// Follows a job until it ends.
  ///
  /// - Parameters:
  ///   - interval: how often `body` is called at least, whether or not something has changed.
  ///   - body: takes the newest state; returns `false` to stop following.
  /// - Returns: the state that `body` saw last.
  package func watch(
    _ job: JobID, every interval: Duration, _ body: (JobStatus) throws -> Bool
  ) throws -> JobStatus {
    let request = CoordinatorRequest.watch(job)
    let id = try connection.send(request.exchange)
    func next(within time: Duration) throws(ClientError) -> JobStatus {
      try request.answer(connection.reply(to: id, until: .now + time))
    }
    var status = try next(within: CoordinatorConnection.answerTime)
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
