import FoundationEssentials
import ImgModel
import Testing

/// Durations as whole numbers, in Swift and in JSON.
@Suite struct DurationTests {
  @Test(
    arguments: [
      (.zero, 0), (.milliseconds(-7), -7), (.seconds(90), 90_000), (.microseconds(499), 0),
      (.microseconds(500), 1), (.microseconds(-1_499), -1), (.microseconds(-1_500), -2),
      (.milliseconds(Int64.max), .max), (.milliseconds(Int64.min), .min),
      (.seconds(Int64.max), .max), (.seconds(Int64.min), .min),
    ] as [(Duration, Int64)])
  func `milliseconds are rounded to the nearest and clamped`(
    duration: Duration, milliseconds: Int64
  ) {
    #expect(duration.milliseconds == milliseconds)
  }

  @Test(
    arguments: [
      (.zero, 0), (.nanoseconds(1), 1), (.seconds(1), 1), (.milliseconds(1_001), 2),
      (.milliseconds(-999), 0), (.milliseconds(-1_001), -1), (.seconds(Int64.max), .max),
      (.seconds(Int64.max) + .nanoseconds(1), .max), (.seconds(Int64.min), .min),
    ] as [(Duration, Int64)])
  func `seconds are rounded up and clamped`(duration: Duration, seconds: Int64) {
    #expect(duration.secondsRoundedUp == seconds)
  }

  struct Times: Hashable, Codable {
    @Milliseconds var limit: Duration
    @OptionalMilliseconds var rest: Duration?
  }

  @Test(arguments: [
    (Times(limit: .seconds(10), rest: nil), #"{"limit":10000}"#),
    (Times(limit: .zero, rest: .milliseconds(-1)), #"{"limit":0,"rest":-1}"#),
  ])
  func `a duration is an integer in JSON, or absent`(times: Times, json: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    #expect(String(decoding: try encoder.encode(times), as: UTF8.self) == json)
    #expect(try JSONDecoder().decode(Times.self, from: Data(json.utf8)) == times)
  }

  @Test func `null is no duration, but 0 is one`() throws {
    func rest(_ json: String) throws -> Duration? {
      try JSONDecoder().decode(Times.self, from: Data(json.utf8)).rest
    }
    #expect(try rest(#"{"limit":1,"rest":null}"#) == nil)
    #expect(try rest(#"{"limit":1,"rest":0}"#) == .zero)
    #expect(throws: DecodingError.self) { try rest(#"{"rest":0}"#) }
    #expect(throws: DecodingError.self) { try rest(#"{"limit":0.5}"#) }
  }
}
