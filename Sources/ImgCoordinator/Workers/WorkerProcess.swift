import Glibc
import ImgModel
import ImgScheduler
import ImgSystem
import ImgTransport
import ImgWire

/// One worker process as its coordinator sees it: the child, the connection and the heartbeat page.
final class WorkerProcess {
  let id: WorkerID
  let number: Int
  let channel: Channel<WorkerMessage, CoordinatorMessage>
  private let child: ChildProcess
  private let heartbeat: WorkerHeartbeat
  /// Why the coordinator killed it; `nil` when it did not, or when the scheduler wanted it.
  private var killReason: String?

  /// Starts the program.
  ///
  /// - Parameters:
  ///   - executable: the path of `imgworker`.
  ///   - errorStream: for what it writes to standard error.
  init(
    id: WorkerID, number: Int, executable: String, errorStream: CInt
  ) throws(SystemError) {
    self.id = id
    self.number = number
    heartbeat = try WorkerHeartbeat()
    var pair = try UnixSocket.pair()
    let theirs = pair.takeSecond()
    // Before there is a child that a failure would have to end.
    channel = try Channel(pair.takeFirst())
    child = try ChildProcess.spawn(
      executable: executable, arguments: [],
      environment: WorkerEnvironment.variables(from: ThisProcess.environment),
      descriptors: [
        (parent: errorStream, child: STDERR_FILENO),
        (parent: theirs.rawValue, child: WorkerDescriptor.channel),
        (parent: heartbeat.descriptor, child: WorkerDescriptor.heartbeat),
      ])
  }

  var processID: Int32 { child.processID }

  /// Names it in the log.
  var name: String { "worker \(number) (process \(processID))" }

  /// Readable when the process has ended.
  var exitDescriptor: CInt { child.descriptor }

  // MARK: - Exit

  func kill() {
    child.signal(SIGKILL)
  }

  /// Kills a process that broke the protocol. Its end counts as a crash.
  func kill(because reason: String) {
    killReason = reason
    kill()
  }

  /// Kills a process that the scheduler does not know.
  func killAndReap() {
    kill()
    _ = child.waitForExit(until: .now + .seconds(1))
  }

  // MARK: - The heartbeat page

  var observation: Observation {
    let reading = heartbeat.reading
    return Observation(
      heartbeatAge: heartbeat.age, readingLease: reading?.lease,
      readingTime: reading?.time ?? .zero)
  }

  /// The transfer that its loop works on, or worked on when it died.
  var transferringLease: LeaseID? { heartbeat.transferringLease }

  /// How the process ended; `nil` while it runs.
  func reap(isDraining: Bool) -> WorkerEnd? {
    guard let status = child.reap() else { return nil }
    if let killReason { return .crashed("was ended: \(killReason)") }
    return WorkerEnd(
      status, isDraining: isDraining, hasCrashedInStore: heartbeat.hasCrashedInStore)
  }
}
