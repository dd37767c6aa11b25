import ImgClient
import ImgHTTP
import ImgModel

/// A job in JSON: as commands print it, and in the words for the load of one picture. A job succeeds if all of its
/// pictures do.
struct JobReport: Encodable {
  /// What an observer of one picture is told, too.
  struct Details {
    /// The address of the first picture that is there.
    let address: String?
    /// Why the first picture that has failed did.
    let failure: ImageError?
  }

  let job: ImageJob
  private let details: Details?

  /// - Parameter details: `nil` leaves out both.
  init(_ job: ImageJob, _ details: Details? = nil) {
    self.job = job
    self.details = details
  }

  var phase: LoadPhase {
    guard job.hasEnded else { return job.done + job.failed > 0 ? .loading : .empty }
    return job.state == .finished && job.failed == 0 ? .success : .failure
  }

  func encode(to encoder: any Encoder) throws {
    let observed = details.map { details in
      JSONObject(
        [
          "image": details.address,
          "error": details.failure.map { FailureReport(ofListed: $0).details },
        ], writesNull: true)
    }
    try JSONObject(["phase": phase, "is_loading": phase.isLoading], beside: job, observed)
      .encode(to: encoder)
  }
}

/// The updates of a job as server-sent events: `job` with the job as JSON, at last `end` with its phase, or `failure`
/// with a message. A browser connects again after a second.
enum JobEvents {
  static func stream(of id: ImageJob.ID, in jobs: ImageJobs) -> AsyncStream<[UInt8]> {
    // A reader that is slow gets the newest event.
    AsyncStream(bufferingPolicy: .bufferingNewest(2)) { events in
      events.yield(Array("retry: 1000\n\n".utf8))
      let task = Task {
        do throws(ImageError) {
          var phase = LoadPhase.empty
          for try await job in jobs.updates(of: id) {
            let report = JobReport(job)
            phase = report.phase
            events.yield(ServerSentEvent.bytes("job", GatewayJSON.bytes(of: report)))
          }
          let end = GatewayJSON.bytes(of: JSONObject(["phase": phase]))
          events.yield(ServerSentEvent.bytes("end", end))
        } catch {
          let report = GatewayJSON.bytes(of: FailureReport(error))
          events.yield(ServerSentEvent.bytes("failure", report))
        }
        events.finish()
      }
      events.onTermination = { _ in task.cancel() }
    }
  }
}

/// Answers requests about jobs, as JSON and as events.
struct JobService: Sendable {
  /// The newest jobs that a list has.
  private static let maximumCount = 200

  let client: ImageClient
  let lists: PictureLists
  /// Of an answer, or until its events begin.
  let timeout: Duration

  func list() -> HTTPAnswer {
    .laterOrFailure(within: timeout) { () throws(ImageError) in
      var jobs: [ImageJob] = []
      var all = client.jobs.makeAsyncIterator()
      while jobs.count < Self.maximumCount, let job = try await all.next(isolation: nil) {
        jobs.append(job)
      }
      return .json(JSONObject(["jobs": jobs.map { JobReport($0) }]))
    }
  }

  /// - Parameter address: under which the client reaches the gateway.
  func job(_ id: ImageJob.ID, at address: PublicAddress) -> HTTPAnswer {
    .laterOrFailure(within: timeout) { () throws(ImageError) in
      let job = try await client.jobs.job(id)
      let picture = try await lists.firstPicture(of: job)
      let details = JobReport.Details(
        address: picture.map { address.url(of: $0) }, failure: try await lists.firstFailure(of: job)
      )
      return .json(JobReport(job, details))
    }
  }

  /// Repeats the failures of a job that may succeed now.
  func retry(_ id: ImageJob.ID) -> HTTPAnswer {
    .laterOrFailure(within: timeout) { () throws(ImageError) in
      .json(JobReport(try await client.jobs.retry(id)))
    }
  }

  /// The job at once and after each change until it has ended, as server-sent events (WHATWG HTML Standard,
  /// section 9.2).
  func events(_ id: ImageJob.ID) -> HTTPAnswer {
    .laterOrFailure(within: timeout) { () throws(ImageError) in
      // A job that does not exist has a status of its own.
      _ = try await client.jobs.job(id)
      return .events(JobEvents.stream(of: id, in: client.jobs))
    }
  }
}
