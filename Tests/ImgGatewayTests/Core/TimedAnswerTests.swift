import FoundationEssentials
import ImgClient
import ImgHTTP
import ImgModel
import Testing

@testable import ImgGateway

/// How long an answer is sent again as it is.
struct TimedAnswerTests {
  /// 2026-11-24T12:00:00Z.
  private static let stored: Int64 = 1_795_521_600_000
  private static let now = WallTime(rawValue: stored + 100_700)

  private func answer(until end: WallTime) -> TimedAnswer {
    let date = Date(timeIntervalSince1970: Double(Self.stored / 1_000))
    let image = PreparedImage(
      LoadedImage(
        bytes: [1, 2, 3], type: .webp, width: 1, height: 1,
        source: LoadedImage.Source(type: .png, width: 1, height: 1, byteCount: 1),
        storedAt: date, expiresAt: date + 600, origin: .store))
    let response = image.response(
      to: HTTPRequest(.get, "/"), for: ImageQuery("https://a.example/b"), at: Self.now)
    return TimedAnswer(response, of: image, from: Self.now, until: end)
  }

  @Test func `an answer is valid until its age in seconds changes`() {
    let answer = answer(until: Self.now.advanced(by: .seconds(1)))
    #expect(answer.response.response.fields["Age"] == "100")
    #expect(answer.isValid(at: Self.now))
    #expect(answer.isValid(at: WallTime(rawValue: Self.stored + 100_999)))
    #expect(!answer.isValid(at: WallTime(rawValue: Self.stored + 101_000)))
  }

  @Test func `an answer is valid until its image must be compared with the store`() {
    let end = Self.now.advanced(by: .milliseconds(100))
    #expect(answer(until: end).isValid(at: end.advanced(by: .milliseconds(-1))))
    #expect(!answer(until: end).isValid(at: end))
    #expect(!answer(until: Self.now.advanced(by: .seconds(-1))).isValid(at: Self.now))
  }

  @Test func `an answer is not valid before it was made, as after a clock was set back`() {
    let answer = answer(until: Self.now.advanced(by: .seconds(1)))
    #expect(!answer.isValid(at: Self.now.advanced(by: .milliseconds(-1))))
  }

  @Test func `an answer counts the bytes of its body`() {
    #expect(answer(until: Self.now).byteCount == 3)
  }

  @Test func `a kept answer is for requests without conditions`() async throws {
    let fixture = try GatewayFixture()
    fixture.serve("https://a.example/b")
    let target = "/image?url=https://a.example/b"
    for _ in 1...3 { #expect(await fixture.response(.get, target).status == .ok) }
    let tag = try #require(await fixture.response(.get, target).fields["ETag"])
    #expect(await fixture.response(.get, target, ["If-None-Match": tag]).status == .notModified)
    #expect(await fixture.response(.get, target).bytes == [1, 2, 3])
  }
}
