import ImgModel
import ImgScheduler
import Testing

@testable import ImgCoordinator

@Suite struct SchedulerDriverTests {
  private var limits: Limits {
    var limits = Limits()
    limits.workers = 2
    return limits
  }

  private func effects(of driver: SchedulerDriver) -> [Effect] {
    var effects: [Effect] = []
    while let effect = driver.nextEffect() { effects.append(effect) }
    return effects
  }

  @Test func `effects wait in the order of their events until they are taken`() {
    let driver = SchedulerDriver(limits: limits, seed: 1)
    #expect(driver.nextEffect() == nil)
    driver.handle(.began)
    driver.handle(.drainRequested)
    let effects = effects(of: driver)
    let starts = effects.prefix {
      if case .spawn = $0 { true } else { false }
    }
    #expect(starts.count == 2)
    #expect(effects.count > 2)
    #expect(driver.nextEffect() == nil)
  }

  @Test func `an event that an effect causes is handled at once, its effects come last`() {
    let driver = SchedulerDriver(limits: limits, seed: 1)
    driver.handle(.began)
    guard case .spawn = driver.nextEffect() else {
      Issue.record("no worker is started")
      return
    }
    let viewer = ViewerID(rawValue: 1)
    driver.handle(
      .viewerArrived(
        viewer, ViewerRequest(url: "no URL", options: RequestOptions(variant: .standard))))
    let rest = effects(of: driver)
    guard case .spawn = rest.first else {
      Issue.record("the second worker is not next")
      return
    }
    guard case .answer(viewer, _, _) = rest.last else {
      Issue.record("the answer is not last")
      return
    }
  }
}
