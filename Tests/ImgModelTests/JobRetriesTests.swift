import ImgModel
import Testing

@Suite struct JobRetriesTests {
  @Test func `no failure is open before the first retry`() {
    let retries = JobRetries()
    #expect(retries.round == 0)
    #expect(!retries.isOpen(failureOf: 0, isRetryable: true))
    #expect(!retries.isOpen(failureOf: 0, isRetryable: false))
  }

  @Test func `a retry opens the retryable failures of all earlier rounds`() {
    var retries = JobRetries()
    retries.add(includesFinal: false)
    retries.add(includesFinal: false)
    #expect(retries.round == 2)
    for round in 0...1 {
      #expect(retries.isOpen(failureOf: round, isRetryable: true))
      #expect(!retries.isOpen(failureOf: round, isRetryable: false))
    }
    #expect(!retries.isOpen(failureOf: 2, isRetryable: true))
  }

  @Test func `a retry of all failures opens those of earlier rounds only`() {
    var retries = JobRetries()
    retries.add(includesFinal: true)
    #expect(retries.isOpen(failureOf: 0, isRetryable: false))
    retries.add(includesFinal: false)
    // A permanent failure of a later round was retried already.
    #expect(!retries.isOpen(failureOf: 1, isRetryable: false))
    #expect(retries.isOpen(failureOf: 1, isRetryable: true))
  }
}
