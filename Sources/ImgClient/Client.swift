import ImgSystem
import ImgTransport
package import ImgWire

/// A connection to the coordinator, one request at a time, each call waiting for its answer.
///
/// Calls throw ``ClientError``, and what the closures that they are given throw. Belongs to one
/// thread.
package final class Client {
  private let channel: Channel<CoordinatorReply, ClientMessage>
  private var lastRequest: UInt64 = 0

  /// The coordinator's process.
  package let coordinatorProcessID: Int32
  /// Where the coordinator's workers keep thumbnails.
  package let storeDirectory: String

  /// How long the coordinator may take for an answer that it has at hand.
  private static let answerTime = Duration.seconds(30)

  /// Connects and greets.
  package init(socketPath: String) throws(ClientError) {
    do throws(SystemError) {
      channel = try Channel(UnixSocket.connect(path: socketPath))
    } catch {
      throw .unreachable(socketPath: socketPath, reason: error.description)
    }
    let hello = try Self.greet(over: channel)
    guard let storeDirectory = hello.storeDirectory else { throw Self.unexpected }
    coordinatorProcessID = hello.processID
    self.storeDirectory = storeDirectory
  }

  private static func greet(
    over channel: Channel<CoordinatorReply, ClientMessage>
  ) throws(ClientError) -> Hello {
    let reply: CoordinatorReply
    do throws(ChannelError) {
      try channel.send(.hello(Hello(processID: ThisProcess.processID)))
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

  // MARK: - Jobs

  /// Submits a list as one job.
  ///
  /// - Parameter nextLines: the list's next lines, within ``SubmissionLines/maximumCount`` and
  ///   ``SubmissionLines/maximumByteCount``; `nil` at its end.
  /// - Returns: once the job is durable.
  package func submit(
    name: String?, options: RequestOptions, nextLines: () throws -> [String]?
  ) throws -> Submitted {
    let id = newRequest()
    try send(.submit(Submission(id: id, name: name, options: options)))
    while let lines = try nextLines() {
      try send(.submitLines(SubmissionLines(id: id, lines: lines)))
    }
    try send(.submitEnd(PlainRequest(id: id)))
    guard case .submitted(let submitted) = try reply(to: id, until: nil) else {
      throw Self.unexpected
    }
    return submitted
  }

  package func status(of job: JobID) throws(ClientError) -> JobStatus {
    let id = newRequest()
    try send(.job(JobRequest(id: id, job: job)))
    return try jobReply(to: id)
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
    let id = newRequest()
    try send(.job(JobRequest(id: id, job: job, isWatching: true)))
    var status = try jobReply(to: id)
    while try body(status), !status.hasEnded {
      do {
        status = try jobReply(to: id, until: .now + interval)
      } catch ClientError.connection(.timedOut) {
        continue
      }
    }
    return status
  }

  /// Jobs, or those of them that have not ended, newest first; `before` continues an earlier page.
  package func jobs(
    before: JobID? = nil, isActiveOnly: Bool = false
  ) throws(ClientError) -> JobsPage {
    let id = newRequest()
    try send(.jobs(JobsRequest(id: id, before: before, isActiveOnly: isActiveOnly)))
    guard case .jobs(let page) = try reply(to: id) else { throw Self.unexpected }
    return page
  }

  /// Calls `body` with each of the job's lines, or each that failed, in their order.
  package func results(
    of job: JobID, isFailedOnly: Bool, _ body: (ResultsPage.Entry) throws -> Void
  ) throws {
    var from: Int? = 0
    while let start = from {
      let id = newRequest()
      try send(
        .results(ResultsRequest(id: id, job: job, from: start, isFailedOnly: isFailedOnly)))
      guard case .results(let page) = try reply(to: id) else { throw Self.unexpected }
      try page.entries.forEach(body)
      from = page.next
    }
  }

  /// Stops a job.
  ///
  /// - Returns: its final state.
  package func cancel(_ job: JobID) throws(ClientError) -> JobStatus {
    let id = newRequest()
    try send(.cancel(JobRequest(id: id, job: job)))
    while true {
      let status = try jobReply(to: id, until: nil)
      if status.hasEnded { return status }
    }
  }

  // MARK: - One picture

  /// Has a thumbnail made, before all batches.
  ///
  /// - Returns: when it is in the store, or cannot be made. How long that may take is the
  ///   coordinator's limits' matter.
  package func get(_ url: String, options: RequestOptions) throws(ClientError) -> Outcome {
    let id = newRequest()
    try send(.get(GetRequest(id: id, url: url, options: options)))
    guard case .got(let got) = try reply(to: id, until: nil) else { throw Self.unexpected }
    return got.outcome
  }

  // MARK: - The cluster

  package func status() throws(ClientError) -> ClusterStatus {
    let id = newRequest()
    try send(.status(PlainRequest(id: id)))
    guard case .status(let reply) = try reply(to: id) else { throw Self.unexpected }
    return reply.cluster
  }

  /// Asks the coordinator to finish what runs and to leave.
  ///
  /// - Returns: when it has left.
  package func stop() throws(ClientError) {
    let id = newRequest()
    try send(.stop(PlainRequest(id: id)))
    guard case .stopping = try reply(to: id) else { throw Self.unexpected }
    do throws(ClientError) {
      while true { _ = try nextReply(until: nil) }
    } catch .connection(.closed) {
      return
    }
  }

  // MARK: - Requests and replies

  private func newRequest() -> RequestID {
    lastRequest += 1
    return RequestID(rawValue: lastRequest)
  }

  private func send(_ message: ClientMessage) throws(ClientError) {
    do throws(ChannelError) {
      try channel.send(message)
      try channel.flush(until: .now + Self.answerTime)
    } catch {
      throw .connection(error)
    }
  }

  /// The next reply to this request. Others are late replies to requests that were given up.
  private func reply(to id: RequestID) throws(ClientError) -> CoordinatorReply {
    try reply(to: id, until: .now + Self.answerTime)
  }

  private func reply(
    to id: RequestID, until deadline: ContinuousClock.Instant?
  ) throws(ClientError) -> CoordinatorReply {
    while true {
      let reply = try nextReply(until: deadline)
      if case .refused(let refusal) = reply,
        refusal.id == id || refusal.id == RequestRefusal.wholeConnection
      {
        throw .refused(refusal.code, message: refusal.message)
      }
      if reply.request == id { return reply }
    }
  }

  private func nextReply(
    until deadline: ContinuousClock.Instant?
  ) throws(ClientError) -> CoordinatorReply {
    do throws(ChannelError) {
      return try channel.next(until: deadline)
    } catch {
      throw .connection(error)
    }
  }

  private func jobReply(to id: RequestID) throws(ClientError) -> JobStatus {
    try jobReply(to: id, until: .now + Self.answerTime)
  }

  private func jobReply(
    to id: RequestID, until deadline: ContinuousClock.Instant?
  ) throws(ClientError) -> JobStatus {
    guard case .job(let reply) = try reply(to: id, until: deadline) else { throw Self.unexpected }
    return reply.status
  }

  private static var unexpected: ClientError {
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
    case .stopping(let request): request.id
    }
  }
}
