import Glibc
import ImgCore
import ImgSystem
import Testing

@testable import ImgCoordinator

/// To what the end of a worker is attributed.
@Suite struct ExitEvidenceTests {
  @Test func `a worker leaves in order only when it was told to`() {
    #expect(WorkerEnd(.exited(0), ExitEvidence(isDraining: true)) == .left)
    #expect(
      WorkerEnd(.exited(0), ExitEvidence()) == .crashed(ExitStatus.exited(0).description))
    #expect(
      WorkerEnd(.exited(1), ExitEvidence(isDraining: true))
        == .crashed(ExitStatus.exited(1).description))
  }

  @Test(arguments: [SIGKILL, SIGTERM])
  func `a kill from outside counts against nothing, whatever the worker did`(signal: CInt) {
    let status = ExitStatus.signalled(signal)
    let evidence = ExitEvidence(
      isDecoding: true, hasCrashedInStore: true, hasRefusedAllocation: true)
    #expect(WorkerEnd(status, evidence) == .killed(status.description))
  }

  @Test func `a crash in the store counts against the store, not against a picture`() {
    let status = ExitStatus.signalled(SIGBUS)
    let evidence = ExitEvidence(
      isDecoding: true, hasCrashedInStore: true, hasRefusedAllocation: true)
    #expect(WorkerEnd(status, evidence) == .crashedInStore(status.description))
  }

  @Test func `memory is the cause where an allocation was refused during the decode`() {
    let status = ExitStatus.signalled(SIGABRT)
    var evidence = ExitEvidence(hasRefusedAllocation: true)
    #expect(WorkerEnd(status, evidence) == .crashed(status.description))
    evidence.isDecoding = true
    #expect(WorkerEnd(status, evidence) == .ranOutOfMemory(status.description))
  }
}
