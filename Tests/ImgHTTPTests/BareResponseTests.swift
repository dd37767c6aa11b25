import Testing

@testable import ImgHTTP

struct BareResponseTests {
  @Test(arguments: [
    (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (1_795_521_909, "Tue, 24 Nov 2026 12:05:09 GMT"),
  ])
  func `a response has the date, no body, and is the last one`(seconds: Int, date: String) {
    let response = BareResponse(.uriTooLong, reason: "URI Too Long", at: seconds)
    #expect(
      String(decoding: response.bytes, as: UTF8.self)
        == "HTTP/1.1 414 URI Too Long\r\nDate: \(date)\r\nConnection: close\r\n"
        + "Content-Length: 0\r\n\r\n")
  }
}
