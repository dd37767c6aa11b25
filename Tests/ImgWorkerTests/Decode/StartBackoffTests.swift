import Testing

@testable import ImgWorker

@Suite struct StartBackoffTests {
  @Test func `each failure doubles the delay, and the fifth is the last`() {
    var backoff = StartBackoff()
    let delays = (1...4).map { _ in backoff.failed(wasKilled: false) }
    #expect(delays == [250, 500, 1_000, 2_000].map(Duration.milliseconds))
    #expect(!backoff.isExhausted)
    _ = backoff.failed(wasKilled: false)
    #expect(backoff.isExhausted)
  }

  @Test func `a success forgets the failures`() {
    var backoff = StartBackoff()
    for _ in 1...4 { _ = backoff.failed(wasKilled: false) }
    backoff.succeeded()
    #expect(backoff.failed(wasKilled: false) == .milliseconds(250))
  }

  @Test func `kills need no delay, and a hundred are enough`() {
    var backoff = StartBackoff()
    for _ in 1...99 { #expect(backoff.failed(wasKilled: true) == .zero) }
    #expect(!backoff.isExhausted)
    _ = backoff.failed(wasKilled: true)
    #expect(backoff.isExhausted)
  }
}
