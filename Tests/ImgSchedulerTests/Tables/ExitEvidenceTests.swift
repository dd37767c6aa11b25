import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

@Suite struct ExitEvidenceTests {
  private let lookup = LeaseID(rawValue: 1)
  private let fetch = LeaseID(rawValue: 2)
  private let other = LeaseID(rawValue: 3)

  private func evidence(
    _ end: WorkerEnd, suspects: Set<LeaseID> = [],
    isStoreSuspect: Bool = false, killReason: ReadyWorker.KillReason? = nil,
    hasRefused: Bool = false
  ) -> ExitEvidence {
    var worker = ReadyWorker(
      id: WorkerID(rawValue: 1), number: 0,
      credits: Credits(lookups: 9, leases: 9, decodeQueueTarget: 1))
    worker.hold(lookup, as: .lookup)
    worker.hold(fetch, as: .transfer)
    worker.hold(other, as: .transfer)
    worker.killReason = killReason
    worker.hasRefused = hasRefused
    return ExitEvidence(
      worker: worker, end: end, suspects: suspects, isStoreSuspect: isStoreSuspect)
  }

  @Test func `of a crash every fetch may be the reason, and no look-up`() {
    let evidence = evidence(.crashed("SIGSEGV"))
    #expect(evidence.part(of: fetch) == .lost)
    #expect(evidence.part(of: other) == .lost)
    #expect(evidence.part(of: lookup) == .none)
  }

  @Test func `a suspect is lost, even when the store is suspected, and others are not`() {
    let evidence = evidence(.killed("SIGKILL"), suspects: [fetch], isStoreSuspect: true)
    #expect(evidence.part(of: fetch) == .lost)
    #expect(evidence.part(of: other) == .none)
  }

  @Test func `a crash in the store with no damage may be due to any fetch`() {
    #expect(evidence(.crashedInStore("SIGBUS")).part(of: fetch) == .lost)
  }

  @Test func `a worker that leaves or is killed from outside only held its fetches`() {
    for end in [WorkerEnd.left, .killed("SIGKILL")] {
      #expect(evidence(end).part(of: fetch) == .held)
    }
  }

  @Test func `a worker that has said why it cannot go on only held its fetches`() {
    #expect(evidence(.crashed("exit 1"), hasRefused: true).part(of: fetch) == .held)
  }

  @Test func `a read that hung concerns its own picture, however the worker ended`() {
    for end in [WorkerEnd.killed("SIGKILL"), .crashed("SIGSEGV")] {
      #expect(evidence(end, killReason: .hungRead(fetch)).part(of: fetch) == .hungRead)
    }
    let evidence = evidence(.killed("SIGKILL"), killReason: .hungRead(fetch))
    #expect(evidence.part(of: other) == .held)
    #expect(evidence.part(of: lookup) == .none)
  }
}
