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
      attempts.failure(after: .timedOut(""), time: late, within: limits)?.code == .decodeTimeout)
  }
}
