import Glibc
import ImgClient
import ImgModel
import ImgWire

/// Runs one list: submits it as a person does, waits for its end or as far as the time goes, and then
/// through the death of its coordinator.
struct ListTrial {
  private let list: LongList
  private let cluster: Cluster
  /// After it a job is cut short: the rest of ten million lines says nothing new.
  private let timeLimit: Duration
  private(set) var pass = ListPass()
  /// The job submitted last.
  private var status: JobStatus?

  /// A short list is run again until so much time has passed, for a quantile of the latencies and
  /// for a clock of processor time that counts hundredths of a second.
  private static let shortestTime = Duration.seconds(3)
  private static let patience = Duration.seconds(30)

  init(_ list: LongList, on cluster: Cluster, timeLimit: Duration) {
    self.list = list
    self.cluster = cluster
    self.timeLimit = timeLimit
  }

  mutating func run() throws {
    let end = ContinuousClock.now + Self.shortestTime
    repeat { try runOnce() } while ContinuousClock.now < end
  }

  /// The job begins when its last line is durable, so that handing over and running meet only in
  /// the answer to `submit`.
  private mutating func runOnce() throws {
    let before = try ListPass.Meter(cluster)
    let duration = try cluster.run(["submit", list.path])
    let submitted = try ListPass.Meter(cluster)
    pass.addSubmission(
      lineCount: list.lineCount, seconds: duration.inSeconds, from: before, to: submitted)

    let end = ContinuousClock.now + timeLimit
    let status = try follow { _ in ContinuousClock.now < end }
    let after = try ListPass.Meter(cluster)
    let now = WallTime.now
    guard let startedAt = status.startedAt else { throw BenchError("\(status) did not start") }
    let time = startedAt.duration(to: status.finishedAt ?? now)
    pass.addRun(
      endedCount: status.finished, seconds: time.inSeconds, from: submitted, to: after)
  }

  /// Ends the coordinator amid the job, or amid another one of the same list where the job has
  /// ended; the job must go on where it was.
  ///
  /// - Returns: how long the first answer about the job took, the new coordinator's start included.
  mutating func restart() throws -> Duration {
    if status?.hasEnded != false { try cluster.run(["submit", list.path]) }
    let before = try follow { $0.finished == 0 }
    kill(try cluster.client().coordinatorProcessID, SIGKILL)
    awaitDeath()
    let duration = try cluster.run(["priority", "\(before.job)", "0"])
    try requireProgress(since: before)
    return duration
  }

  /// Nothing that had ended is lost, and more ends; the rest of the job is cancelled.
  private mutating func requireProgress(since before: JobStatus) throws {
    let first = try follow { _ in false }
    guard first.finished >= before.finished else {
      throw BenchError("\(before.finished) lines had ended, and \(first.finished) are left")
    }
    let deadline = ContinuousClock.now + Self.patience
    let last = try follow { $0.finished <= first.finished && ContinuousClock.now < deadline }
    guard last.hasEnded || last.finished > first.finished else {
      throw BenchError("job \(before.job) does not go on after its coordinator's death")
    }
    if !last.hasEnded { try cluster.run(["cancel", "\(last.job)"]) }
  }

  /// Waits until no process listens any more. The connections of a process that dies may end
  /// before.
  private func awaitDeath() {
    while true {
      do throws(ClientError) {
        _ = try cluster.client().status()
      } catch .unreachable {
        return
      } catch {
        continue
      }
    }
  }

  /// Watches the newest job until it ends or `goesOn` does not hold.
  private mutating func follow(while goesOn: (JobStatus) -> Bool) throws -> JobStatus {
    let client = try cluster.client()
    guard let job = try client.jobs().jobs.first?.job else { throw BenchError("there is no job") }
    let status = try client.watch(job, every: .milliseconds(100), goesOn)
    let expected = list.shape == .stored ? status.fromCache : status.failed
    guard status.total == list.lineCount, expected == status.done + status.failed else {
      throw BenchError("the lines did not end as they should: \(status)")
    }
    self.status = status
    return status
  }
}
