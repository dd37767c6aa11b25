import Testing

@testable import ImgClient

struct ReconnectionPlanTests {
  @Test func `attempts begin at once, then after longer and longer pauses, for ten seconds`() {
    let start = ContinuousClock.now
    var plan = ReconnectionPlan(at: start)
    var attempts = [plan.nextAttempt]
    while plan.attemptFailed(at: plan.nextAttempt) { attempts.append(plan.nextAttempt) }
    let pauses = zip(attempts.dropFirst(), attempts).map { $1.duration(to: $0) }
    #expect(attempts.first == start)
    let firstPauses = [50, 100, 200, 400, 800, 1_000].map { Duration.milliseconds($0) }
    #expect(Array(pauses.prefix(6)) == firstPauses)
    #expect(pauses.dropFirst(5).allSatisfy { $0 == .seconds(1) })
    #expect(start.duration(to: attempts[attempts.count - 1]) >= .seconds(10))
    #expect(start.duration(to: attempts[attempts.count - 1]) < .seconds(11))
  }
}
