import Testing

@testable import ImgFetch

/// Time limits as libcurl takes them.
@Suite struct CurlDurationTests {
  @Test(arguments: [Duration.zero, .seconds(-5), .nanoseconds(1), .microseconds(400)])
  func `no duration becomes 0, which would be no limit`(duration: Duration) {
    #expect(duration.curlMilliseconds == 1)
    #expect(duration.curlSeconds == 1)
  }

  @Test(arguments: [Duration.seconds(1 << 40), .milliseconds(Int64.max), .seconds(Int64.max)])
  func `a duration that is too long is the longest possible`(duration: Duration) {
    #expect(duration.curlMilliseconds == Int(Int32.max))
    #expect(duration.curlSeconds == Int(Int32.max))
  }

  @Test func `milliseconds are exact, and seconds are rounded up`() {
    #expect(Duration.milliseconds(1_001).curlMilliseconds == 1_001)
    #expect(Duration.milliseconds(1_001).curlSeconds == 2)
    #expect(Duration.seconds(20).curlSeconds == 20)
  }
}
