import ImgModel
import ImgScheduler
import Testing

@testable import ImgCoordinator

@Suite struct StoreSweepsTests {
  private let parts: CoordinatorParts
  private let sweeps: StoreSweeps
  private let start = ContinuousClock.now

  init() throws {
    parts = try CoordinatorParts()
    sweeps = StoreSweeps(
      scheduler: parts.scheduler, workers: parts.workers, journal: parts.journal,
      lifecycle: parts.lifecycle, at: start)
  }

  @Test func `no sweep is due while no worker is ready, nor while the coordinator drains`() {
    #expect(sweeps.deadline == nil)
    parts.makeWorkerReady()
    #expect(sweeps.deadline == start)
    parts.lifecycle.drain()
    #expect(sweeps.deadline == nil)
  }

  @Test func `a sweep follows each minute, and at once when a client asks`() {
    parts.makeWorkerReady()
    sweeps.sweep(at: start)
    #expect(sweeps.deadline == start + .seconds(60))
    sweeps.sweep(at: start + .seconds(59))
    #expect(sweeps.deadline == start + .seconds(60))
    sweeps.request(at: start + .seconds(5))
    #expect(sweeps.deadline == start + .seconds(5))
    sweeps.sweep(at: start + .seconds(6))
    #expect(sweeps.deadline == start + .seconds(66))
  }

  @Test func `while jobs that are unknown pin thumbnails, a sweep follows each second`() {
    parts.makeWorkerReady()
    sweeps.sweep(at: start)
    for jobs in [[JobID(rawValue: 3)], []] {
      parts.scheduler.handle(
        .storeReported(
          StoreReport(
            budgetByteCount: 1 << 20, diskByteCount: nil, pinnedByteCount: 0, pinningJobs: jobs)))
      sweeps.sweep(at: start + .milliseconds(1))
      #expect(sweeps.deadline == start + .seconds(jobs.isEmpty ? 60 : 1))
    }
    sweeps.pinsEnded(at: start + .seconds(2))
    #expect(sweeps.deadline == start + .seconds(2))
  }
}
