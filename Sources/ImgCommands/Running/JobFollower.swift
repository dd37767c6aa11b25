import Glibc
import ImgClient
import ImgSystem
import ImgWire

/// Shows how far a job is until it has ended: a bar on a terminal, a line a second elsewhere,
/// nothing where the result is wanted as JSON. Ctrl-C ends the showing, not the job.
struct JobFollower {
  private let context: CommandContext
  private let isQuiet: Bool

  private static let redrawInterval = Duration.milliseconds(100)
  private static let lineInterval = Duration.seconds(1)
  /// What a terminal that does not say has room for.
  private static let usualColumns = 80

  init(in context: CommandContext, isQuiet: Bool) {
    self.context = context
    self.isQuiet = isQuiet
  }

  /// - Returns: the job as it was seen last; not ended when the person left.
  func follow(_ job: JobID, client: Client) throws -> JobStatus {
    // From here on Ctrl-C is an event to look for, not the end of the process.
    let signals = try SignalSource([SIGINT])
    let start = ContinuousClock.now
    let isOnTerminal = Terminal.isTerminal(2) && !isQuiet
    var bar: ProgressBar?
    var line = RedrawnLine()
    var nextLine = start
    let status = try client.watch(job, every: Self.redrawInterval) { status in
      let now = ContinuousClock.now
      var current = bar ?? ProgressBar(status, at: now - start)
      current.update(status, at: now - start)
      bar = current
      if isOnTerminal {
        let columns = Terminal.columns(2) ?? Self.usualColumns
        context.note(line.draw(current.line(columns: columns)))
      } else if !isQuiet, now >= nextLine || status.hasEnded {
        nextLine = now + Self.lineInterval
        context.note(current.plainLine + "\n")
      }
      return signals.take().isEmpty
    }
    context.note(line.end())
    return status
  }

  /// Says how it went, and what to type next.
  func conclude(_ status: JobStatus) throws -> ExitCode {
    guard status.hasEnded else {
      if !isQuiet {
        context.note(
          "job \(status.job) goes on; see it again with: imgctl wait \(status.job)\n")
      }
      return .interrupted
    }
    if !isQuiet {
      context.note(Self.summary(status) + "\n")
      if status.failed > 0 {
        context.note("see which with: imgctl failures \(status.job)\n")
      }
    }
    return status.exitCode
  }

  private static func summary(_ status: JobStatus) -> String {
    var facts = ["\(status.done) of \(status.total) done", "\(status.failed) failed"]
    if status.cancelled > 0 { facts.append("\(status.cancelled) cancelled") }
    facts.append("\(status.fromCache) from cache")
    facts.append("\(HumanText.size(status.bytesFetched)) fetched")
    if let started = status.startedAt, let finished = status.finishedAt {
      facts.append("in " + HumanText.duration(milliseconds: started.milliseconds(to: finished)))
    }
    return "job \(status.job) \(status.state.rawValue): " + facts.joined(separator: ", ")
  }
}

extension JobStatus {
  /// How a command about this job ends.
  var exitCode: ExitCode { failed > 0 || cancelled > 0 ? .someFailed : .success }
}
