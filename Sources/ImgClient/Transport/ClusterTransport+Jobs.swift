import ImgModel
import ImgWire

/// Requests about jobs share the connection of the loads. A list goes over a connection of its own.
extension ClusterTransport: JobTransport {
  /// Submits a list over a connection and from a thread of its own. A few lists are sent at the same time,
  /// others wait for them.
  public func submitJob(
    _ request: ImageJobRequest, urls: some Sequence<String> & Sendable
  ) async throws(ImageError) -> ImageJob.ID {
    let submission = JobSubmission(
      name: request.name, options: try request.options(), order: request.lineOrder)
    guard await submissions.enter() else { throw .cancelled(nil) }
    defer { submissions.leave() }
    return try await submission.job(of: urls, connect: connect).rawValue
  }

  /// A job as it stands now.
  public func job(_ id: ImageJob.ID) async throws(ImageError) -> ImageJob {
    let call = SessionCall(request: { .job(JobRequest(id: $0, job: JobID(rawValue: id))) })
    return try Self.job(in: await reply(to: call))
  }

  /// A page of up to 500 jobs.
  public func jobs(
    before id: ImageJob.ID?
  ) async throws(ImageError) -> (jobs: [ImageJob], hasMore: Bool) {
    let call = SessionCall(
      request: { .jobs(JobsRequest(id: $0, before: id.map(JobID.init(rawValue:)))) })
    guard case .jobs(let page) = try await reply(to: call) else { throw .unexpectedReply }
    return (page.jobs.map { ImageJob($0) }, page.hasMore)
  }

  /// Watches a job over the connection of the loads. Each watch is one of its 1,000 requests.
  public func watchJob(
    _ id: ImageJob.ID, onUpdate: @escaping @Sendable (ImageJob) -> Void
  ) async throws(ImageError) {
    let call = SessionCall(
      request: { .job(JobRequest(id: $0, job: JobID(rawValue: id), isWatching: true)) },
      detachment: { .detach(PlainRequest(id: $0)) },
      step: { reply in
        guard case .job(let reply) = reply.message else { return .answer }
        onUpdate(ImageJob(reply.status))
        return reply.status.hasEnded ? .answer : .more(nil)
      })
    _ = try Self.job(in: await reply(to: call))
  }

  /// A page of up to 500 URLs.
  public func jobResults(
    of id: ImageJob.ID, from index: Int, failedOnly: Bool
  ) async throws(ImageError) -> (results: [ImageJobResult], next: Int?) {
    let job = JobID(rawValue: id)
    let call = SessionCall(
      request: {
        .results(ResultsRequest(id: $0, job: job, from: max(0, index), isFailedOnly: failedOnly))
      })
    guard case .results(let page) = try await reply(to: call) else { throw .unexpectedReply }
    let results = page.entries.map { line in
      ImageJobResult(
        index: line.index, url: line.url,
        outcome: line.outcome.map { ImageJobResult.Outcome($0, url: line.url) })
    }
    return (results, page.next)
  }

  /// Changes a job. The request is sent once.
  public func changeJob(
    _ id: ImageJob.ID, _ change: ImageJobChange
  ) async throws(ImageError) -> ImageJob {
    let job = JobID(rawValue: id)
    let call = SessionCall(
      isRepeatable: false,
      request: { .change(ChangeRequest(id: $0, job: job, change: JobChange(change))) })
    do throws(ImageError) {
      return try Self.job(in: await reply(to: call))
    } catch  where error.code == .disconnected {
      throw ImageError(
        code: .disconnected, isRetryable: true,
        message: "\(error.message); whether job \(job) was changed is not known: "
          + "imgctl status \(job) tells")
    }
  }

  private static func job(in reply: CoordinatorReply) throws(ImageError) -> ImageJob {
    guard case .job(let reply) = reply else { throw .unexpectedReply }
    return ImageJob(reply.status)
  }
}

extension ImageError {
  fileprivate static var unexpectedReply: ImageError {
    ImageError(ClientError.unexpectedReply, url: nil)
  }
}
