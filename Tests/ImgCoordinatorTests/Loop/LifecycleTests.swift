import ImgModel
import ImgScheduler
import ImgSettings
import ImgSystem
import Testing

@testable import ImgCoordinator

@Suite struct LifecycleTests {
  private let start = ContinuousClock.now
  private let scheduler = SchedulerDriver(limits: LifecycleTests.settings().limits, seed: 1)

  private static func settings(idleExit: Duration? = nil) -> Settings {
    var settings = Settings(socketPath: "/socket", dataDirectory: "/data")
    settings.limits.workers = 1
    settings.limits.transferTimeout = .seconds(60)
    settings.limits.decodeTimeout = .seconds(30)
    settings.idleExit = idleExit
    return settings
  }

  private func lifecycle(idleExit: Duration? = nil) -> Lifecycle {
    Lifecycle(
      Self.settings(idleExit: idleExit), scheduler: scheduler,
      serviceManager: ServiceManager(environment: [:]), at: start)
  }

  @Test func `it drains for as long as one URL may take, leaves and ends`() {
    let lifecycle = lifecycle()
    #expect(lifecycle.isRunning)
    #expect(lifecycle.deadline == nil)
    lifecycle.drain(at: start)
    #expect(lifecycle.phase == .draining(until: start + .seconds(125)))
    #expect(!lifecycle.isOverdue(at: start + .seconds(124)))
    #expect(lifecycle.isOverdue(at: start + .seconds(125)))
    lifecycle.leave(at: start + .seconds(20))
    #expect(lifecycle.deadline == start + .seconds(25))
    #expect(lifecycle.exitStatus == nil)
    lifecycle.end(status: 0)
    #expect(lifecycle.exitStatus == 0)
    #expect(lifecycle.deadline == nil)
  }

  @Test func `a second drain does not prolong the first, and asks the scheduler no more`() {
    let lifecycle = lifecycle()
    lifecycle.drain(at: start)
    #expect(scheduler.state.isDraining)
    while scheduler.nextEffect() != nil {}
    lifecycle.drain(at: start + .seconds(10))
    #expect(lifecycle.deadline == start + .seconds(125))
    #expect(scheduler.nextEffect() == nil)
  }

  @Test func `a coordinator that has given up does not leave in order any more`() {
    let lifecycle = lifecycle()
    lifecycle.end(status: 1)
    lifecycle.leave(at: start)
    #expect(lifecycle.exitStatus == 1)
  }

  @Test func `idle time counts from the last work or client`() {
    let lifecycle = lifecycle(idleExit: .seconds(10))
    #expect(lifecycle.idleDeadline == start + .seconds(10))
    lifecycle.update(isIdle: false, at: start + .seconds(5))
    lifecycle.update(isIdle: true, at: start + .seconds(7))
    #expect(lifecycle.idleDeadline == start + .seconds(15))
    lifecycle.drain(at: start)
    #expect(lifecycle.idleDeadline == nil)
  }

  @Test func `a coordinator without a limit stays however long it is idle`() {
    #expect(lifecycle().idleDeadline == nil)
  }
}
