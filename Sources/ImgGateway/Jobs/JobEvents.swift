import ImgClient

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
