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
    ImageJob(try await answer(.job(JobID(rawValue: id))))
  }

  /// A page of up to 500 jobs.
  public func jobs(
    before id: ImageJob.ID?
  ) async throws(ImageError) -> (jobs: [ImageJob], hasMore: Bool) {
    let page = try await answer(.jobs(before: id.map(JobID.init(rawValue:))))
    return (page.jobs.map { ImageJob($0) }, page.hasMore)
  }

  /// Watches a job over the connection of the loads. Each watch is one of its 1,000 requests.
  public func watchJob(
    _ id: ImageJob.ID, onUpdate: @escaping @Sendable (ImageJob) -> Void
  ) async throws(ImageError) {
    let end = try await answer(.watch(JobID(rawValue: id))) { reply in
      if case .job(let reply) = reply.message { onUpdate(ImageJob(reply.status)) }
    }
    onUpdate(ImageJob(end))
  }

  /// A page of up to 500 URLs.
  public func jobResults(
    of id: ImageJob.ID, from index: Int, failedOnly: Bool
  ) async throws(ImageError) -> (results: [ImageJobResult], next: Int?) {
    let page = try await answer(
      .results(of: JobID(rawValue: id), from: max(0, index), isFailedOnly: failedOnly))
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
    do throws(ImageError) {
      return ImageJob(try await answer(.change(job, JobChange(change))))
    } catch  where error.code == .disconnected {
      throw ImageError(
        code: .disconnected, isRetryable: true,
        message: "\(error.message); whether job \(job) was changed is not known: "
          + "imgctl status \(job) tells")
    }
  }
}
