import Glibc
import ImgCore
import ImgModel
import ImgSystem
import ImgTransport
import ImgWire

/// One worker process as its coordinator sees it: the child, the connection and the board.
final class WorkerProcess {
  let id: WorkerID
  let slot: Int
  let channel: Channel<WorkerMessage, CoordinatorMessage>
  /// What it writes to standard error.
  var output = WorkerOutput(program: "imgworker")
  private let outputSocket: OwnedDescriptor
  private let child: ChildProcess
  private let board: WorkerHeartbeat
  /// Why the coordinator ended it; `nil` when its end is not the coordinator's doing, or the
  /// scheduler's, which knows.
  private var fault: String?

  /// Starts the program.
  ///
  /// - Parameter executable: the path of `imgworker`.
  init(id: WorkerID, slot: Int, executable: String) throws(SystemError) {
    self.id = id
    self.slot = slot
    board = try WorkerHeartbeat()
    var pair = try UnixSocket.pair()
    let theirs = pair.takeSecond()
    var environment = ThisProcess.environment
    // The backtracer would keep a crashed worker, and everything it holds, for seconds.
    environment["SWIFT_BACKTRACE"] = "enable=no"
    environment[ReadinessMessage.variable] = nil
    environment[ServiceManager.variable] = nil
    // Before there is a child that would have to be ended.
    channel = try Channel(pair.takeFirst())
    var streams = try UnixSocket.pair()
    outputSocket = streams.takeFirst()
    let errorStream = streams.takeSecond()
    // What is too much for the socket is lost: a worker waits for no reader of its messages.
    try UnixSocket.setNonBlocking(errorStream.rawValue, true)
    try UnixSocket.setNonBlocking(outputSocket.rawValue, true)
    child = try ChildProcess.spawn(
      executable: executable, arguments: [], environment: environment,
      descriptors: [
        (parent: errorStream.rawValue, child: 2),
        (parent: theirs.rawValue, child: WorkerDescriptor.channel),
        (parent: board.descriptor, child: WorkerDescriptor.heartbeat),
      ])
  }

  var processID: Int32 { child.processID }

  /// Readable when the process has ended.
  var exitDescriptor: CInt { child.descriptor }

  var outputDescriptor: CInt { outputSocket.rawValue }

  /// Takes in what it has written to standard error.
  ///
  /// - Returns: the lines of its own that are complete, and whether more may come.
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

  /// Takes in the rest of what a process that has ended has written.
  ///
  /// - Returns: the lines of its own.
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

  func kill() {
    child.signal(SIGKILL)
  }

  /// Ends a process that broke the protocol: a fault of its own, not a kill from outside.
  func kill(because fault: String) {
    self.fault = fault
    kill()
  }

  /// Ends a process of which nobody will hear any more.
  func killAndReap() {
    kill()
    _ = child.waitForExit(until: .now + .seconds(1))
  }

  var observation: Observation {
    let decoding = board.decoding
    return Observation(
      heartbeatAge: board.age, decodingLease: decoding?.lease,
      decodingTime: decoding?.time ?? .zero)
  }

  /// The transfer that its loop is working on, or was at its end.
  var transferringLease: LeaseID? { board.transferringLease }

  /// How the process ended; `nil` while it runs.
  func reap(isDraining: Bool, limits: Limits) -> WorkerEnd? {
    guard let status = child.reap() else { return nil }
    if let fault { return .crashed("was ended: \(fault)") }
    switch status {
    case .exited(0) where isDraining: return .left
    case .signalled(SIGKILL), .signalled(SIGTERM): return .killed(status.description)
    case .signalled where board.hasCrashedInStore: return .crashedInStore(status.description)
    case _ where board.decoding != nil && board.hasRefusedAllocation(within: limits):
      return .ranOutOfMemory(status.description)
    case .exited, .signalled: return .crashed(status.description)
    }
  }
}
