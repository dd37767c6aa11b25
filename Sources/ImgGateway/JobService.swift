import ImgClient
import ImgHTTP
import ImgModel

/// The updates of a job as server-sent events: `job` with the job as JSON, at last `end`, or `failure` with a
/// message. A browser connects again after a second.
enum JobEvents {
  static func stream(of id: ImageJob.ID, in jobs: ImageJobs) -> AsyncStream<[UInt8]> {
    // A reader that is slow gets the newest event.
    AsyncStream(bufferingPolicy: .bufferingNewest(2)) { events in
      events.yield(Array("retry: 1000\n\n".utf8))
      let task = Task {
        do throws(ImageError) {
          for try await job in jobs.updates(of: id) {
            events.yield(event("job", GatewayJSON.bytes(of: job)))
          }
          events.yield(event("end", Array("{}".utf8)))
        } catch {
          events.yield(event("failure", GatewayJSON.bytes(of: FailureReport(error))))
        }
        events.finish()
      }
      events.onTermination = { _ in task.cancel() }
    }
  }

  /// - Parameter data: one line.
  private static func event(_ name: String, _ data: [UInt8]) -> [UInt8] {
    Array("event: \(name)\ndata: ".utf8) + data + Array("\n\n".utf8)
  }
}

/// Answers requests about jobs, as JSON and as events.
struct JobService: Sendable {
  /// The newest jobs that a list has.
  private static let maximumCount = 200

  let client: ImageClient
  /// Of an answer, or until its events begin.
  let timeout: Duration

  func list() -> HTTPAnswer {
    .laterOrFailure(within: timeout) { () throws(ImageError) in
      var jobs: [ImageJob] = []
      var all = client.jobs.makeAsyncIterator()
      while jobs.count < Self.maximumCount, let job = try await all.next(isolation: nil) {
        jobs.append(job)
      }
      return .json(JSONObject(["jobs": jobs]))
    }
  }

  func job(_ id: ImageJob.ID) -> HTTPAnswer {
    .laterOrFailure(within: timeout) { () throws(ImageError) in
      .json(try await client.jobs.job(id))
    }
  }

  /// Repeats the failures of a job that may succeed now.
  func retry(_ id: ImageJob.ID) -> HTTPAnswer {
    .laterOrFailure(within: timeout) { () throws(ImageError) in
      .json(try await client.jobs.retry(id))
    }
  }

  /// The job at once and after each change until it has ended, as server-sent events (WHATWG HTML Standard,
  /// section 9.2).
  func events(_ id: ImageJob.ID) -> HTTPAnswer {
    .laterOrFailure(within: timeout) { () throws(ImageError) in
      // A job that does not exist has a status of its own.
      _ = try await client.jobs.job(id)
      return HTTPResponse(
        .ok,
        fields: [
          "Content-Type": "text/event-stream", "Cache-Control": "no-store",
          "X-Content-Type-Options": "nosniff",
          // nginx sends each event at once.
          "X-Accel-Buffering": "no",
        ],
        body: .stream(JobEvents.stream(of: id, in: client.jobs)))
    }
  }
}
