import ImgModel
import Testing

@testable import ImgFetch

@Suite(.timeLimit(.minutes(20))) struct HostCooldownsTests {
  private let now = ContinuousClock.now

  @Test func `an origin cools down until its time has passed, and no other origin does`() {
    let cooldowns = HostCooldowns()
    cooldowns.record(HostCooldown(host: "h", origin: "a", seconds: 60, httpStatus: 503), at: now)
    #expect(cooldowns.isCoolingDown("a", at: now + .milliseconds(59_999)))
    #expect(!cooldowns.isCoolingDown("a", at: now + .seconds(60)))
    #expect(!cooldowns.isCoolingDown("b", at: now))
  }

  @Test func `a shorter cooldown does not replace a longer one`() {
    let cooldowns = HostCooldowns()
    cooldowns.record(HostCooldown(host: "h", origin: "a", seconds: 60, httpStatus: 503), at: now)
    cooldowns.record(HostCooldown(host: "h", origin: "a", seconds: 5, httpStatus: 503), at: now)
    #expect(cooldowns.isCoolingDown("a", at: now + .seconds(59)))
  }

  @Test func `each cooldown is reported once`() {
    let cooldowns = HostCooldowns()
    let recorded = [
      HostCooldown(host: "h", origin: "a", seconds: 60, httpStatus: 503),
      HostCooldown(host: "h", origin: "b", seconds: 5, httpStatus: 503),
    ]
    for cooldown in recorded { cooldowns.record(cooldown, at: now) }
    #expect(cooldowns.takeUnreported() == recorded)
    #expect(cooldowns.takeUnreported().isEmpty)
  }

  @Test func `among many origins only those whose cooldown is over are removed`() {
    let cooldowns = HostCooldowns()
    for host in 0..<2_000 {
      cooldowns.record(
        HostCooldown(host: "h", origin: "\(host)", seconds: 60, httpStatus: 503), at: now)
    }
    #expect((0..<2_000).allSatisfy { cooldowns.isCoolingDown("\($0)", at: now) })
  }
}
