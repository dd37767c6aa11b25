package import ImgModel
import ImgTransport
package import ImgWire

/// Jobs: lists of URLs that are fetched in the background.
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
      guard case .submitted(let submitted) = try connection.reply(to: id, until: nil) else {
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

  private func jobReply(_ reply: CoordinatorReply) throws(ClientError) -> JobStatus {
    guard case .job(let reply) = reply else { throw .unexpectedReply }
    return reply.status
  }

  package func status(of job: JobID) throws(ClientError) -> JobStatus {
    let id = connection.newRequest()
    try connection.send(.job(JobRequest(id: id, job: job)))
    return try jobReply(connection.promptReply(to: id))
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
    let id = connection.newRequest()
    try connection.send(.job(JobRequest(id: id, job: job, isWatching: true)))
    var status = try jobReply(connection.promptReply(to: id))
    while try body(status), !status.hasEnded {
      do {
        status = try jobReply(connection.reply(to: id, until: .now + interval))
      } catch ClientError.connection(.timedOut) {
        continue
      }
    }
    return status
  }

  /// Changes a job.
  ///
  /// - Returns: once the change is durable: the job after it, or for a removal before it.
  /// - Throws: ``ClientError/refused(_:message:)`` with `wrong_state` where the job's state does not
  ///   allow the change; ``JobRecord/apply(_:at:)`` says when it does.
  package func change(_ job: JobID, _ change: JobChange) throws(ClientError) -> JobStatus {
    let id = connection.newRequest()
    try connection.send(.change(ChangeRequest(id: id, job: job, change: change)))
    return try jobReply(connection.reply(to: id, until: nil))
  }

  /// Jobs, or those of them that have not ended, newest first; `before` continues an earlier page.
  package func jobs(
    before: JobID? = nil, isActiveOnly: Bool = false
  ) throws(ClientError) -> JobsPage {
    let id = connection.newRequest()
    try connection.send(.jobs(JobsRequest(id: id, before: before, isActiveOnly: isActiveOnly)))
    guard case .jobs(let page) = try connection.promptReply(to: id) else { throw .unexpectedReply }
    return page
  }

  /// Calls `body` with each job, newest first.
  package func forEachJob(_ body: (JobStatus) throws -> Void) throws {
    var oldest: JobID?
    while true {
      let page = try jobs(before: oldest)
      try page.jobs.forEach(body)
      oldest = page.jobs.last?.job
      guard page.hasMore, oldest != nil else { return }
    }
  }

  /// A page of the job's lines, or of those that failed.
  ///
  /// - Parameter start: the index of the first line.
  package func results(
    of job: JobID, from start: Int, isFailedOnly: Bool = false
  ) throws(ClientError) -> ResultsPage {
    let id = connection.newRequest()
    try connection.send(
      .results(ResultsRequest(id: id, job: job, from: start, isFailedOnly: isFailedOnly)))
    guard case .results(let page) = try connection.promptReply(to: id) else {
      throw .unexpectedReply
    }
    return page
  }

  /// Calls `body` with each of the job's lines, or each that failed, in their order.
  package func results(
    of job: JobID, isFailedOnly: Bool, _ body: (LineResult) throws -> Void
  ) throws {
    var from: Int? = 0
    while let start = from {
      let page = try results(of: job, from: start, isFailedOnly: isFailedOnly)
      try page.entries.forEach(body)
      from = page.next
    }
  }
}
