import ImgClient
import ImgModel
import ImgSystem

/// Reads the updates of a job on the thread of a command, which blocks. They arrive on other threads.
final class JobUpdateReader: Sendable {
  private typealias Event = Result<JobStatus, ImageError>

  private let events: BlockingQueue<Event>
  private let task: Task<Void, Never>

  /// Updates that wait for the thread. Further ones replace each other until it has read some.
  private static let waitingMaximum = 16
  private static let pauseWhileFull = Duration.milliseconds(100)

  init(_ updates: ImageJobUpdates) throws(SystemError) {
    let events = try BlockingQueue<Event>(capacity: Self.waitingMaximum)
    self.events = events
    task = Task { await JobUpdateReader.pushAll(updates, to: events) }
  }

  deinit {
    task.cancel()
  }

  private static func pushAll(
    _ updates: ImageJobUpdates, to events: BlockingQueue<Event>
  ) async {
    do throws(ImageError) {
      for try await job in updates { await push(.success(job.status), to: events) }
    } catch {
      await push(.failure(error), to: events)
    }
  }

  private static func push(_ event: Event, to events: BlockingQueue<Event>) async {
    while !events.push(event), !Task.isCancelled {
      try? await Task.sleep(for: pauseWhileFull)
    }
  }

  /// The next update, for which the thread waits up to the deadline; `nil` after that.
  func next(until deadline: ContinuousClock.Instant) throws(ImageError) -> JobStatus? {
    try events.take(upTo: 1, until: deadline)?.first?.get()
  }
}
