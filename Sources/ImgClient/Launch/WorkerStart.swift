import ImgModel
import ImgSystem

/// How the first worker of a new coordinator started.
package enum WorkerStart: Sendable {
  case ready
  /// No worker was ready in time.
  case starting
  /// No worker can be started.
  case failed(reason: String)

  /// How long it waits for the first worker.
  private static let startTime = Duration.seconds(10)
  private static let pause = Duration.milliseconds(20)
  /// Failed starts of each worker after which the start counts as failed.
  private static let failureMaximum = 2

  /// Waits until a worker is ready or cannot be started.
  package static func outcome(client: Client) throws -> WorkerStart {
    do {
      return try firstOutcome(client)
    } catch ClientError.refused(_, let message) {
      // The coordinator has ended because no worker started.
      return .failed(reason: message)
    }
  }

  private static func firstOutcome(_ client: Client) throws -> WorkerStart {
    let deadline = ContinuousClock.now + startTime
    repeat {
      let status = try client.status()
      if status.workers.contains(where: { $0.state == .ready }) { return .ready }
      if let wait = status.wait, wait.kind == .noWorker, let reason = wait.detail,
        status.workers.allSatisfy({ $0.deaths >= failureMaximum })
      {
        return .failed(reason: reason)
      }
      ThisProcess.pause(for: pause)
    } while ContinuousClock.now < deadline
    return .starting
  }
}
