import ImgClient
import ImgModel
import ImgSystem

/// What becomes of the first worker of a coordinator that was just started.
enum WorkerStart {
  case ready
  /// None was ready in time; the reason is not known, or is only that it takes time.
  case starting
  /// None can be started.
  case failed(reason: String)

  /// How long the command waits for the first worker.
  private static let startTime = Duration.seconds(10)
  private static let pause = Duration.milliseconds(20)
  /// Failed starts of each slot that are no accident.
  private static let failureMaximum = 2

  /// Waits until a worker is ready, or until it is known that none can be started.
  static func outcome(client: Client) throws -> WorkerStart {
    do {
      return try firstOutcome(client)
    } catch ClientError.refused(_, let message) {
      // The coordinator has given up by itself.
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
