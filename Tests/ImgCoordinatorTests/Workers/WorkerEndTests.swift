import Glibc
import ImgScheduler
import ImgSystem
import Testing

@testable import ImgCoordinator

/// To what the end of a worker process is attributed.
@Suite struct WorkerEndTests {
  private func end(
    _ status: ImgSystem.ExitStatus, isDraining: Bool = false, inStore: Bool = false
  ) -> WorkerEnd {
    WorkerEnd(status, isDraining: isDraining, hasCrashedInStore: inStore)
  }

  @Test func `a worker leaves in order only when it was told to`() {
    #expect(end(.exited(0), isDraining: true) == .left)
    #expect(end(.exited(0)) == .crashed("exited with status 0"))
    #expect(end(.exited(1), isDraining: true) == .crashed("exited with status 1"))
  }

  @Test(arguments: [SIGKILL, SIGTERM])
  func `a kill from outside counts against nothing, whatever the worker did`(signal: CInt) {
    let status = ImgSystem.ExitStatus.signalled(signal)
    #expect(end(status, inStore: true) == .killed(status.description))
  }

  @Test func `a crash in the store counts against the store`() {
    let status = ImgSystem.ExitStatus.signalled(SIGBUS)
    #expect(end(status, inStore: true) == .crashedInStore(status.description))
    #expect(end(status) == .crashed(status.description))
  }

  @Test func `the log names the end of every worker but of one that leaves`() {
    #expect(WorkerEnd.left.sentence == nil)
    #expect(WorkerEnd.crashed("exited with status 1").sentence == "exited with status 1")
    #expect(WorkerEnd.crashedInStore("broke").sentence == "broke in the store")
  }
}
