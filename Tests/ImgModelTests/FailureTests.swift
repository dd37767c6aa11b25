import ImgModel
import Testing

@Suite struct FailureTests {
  @Test(arguments: [408, 425, 429, 500, 502, 503, 504])
  func `a temporary status is retryable`(status: Int) {
    #expect(Failure.Code.httpStatus.isRetryable(httpStatus: status))
  }

  @Test(arguments: [400, 401, 403, 404, 410, 451])
  func `a permanent status is not retryable`(status: Int) {
    #expect(!Failure.Code.httpStatus.isRetryable(httpStatus: status))
  }

  @Test func `a long detail is truncated`() {
    let failure = Failure(
      stage: .fetch, code: .internal, detail: String(repeating: "x", count: 10_000))
    #expect(failure.detail.utf8.count == Failure.maximumDetailByteCount)
  }
}
