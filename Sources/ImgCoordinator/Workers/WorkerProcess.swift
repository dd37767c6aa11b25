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
  private var ownErrors: ErrorStream
  /// Apart from its own, so that no decoder can write lines in its name.
  private var decoderErrors: ErrorStream
  private let child: ChildProcess
  private let heartbeat: WorkerHeartbeat
  /// Why the coordinator killed it; `nil` when it did not, or when the scheduler wanted it.
  private var killReason: String?

  /// Starts the program.
  ///
  /// - Parameter executable: the path of `imgworker`.
  init(id: WorkerID, number: Int, executable: String) throws(SystemError) {
    self.id = id
    self.number = number
    heartbeat = try WorkerHeartbeat()
    var pair = try UnixSocket.pair()
    let theirs = pair.takeSecond()
    var environment = ThisProcess.environment
    // The backtracer would keep a crashed worker and its memory for seconds.
    environment["SWIFT_BACKTRACE"] = "enable=no"
    environment[ReadinessMessage.variable] = nil
    environment[ServiceManager.variable] = nil
    // Before there is a child that a failure would have to end.
    channel = try Channel(pair.takeFirst())
    ownErrors = try ErrorStream(program: "imgworker")
    decoderErrors = try ErrorStream(program: nil)
    child = try ChildProcess.spawn(
      executable: executable, arguments: [], environment: environment,
      descriptors: [
        (parent: ownErrors.inherited, child: STDERR_FILENO),
        (parent: theirs.rawValue, child: WorkerDescriptor.channel),
        (parent: heartbeat.descriptor, child: WorkerDescriptor.heartbeat),
      ])
  }

  var processID: Int32 { child.processID }

  /// Readable when the process has ended.
  var exitDescriptor: CInt { child.descriptor }

  /// Readable when the worker or a decoder of it has written to standard error.
  var outputDescriptors: [CInt] { [ownErrors.descriptor, decoderErrors.descriptor] }

  /// For what its decoders write.
  var decoderErrorStream: CInt { decoderErrors.inherited }

  // MARK: - Output

  /// Reads what the worker and its decoders have written to standard error.
  ///
  /// - Returns: the complete lines of the worker itself.
  func readOutput(at now: ContinuousClock.Instant) -> [String] {
    _ = decoderErrors.read(at: now)
    return ownErrors.read(at: now)
  }

  /// Reads the rest of what a process that has ended has written.
  ///
  /// - Returns: the lines of the program itself.
  func endOutput(at now: ContinuousClock.Instant) -> [String] { ownErrors.readToEnd(at: now) }

  /// When ``takeMessages(at:)`` has something.
  var messageDeadline: ContinuousClock.Instant? {
    [ownErrors.messageDeadline, decoderErrors.messageDeadline].compactMap(\.self).min()
  }

  /// Takes the messages of libraries that waited long enough for others, each with its subject.
  func takeMessages(at now: ContinuousClock.Instant) -> [(subject: String, message: String)] {
    var messages: [(subject: String, message: String)] = []
    if let due = ownErrors.messageDeadline, due <= now, let message = ownErrors.takeMessage() {
      messages.append(("worker \(number) (process \(processID))", message))
    }
    if let due = decoderErrors.messageDeadline, due <= now,
      let message = decoderErrors.takeMessage()
    {
      messages.append(("worker \(number)'s decoder", message))
    }
    return messages
  }

  /// Takes the last message of the libraries in the worker; `nil` when there is none.
  func takeLastMessage() -> String? { ownErrors.takeMessage() }

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
