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
  /// What it writes to standard error.
  private var output = WorkerOutput(program: "imgworker")
  private let outputSocket: OwnedDescriptor
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
    var streams = try UnixSocket.pair()
    outputSocket = streams.takeFirst()
    let errorStream = streams.takeSecond()
    // What exceeds the socket's buffer is lost: a worker does not wait for the reader of its output.
    try UnixSocket.setNonBlocking(errorStream.rawValue, true)
    try UnixSocket.setNonBlocking(outputSocket.rawValue, true)
    child = try ChildProcess.spawn(
      executable: executable, arguments: [], environment: environment,
      descriptors: [
        (parent: errorStream.rawValue, child: 2),
        (parent: theirs.rawValue, child: WorkerDescriptor.channel),
        (parent: heartbeat.descriptor, child: WorkerDescriptor.heartbeat),
      ])
  }

  var processID: Int32 { child.processID }

  /// Readable when the process has ended.
  var exitDescriptor: CInt { child.descriptor }

  var outputDescriptor: CInt { outputSocket.rawValue }

  // MARK: - Output

  /// Reads what it has written to standard error.
  ///
  /// - Returns: the complete lines of the program itself, and whether more may come.
  func readOutput(at now: ContinuousClock.Instant) -> (lines: [String], isOpen: Bool) {
    var bytes: [UInt8] = []
    let result = try? UnixSocket.receive(outputSocket.rawValue, into: &bytes, upTo: 1 << 16)
    let isOpen =
      switch result {
      case .received, .wouldBlock: true
      case .closed, nil: false
      }
    return (output.receive(bytes, at: now), isOpen)
  }

  /// Reads the rest of what a process that has ended has written.
  ///
  /// - Returns: the lines of the program itself.
  func endOutput(at now: ContinuousClock.Instant) -> [String] {
    var lines: [String] = []
    while true {
      var bytes: [UInt8] = []
      let result = try? UnixSocket.receive(outputSocket.rawValue, into: &bytes, upTo: 1 << 16)
      guard case .received = result else { break }
      lines += output.receive(bytes, at: now)
    }
    return lines + [output.end(at: now)].compactMap(\.self)
  }

  /// When ``takeMessage()`` has the message of a library that waited long enough for others.
  var messageDeadline: ContinuousClock.Instant? { output.messageDeadline }

  /// Takes the message of the libraries in the process; `nil` when there is none.
  func takeMessage() -> String? { output.takeMessage() }

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
    let decoding = heartbeat.decoding
    return Observation(
      heartbeatAge: heartbeat.age, decodingLease: decoding?.lease,
      decodingTime: decoding?.time ?? .zero)
  }

  /// The transfer that its loop works on, or worked on when it died.
  var transferringLease: LeaseID? { heartbeat.transferringLease }

  /// How the process ended; `nil` while it runs.
  func reap(isDraining: Bool, limits: Limits) -> WorkerEnd? {
    guard let status = child.reap() else { return nil }
    if let killReason { return .crashed("was ended: \(killReason)") }
    let last = LastHeartbeat(
      isDecoding: heartbeat.decoding != nil, hasCrashedInStore: heartbeat.hasCrashedInStore,
      hasRefusedAllocation: heartbeat.hasRefusedAllocation(within: limits))
    return WorkerEnd(status, isDraining: isDraining, last)
  }
}
