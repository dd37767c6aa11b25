import ImgModel
import Testing

@testable import ImgWorker

@Suite struct DecodeAttemptsTests {
  @Test func `the second death of whatever kind decides`() {
    let deaths: [(DecoderEnd, Failure.Code)] = [
      (.crashed("was killed"), .decodeCrash), (.timedOut("too long"), .decodeTimeout),
      (.outOfMemory, .outOfMemory),
    ]
    for (first, _) in deaths {
      for (second, code) in deaths {
        var attempts = DecodeAttempts()
        #expect(attempts.failure(after: first, within: Limits()) == nil)
        #expect(attempts.failure(after: second, within: Limits())?.code == code)
      }
    }
  }

  @Test func `kills from outside count apart, up to five`() {
    var attempts = DecodeAttempts()
    #expect(attempts.failure(after: .crashed(""), within: Limits()) == nil)
    for _ in 1...4 { #expect(attempts.failure(after: .killed, within: Limits()) == nil) }
    #expect(attempts.failure(after: .killed, within: Limits())?.code == .outOfMemory)
  }
}
