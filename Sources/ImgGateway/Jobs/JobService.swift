import ImgClient
import ImgHTTP
import ImgModel

/// Answers requests about jobs, as JSON and as events.
struct JobService: Sendable {
  private struct List: Encodable {
    let jobs: [ImageJob]
  }

  /// The newest jobs that a list has.
  private static let maximumCount = 200

  let client: ImageClient

  func list() -> HTTPAnswer {
    answer {
      var jobs: [ImageJob] = []
      for try await job in client.jobs.prefix(Self.maximumCount) { jobs.append(job) }
      return .json(List(jobs: jobs))
    }
  }

  func job(_ id: ImageJob.ID) -> HTTPAnswer {
    answer { .json(try await client.jobs.job(id)) }
  }

  /// Repeats the failures of a job that may succeed now.
  func retry(_ id: ImageJob.ID) -> HTTPAnswer {
    answer { .json(try await client.jobs.retry(id)) }
  }

  /// The job at once and after each change until it has ended, as server-sent events (WHATWG HTML Standard,
  /// section 9.2).
  func events(_ id: ImageJob.ID) -> HTTPAnswer {
    answer {
      // A job that does not exist has a status of its own.
      _ = try await client.jobs.job(id)
      return HTTPResponse(
        .ok,
        fields: [
          "Content-Type": "text/event-stream", "Cache-Control": "no-store",
          "X-Content-Type-Options": "nosniff",
        ],
        body: .stream(JobEvents.stream(of: id, in: client.jobs)))
    }
  }

  private func answer(
    _ body: @escaping @Sendable () async throws -> HTTPResponse
  ) -> HTTPAnswer {
    .later {
      do {
        return try await body()
      } catch {
        let error =
          error as? ImageError ?? ImageError(code: .internal, message: String(describing: error))
        return FailureReport(error).response(HTTPStatus(error))
      }
    }
  }
}
