import ImgModel
import ImgScheduler
import Testing

@testable import ImgCoordinator

/// Programs in the place of a worker.
@Suite(.timeLimit(.minutes(20)))
struct WorkerPoolTests {
  /// Parts whose one worker was started.
  private func parts(running executable: String) throws -> CoordinatorParts {
    let parts = try CoordinatorParts(workerExecutable: executable)
    parts.scheduler.handle(.began)
    guard case .spawn(let worker, let number) = parts.scheduler.nextEffect() else {
      Issue.record("no worker is started")
      return parts
    }
    parts.workers.spawn(worker, number: number)
    return parts
  }

  private func status(of parts: CoordinatorParts) -> ClusterStatus.Worker {
    parts.scheduler.state.workerStatuses(processes: parts.workers.processes(ofNumber:_:))[0]
  }

  @Test func `a program that cannot be started is a death, and its reason is known`() throws {
    let parts = try parts(running: "/nowhere/imgworker")
    #expect(parts.workers.isEmpty)
    #expect(status(of: parts).state == .backingOff)
    #expect(status(of: parts).deaths == 1)
    let wait = parts.scheduler.state.clusterWait()
    #expect(wait?.kind == .noWorker)
    #expect(wait?.detail?.hasPrefix("/nowhere/imgworker cannot be started") == true)
  }

  @Test func `a program that ends by itself is reaped, and its death counted`() throws {
    let parts = try parts(running: "/bin/true")
    #expect(status(of: parts).processID != nil)
    while !parts.workers.isEmpty { try parts.round() }
    #expect(status(of: parts).processID == nil)
    #expect(status(of: parts).deaths == 1)
  }
}
