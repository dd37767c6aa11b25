import Glibc
import ImgClient
import ImgModel
import ImgSystem

/// Shows the progress of a job until it has ended: a bar on a terminal, lines elsewhere (see
/// ``LineCadence``), or an object for each change with `--json`. Ctrl-C ends the display, not the
/// job.
struct JobFollower {
  private let context: CommandContext
  private let isJSON: Bool

  private static let redrawInterval = Duration.milliseconds(100)
  /// The width of a terminal that does not report one.
  private static let defaultColumns = 80

  init(in context: CommandContext, isJSON: Bool) {
    self.context = context
    self.isJSON = isJSON
  }

  /// Follows the job until it has ended or the user presses Ctrl-C, and prints a summary.
  func follow(_ job: JobID, client: Client) throws -> ExitCode {
    conclude(try isJSON ? print(job, client: client) : watch(job, client: client))
  }

  /// Prints an object for each change that the coordinator reports, at most ten a second.
  ///
  /// - Returns: the last printed status; not an end after Ctrl-C.
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

  /// - Returns: the last received status; not an end after Ctrl-C.
  private func watch(_ job: JobID, client: Client) throws -> JobStatus {
    // From here on, Ctrl-C is an event and does not end the process.
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
        context.note(line.erase() + "job \(job) is paused; continue with: imgctl resume \(job)\n")
      }
      wasPaused = isPaused
      if isOnTerminal {
        let columns = Terminal.columns(2) ?? Self.defaultColumns
        context.note(line.draw(current.line(columns: columns)))
      } else if cadence.takes(status, at: now - start) {
        context.note(current.plainLine + "\n")
      }
      return signals.take().isEmpty
    }
  }

  /// Prints the summary, with the commands to type next.
  private func conclude(_ status: JobStatus) -> ExitCode {
    guard status.hasEnded else {
      if !isJSON {
        let course = status.state == .paused ? "stays paused" : "continues"
        context.note(
          "job \(status.job) \(course); to follow it again: imgctl wait \(status.job)\n")
      }
      return .interrupted
    }
    if !isJSON { context.note(JobSummary(status).text) }
    return status.exitCode
  }
}

extension JobStatus {
  /// The exit code of a command about this job. A damaged job counts as failed, because its
  /// outcomes are unknown.
  var exitCode: ExitCode {
    failed > 0 || cancelled > 0 || state == .damaged ? .someFailed : .success
  }
}
