import Glibc
import ImgClient
import ImgModel
import ImgSystem

/// Shows how far a job is until it has ended: a bar on a terminal, lines elsewhere, see
/// ``LineCadence``, an object for each change where JSON is wanted. Ctrl-C ends the showing, not the
/// job.
struct JobFollower {
  private let context: CommandContext
  private let isJSON: Bool

  private static let redrawInterval = Duration.milliseconds(100)
  /// What a terminal that does not say has room for.
  private static let usualColumns = 80

  init(in context: CommandContext, isJSON: Bool) {
    self.context = context
    self.isJSON = isJSON
  }

  /// Follows the job until it has ended or the person leaves, and says how it went.
  func follow(_ job: JobID, client: Client) throws -> ExitCode {
    conclude(try isJSON ? print(job, client: client) : watch(job, client: client))
  }

  /// Prints an object for each change that the coordinator tells of, which is ten a second at most.
  ///
  /// - Returns: the job as it was printed last; not ended when the person left.
  private func print(_ job: JobID, client: Client) throws -> JobStatus {
    let signals = try SignalSource([SIGINT])
    var printed: JobStatus?
    return try client.watch(job, every: Self.redrawInterval) { status in
      if status != printed {
        printed = status
        try context.output.write(json: status)
        try context.output.flush()
      }
      return signals.take().isEmpty
    }
  }

  /// - Returns: the job as it was seen last; not ended when the person left.
  private func watch(_ job: JobID, client: Client) throws -> JobStatus {
    // From here on Ctrl-C is an event to look for, not the end of the process.
    let signals = try SignalSource([SIGINT])
    let start = ContinuousClock.now
    let isOnTerminal = Terminal.isTerminal(2)
    var bar: ProgressBar?
    var line = RedrawnLine()
    var cadence = LineCadence()
    var wasPaused = false
    defer { context.note(line.end()) }
    return try client.watch(job, every: Self.redrawInterval) { status in
      let now = ContinuousClock.now
      let wall = context.now
      var current = bar ?? ProgressBar(status, at: now - start, wall: wall)
      current.update(status, at: now - start, wall: wall)
      bar = current
      let isPaused = status.state == .paused
      if isPaused, !wasPaused {
        context.note(line.erase() + "job \(job) is paused; it goes on with: imgctl resume \(job)\n")
      }
      wasPaused = isPaused
      if isOnTerminal {
        let columns = Terminal.columns(2) ?? Self.usualColumns
        context.note(line.draw(current.line(columns: columns)))
      } else if cadence.takes(status, at: now - start) {
        context.note(current.plainLine + "\n")
      }
      return signals.take().isEmpty
    }
  }

  /// Says how it went, and what to type next.
  private func conclude(_ status: JobStatus) -> ExitCode {
    guard status.hasEnded else {
      if !isJSON {
        let course = status.state == .paused ? "stays paused" : "goes on"
        context.note(
          "job \(status.job) \(course); see it again with: imgctl wait \(status.job)\n")
      }
      return .interrupted
    }
    if !isJSON { context.note(JobSummary(status).text) }
    return status.exitCode
  }
}

extension JobStatus {
  /// How a command about this job ends. Of a damaged job nobody knows whether anything failed.
  var exitCode: ExitCode {
    failed > 0 || cancelled > 0 || state == .damaged ? .someFailed : .success
  }
}
