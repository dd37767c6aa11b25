import CCurl
import ImgModel
import Testing

@testable import ImgFetch

/// What each of libcurl's codes fails with.
@Suite(.timeLimit(.minutes(20))) struct CurlCodeTests {
  /// Code → failure before an answer, and within one. All others are `internal`: they mean a wrong
  /// use of libcurl, another protocol, or a refusal of our own callbacks, which is told before.
  private static let failures: [UInt32: (before: Failure.Code, within: Failure.Code)] = [
    1: (.invalidResponse, .invalidResponse), 3: (.invalidURL, .invalidURL),
    6: (.dnsFailure, .dnsFailure), 7: (.connectFailure, .connectFailure),
    8: (.invalidResponse, .invalidResponse), 16: (.connectFailure, .truncatedBody),
    18: (.connectFailure, .truncatedBody), 27: (.outOfMemory, .outOfMemory),
    28: (.timeout, .timeout), 35: (.tlsFailure, .tlsFailure), 43: (.internal, .invalidResponse),
    45: (.connectFailure, .connectFailure), 52: (.connectFailure, .truncatedBody),
    53: (.tlsFailure, .tlsFailure), 54: (.tlsFailure, .tlsFailure),
    55: (.connectFailure, .truncatedBody), 56: (.connectFailure, .truncatedBody),
    58: (.tlsFailure, .tlsFailure), 59: (.tlsFailure, .tlsFailure),
    60: (.tlsFailure, .tlsFailure), 61: (.invalidResponse, .invalidResponse),
    63: (.tooLarge, .tooLarge), 64: (.tlsFailure, .tlsFailure),
    65: (.connectFailure, .truncatedBody), 66: (.tlsFailure, .tlsFailure),
    77: (.tlsFailure, .tlsFailure), 80: (.tlsFailure, .tlsFailure),
    82: (.tlsFailure, .tlsFailure), 83: (.tlsFailure, .tlsFailure),
    89: (.connectFailure, .connectFailure), 90: (.tlsFailure, .tlsFailure),
    91: (.tlsFailure, .tlsFailure), 92: (.connectFailure, .truncatedBody),
    98: (.tlsFailure, .tlsFailure),
  ]

  @Test(arguments: 1..<UInt32(CURL_LAST.rawValue))
  func `each code has its failure`(rawValue: UInt32) {
    let code = CURLcode(rawValue: rawValue)
    let expected = Self.failures[rawValue] ?? (.internal, .internal)
    #expect(code.failureCode(isAnswered: false) == expected.before)
    #expect(code.failureCode(isAnswered: true) == expected.within)
  }

  @Test func `a broken chunk is told from a broken connection`() {
    let words = "Malformed encoding found in chunked-encoding"
    #expect(
      CURLE_RECV_ERROR.failureCode(isAnswered: true, words: words) == .invalidResponse)
  }
}
