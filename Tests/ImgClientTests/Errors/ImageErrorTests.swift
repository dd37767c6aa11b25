import ImgModel
import Testing

@testable import ImgClient

struct ImageErrorTests {
  @Test func `a failure of a picture keeps its code, its status and its reason`() {
    let failure = Failure(stage: .fetch, code: .httpStatus, httpStatus: 503, detail: "busy")
    let error = ImageError(failure, url: "https://example.org/a")
    #expect(error.code == .httpStatus)
    #expect(error.httpStatus == 503)
    #expect(error.isRetryable)
    #expect(error.message == "busy")
    #expect(error.url == "https://example.org/a")
  }

  @Test func `a coordinator that stops cancels no task`() {
    let stopping = Failure(
      stage: .queue, code: .cancelled, isRetryable: true, detail: "the coordinator is stopping")
    #expect(ImageError(stopping, url: nil).code == .disconnected)
    #expect(ImageError(stopping, url: nil).isRetryable)
    let cancelled = Failure(stage: .queue, code: .cancelled, detail: "")
    #expect(ImageError(cancelled, url: nil).code == .cancelled)
  }

  @Test func `every failure code of a picture is a code of the library`() {
    let codes = Set(Failure.Code.allCases.map { ImageError.Code(rawValue: $0.rawValue) })
    let known: Set<ImageError.Code> = [
      .invalidURL, .unsupportedScheme, .blockedAddress, .blockedOrigin, .dnsFailure,
      .connectFailure, .proxyFailure, .tlsFailure, .timeout, .tooManyRedirects, .httpStatus,
      .invalidResponse,
      .tooLarge, .truncatedBody, .optedOut, .blockedPath, .unreadableFile, .notAnImage,
      .unsupportedFormat, .tooManyPixels, .tooManyFrames, .frameOutOfRange, .unsupportedAnimation,
      .corruptImage, .decodeTimeout, .decodeCrash, .outOfMemory, .storeFull, .notCached, .cancelled,
      .internal,
    ]
    #expect(codes == known)
  }
}
