import CAllocation
import Glibc
import ImgDecode
import ImgFetch
import ImgModel
import ImgSystem
import ImgTransport
import ImgWire

/// The program `imgworker`: started by a coordinator, which passes on what ``WorkerDescriptor``
/// lists.
package enum WorkerMain {
  /// How long the coordinator may take to say welcome.
  private static let welcomeTime = Duration.seconds(30)

  /// - Returns: the exit status: 0 when the coordinator let it go or is gone, 1 otherwise.
  package static func run() -> Int32 {
    guard isStartedByCoordinator else {
      WorkerLog.note("started by imgcoordinator, not by hand")
      return 2
    }
    do {
      ThisProcess.forbidDumps()
      ThisProcess.dieWithParent(signal: SIGKILL)
      ThisProcess.ignoreFileSizeSignal()
      ThisProcess.keepFreedMemory()
      let board = try WorkerHeartbeat(
        adopting: OwnedDescriptor(adopting: WorkerDescriptor.heartbeat))
      board.recordStoreCrashes()
      board.recordRefusedAllocations(by: img_record_refused_allocations)
      let channel = try Channel<CoordinatorMessage, WorkerMessage>(
        OwnedDescriptor(adopting: WorkerDescriptor.channel))
      let welcome = try greet(channel)
      try serve(channel, board: board, welcome: welcome)
      return 0
    } catch ChannelError.closed {
      return 0
    } catch {
      WorkerLog.note("\(error)")
      return 1
    }
  }

  private static func greet(
    _ channel: Channel<CoordinatorMessage, WorkerMessage>
  ) throws -> Welcome {
    try channel.send(.hello(Hello(processID: ThisProcess.processID)))
    guard case .welcome(let welcome) = try channel.next(until: .now + welcomeTime) else {
      throw MessageError(description: "the coordinator did not begin with a welcome")
    }
    return welcome
  }

  /// A worker that cannot begin says why before it leaves: the coordinator shows it to a person.
  private static func serve(
    _ channel: Channel<CoordinatorMessage, WorkerMessage>, board: WorkerHeartbeat, welcome: Welcome
  ) throws {
    let worker: Worker
    do {
      try ThisProcess.limitPrivateMemory(byteCount: welcome.limits.workerMemoryByteCount)
      let curl = try CurlRuntime.start()
      let vips = try VipsRuntime.start()
      worker = try Worker(
        channel: channel, board: board, welcome: welcome, curl: curl, vips: vips)
    } catch {
      try channel.send(.refused(Refusal(reason: String(describing: error))))
      try channel.flush(until: .now + .seconds(1))
      throw error
    }
    try worker.run()
  }

  private static var isStartedByCoordinator: Bool {
    (try? UnixSocket.credentials(of: WorkerDescriptor.channel)) != nil
  }
}
