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
    _ end: WorkerEnd, decoding: LeaseID? = nil, suspects: Set<LeaseID> = [],
    isStoreSuspect: Bool = false, killReason: ReadyWorker.KillReason? = nil
  ) -> ExitEvidence {
    var worker = ReadyWorker(
      id: WorkerID(rawValue: 1), number: 0,
      credits: Credits(lookups: 9, leases: 9, decodeQueueTarget: 1))
    worker.hold(lookup, as: .lookup)
    worker.hold(fetch, as: .transfer)
    worker.hold(other, as: .transfer)
    worker.killReason = killReason
    return ExitEvidence(
      worker: worker, end: end, decoding: decoding, suspects: suspects,
      isStoreSuspect: isStoreSuspect)
  }

  @Test func `a crash over a picture concerns that picture, and no look-up`() {
    let evidence = evidence(.crashed("SIGSEGV"), decoding: fetch)
    #expect(evidence.part(of: fetch) == .decoded)
    #expect(evidence.part(of: other) == .held)
    #expect(evidence.part(of: lookup) == .none)
  }

  @Test func `in a crash outside of a decode every fetch may be the reason`() {
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

  @Test func `a crash in the store with no damage may be due to any fetch, and no decode`() {
    let evidence = evidence(.crashedInStore("SIGBUS"), decoding: fetch)
    #expect(evidence.part(of: fetch) == .lost)
  }

  @Test func `a worker that leaves or is killed from outside only held its fetches`() {
    for end in [WorkerEnd.left, .killed("SIGKILL")] {
      #expect(evidence(end).part(of: fetch) == .held)
    }
  }

  @Test(arguments: [ReadyWorker.KillReason.hung, .overdue([])])
  func `a picture is not blamed when the worker was killed for another reason`(
    reason: ReadyWorker.KillReason
  ) throws {
    let item = try item(.decoding(fetch))
    #expect(!evidence(.killed(""), decoding: fetch, killReason: reason).isAttributable(item))
  }

  @Test func `a decode timeout concerns the picture that took too long`() throws {
    let evidence = evidence(.killed(""), decoding: fetch, killReason: .decodeTimeout(fetch))
    #expect(evidence.isDecodeTimeout(of: try item(.decoding(fetch))))
    #expect(!evidence.isDecodeTimeout(of: try item(.decoding(other))))
  }

  private func item(_ stage: WorkItem.Stage) throws -> WorkItem {
    let url = try ImageURL(line: url(1))
    var item = WorkItem(
      id: WorkID(rawValue: 1),
      key: WorkItem.Key(name: PictureName(url), request: ThumbnailRequest(variant: .standard)),
      url: url, waiter: Waiter(who: .revalidation, expiry: .standard))
    item.enter(stage, defaultExpiry: .milliseconds(1))
    return item
  }
}
