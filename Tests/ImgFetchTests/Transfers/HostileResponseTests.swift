import ImgFetch
import ImgModel
import Testing

/// Answers that break HTTP, and what they fail with.
@Suite(.timeLimit(.minutes(20))) struct HostileResponseTests {
  @Test(
    arguments: HostileResponse.notHTTP + HostileResponse.brokenFields
      + HostileResponse.brokenChunks)
  func `a response that is not HTTP is invalid and retryable`(answer: String) throws {
    let failure = try #require(answering(answer).failure)
    #expect(failure.code == .invalidResponse, "\(failure.detail)")
    #expect(failure.isRetryable)
  }

  @Test(arguments: HostileResponse.transferCodings)
  func `a transfer coding that was not asked for is refused before the body`(
    coding: String
  ) throws {
    let transfer = try answering(HostileResponse.coded(coding))
    #expect(transfer.failure?.code == .invalidResponse)
    #expect(transfer.bytesReceived == 0)
  }

  @Test(arguments: HostileResponse.brokenOff)
  func `a response that breaks off is truncated and retryable`(answer: String) throws {
    let failure = try #require(answering(answer).failure)
    #expect(failure.code == .truncatedBody, "\(failure.detail)")
    #expect(failure.isRetryable)
  }

  @Test(arguments: HostileResponse.neverBegun)
  func `a response that does not begin is a failed connection`(answer: String) throws {
    let failure = try #require(answering(answer).failure)
    #expect(failure.code == .connectFailure, "\(failure.detail)")
    #expect(failure.isRetryable)
  }

  @Test(arguments: HostileResponse.empty)
  func `a body that is empty by its head is no image`(answer: String) throws {
    #expect(try answering(answer).failure?.code == .notAnImage)
  }

  @Test(arguments: HostileResponse.withoutPicture)
  func `a status without a picture is the failure of the response`(answer: String) throws {
    let failure = try #require(answering(answer).failure)
    #expect(failure.code == .httpStatus, "\(failure.detail)")
  }

  @Test func `a length that is no number of this machine is too large`() throws {
    #expect(try answering(HostileResponse.tooLong).failure?.code == .tooLarge)
  }

  @Test(arguments: HostileResponse.taken)
  func `an odd response with one meaning is taken`(answer: String) throws {
    let transfer = try answering(answer)
    #expect(transfer.body?.bytes == [UInt8(ascii: "x")], "\(transfer.failure?.detail ?? "")")
  }

  private func answering(_ text: String) throws -> FinishedTransfer {
    let listener = try RawListener()
    return try Fetcher().fetch(listener.baseURL) { listener.answer(with: text) }
  }
}
