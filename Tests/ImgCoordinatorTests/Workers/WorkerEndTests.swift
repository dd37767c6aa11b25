import Glibc
import ImgScheduler
import ImgSystem
import Testing

@testable import ImgCoordinator

/// To what the end of a worker process is attributed.
@Suite struct WorkerEndTests {
  private func end(
    _ status: ImgSystem.ExitStatus, isDraining: Bool = false,
    _ heartbeat: LastHeartbeat = LastHeartbeat()
  ) -> WorkerEnd {
    WorkerEnd(status, isDraining: isDraining, heartbeat)
  }

  @Test func `a worker leaves in order only when it was told to`() {
    #expect(end(.exited(0), isDraining: true) == .left)
    #expect(end(.exited(0)) == .crashed("exited with status 0"))
    #expect(end(.exited(1), isDraining: true) == .crashed("exited with status 1"))
  }

  @Test(arguments: [SIGKILL, SIGTERM])
  func `a kill from outside counts against nothing, whatever the worker did`(signal: CInt) {
    let status = ImgSystem.ExitStatus.signalled(signal)
    let heartbeat = LastHeartbeat(
      isDecoding: true, hasCrashedInStore: true, hasRefusedAllocation: true)
    #expect(end(status, heartbeat) == .killed(status.description))
  }

  @Test func `a crash in the store counts against the store, not against a picture`() {
    let status = ImgSystem.ExitStatus.signalled(SIGBUS)
    let heartbeat = LastHeartbeat(
      isDecoding: true, hasCrashedInStore: true, hasRefusedAllocation: true)
    #expect(end(status, heartbeat) == .crashedInStore(status.description))
  }

  @Test func `memory is the cause where an allocation was refused during the decode`() {
    let status = ImgSystem.ExitStatus.signalled(SIGABRT)
    var heartbeat = LastHeartbeat(hasRefusedAllocation: true)
    #expect(end(status, heartbeat) == .crashed(status.description))
    heartbeat.isDecoding = true
    #expect(end(status, heartbeat) == .ranOutOfMemory(status.description))
  }
}
