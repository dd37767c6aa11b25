import ImgModel
import Testing

@testable import ImgWorker

@Suite struct DecodeAttemptsTests {
  private let limits = Limits()

  @Test func `the second death of whatever kind decides`() {
    let deaths: [(DecoderEnd, Failure.Code)] = [
      (.crashed("was killed"), .decodeCrash), (.timedOut("too long"), .decodeTimeout),
      (.outOfMemory, .outOfMemory),
    ]
    for (first, _) in deaths {
      for (second, code) in deaths {
        var attempts = DecodeAttempts()
        #expect(attempts.failure(after: first, time: .zero, within: limits) == nil)
        #expect(attempts.failure(after: second, time: .zero, within: limits)?.code == code)
      }
    }
  }

  @Test func `kills from outside count apart, up to five`() {
    var attempts = DecodeAttempts()
    #expect(attempts.failure(after: .crashed(""), time: .zero, within: limits) == nil)
    for _ in 1...4 {
      #expect(attempts.failure(after: .killed, time: .zero, within: limits) == nil)
    }
    #expect(attempts.failure(after: .killed, time: .zero, within: limits)?.code == .outOfMemory)
  }

  @Test func `no third attempt begins after the time of one decode`() {
    var attempts = DecodeAttempts()
    let late = limits.decodeTimeout
    #expect(attempts.failure(after: .killed, time: late, within: limits) == nil)
    #expect(
      attempts.failure(after: .timedOut(""), time: .zero, within: limits)?.code == .decodeTimeout)
  }
}

@Suite struct RepeatedDecodesTests {
  private let job = DecodeJob(
    lease: 1, source: .bytes([]), variants: [.standard], facts: nil, describesPixels: false,
    declaredType: nil, isLenient: false, isUrgent: false)
  private let now = ContinuousClock.now
  private var repeats = RepeatedDecodes()

  @Test mutating func `a second attempt waits for others, for a while, and for a spare decoder`() {
    repeats.append(job, at: now)
    #expect(repeats.next(isIdle: false, at: now, hasSpare: { true })?.lease == nil)
    #expect(repeats.next(isIdle: true, at: now, hasSpare: { false })?.lease == nil)
    let late = now + .seconds(5)
    #expect(repeats.next(isIdle: false, at: late, hasSpare: { false })?.lease == nil)
    #expect(repeats.next(isIdle: false, at: late, hasSpare: { true })?.lease == 1)
    #expect(repeats.isEmpty)
  }

  @Test mutating func `a cancelled picture waits for nothing`() {
    repeats.append(job, at: now)
    job.cancellation.set()
    #expect(repeats.next(isIdle: false, at: now, hasSpare: { false })?.lease == 1)
  }
}
