import ImgModel
import ImgWire
import Testing

@testable import ImgCoordinator

@Suite struct PendingChangesTests {
  private let job = JobID(rawValue: 1)

  private var change: PendingChanges.Change {
    PendingChanges.Change(
      requester: Requester(client: ClientID(rawValue: 1), request: RequestID(rawValue: 1)),
      status: JobStatus(.damaged(job)))
  }

  @Test func `a job's change is pending until it is removed`() {
    var changes = PendingChanges()
    #expect(!changes.contains(job))
    changes.add(change, of: job)
    #expect(changes.contains(job))
    #expect(!changes.contains(JobID(rawValue: 2)))
    #expect(changes.remove(job)?.requester == change.requester)
    #expect(!changes.contains(job))
    #expect(changes.remove(job) == nil)
  }

  @Test func `a second change of a job is a bug of the caller`() async {
    await #expect(processExitsWith: .failure) {
      let job = JobID(rawValue: 1)
      let change = PendingChanges.Change(requester: nil, status: JobStatus(.damaged(job)))
      var changes = PendingChanges()
      changes.add(change, of: job)
      changes.add(change, of: job)
    }
  }
}
