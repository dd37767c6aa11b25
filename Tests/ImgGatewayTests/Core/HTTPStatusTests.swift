import FoundationEssentials
import ImgClient
import ImgHTTP
import Testing

@testable import ImgGateway

struct HTTPStatusTests {
  @Test(
    arguments: [
      (.invalidURL, 400), (.unsupportedScheme, 400), (.invalidRequest, 400),
      (.blockedAddress, 403), (.blockedOrigin, 403), (.blockedPath, 403), (.optedOut, 403),
      (.unreadableFile, 403),
      (.notCached, 404), (.unknownJob, 404), (.wrongState, 409), (.notAnImage, 415),
      (.unsupportedFormat, 415), (.unsupportedAnimation, 415), (.tooLarge, 422),
      (.tooManyPixels, 422), (.tooManyFrames, 422), (.frameOutOfRange, 422), (.corruptImage, 422),
      (.decodeTimeout, 422), (.decodeCrash, 422), (.outOfMemory, 422), (.dnsFailure, 502),
      (.connectFailure, 502), (.proxyFailure, 502), (.tlsFailure, 502), (.tooManyRedirects, 502),
      (.invalidResponse, 502),
      (.truncatedBody, 502), (.unreachable, 503), (.versionMismatch, 503), (.disconnected, 503),
      (.refused, 503), (.storeFailure, 503), (.storeFull, 503), (.timeout, 504), (.internal, 500),
    ] as [(ImageError.Code, Int)])
  func `a failure has the status that tells its cause`(code: ImageError.Code, status: Int) {
    #expect(HTTPStatus(ImageError(code: code, message: "")).rawValue == status)
  }

  @Test(arguments: [(404, 404), (410, 404), (429, 429), (403, 502), (500, 502)])
  func `what is missing at the origin is missing here`(origin: Int, status: Int) {
    let error = ImageError(code: .httpStatus, httpStatus: origin, message: "")
    #expect(HTTPStatus(error).rawValue == status)
  }

  @Test(arguments: [(429, 429), (500, 503), (403, 503), (404, 503), (410, 503)])
  func `an origin that asks for a pause makes the picture unavailable until then`(
    origin: Int, status: Int
  ) {
    let retryAt = Date.now.addingTimeInterval(90)
    let error = ImageError(
      code: .httpStatus, isRetryable: true, httpStatus: origin, retryAt: retryAt, message: "")
    #expect(HTTPStatus(error).rawValue == status)
    let response = FailureReport(error).response()
    let seconds = response.fields["Retry-After"].flatMap { Int($0) } ?? 0
    #expect((2...91).contains(seconds))
  }

  @Test(
    arguments: [.unreachable, .versionMismatch, .storeFailure, .outOfMemory]
      as [ImageError.Code])
  func `clients see neither the command line nor the places of the server`(code: ImageError.Code) {
    let error = ImageError(code: code, message: "give --data-dir, or see /run/imgctl/control.sock")
    let text = FailureReport(error).response().text
    #expect(!text.contains("--"))
    #expect(!text.contains("/run"))
  }

  @Test func `a failure of TLS is told without the words of its library`() {
    let error = ImageError(
      code: .tlsFailure, message: "OpenSSL/3.0.19: error:0A00010B: wrong version")
    let text = FailureReport(error).response().text
    #expect(text.contains("TLS"))
    #expect(!text.contains("OpenSSL"))
  }

  @Test func `a failure for lack of room says when to come back`() {
    let busy = FailureReport(ImageError(code: .unreachable, message: "")).response()
    #expect(busy.fields["Retry-After"] == "1")
    let missing = FailureReport(ImageError(code: .notCached, message: "")).response()
    #expect(missing.fields["Retry-After"] == nil)
  }
}
