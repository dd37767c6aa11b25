import ImgModel
import Testing

@testable import ImgFetch

/// Validators, and how a response 304 changes a record (RFC 9111 section 4.3).
@Suite(.timeLimit(.minutes(20))) struct ValidationTests {
  private static let storedAt = WallTime(rawValue: 784_111_777_000)
  private static let askedAt = storedAt.advanced(by: .seconds(3_600))
  private static let lastModified = "Last-Modified: Sun, 06 Nov 1983 08:49:37 GMT"

  private func fields(_ lines: [String]) -> CachingFields { CachingFields(headFields(lines)) }

  private func terms(_ lines: [String]) -> ReuseTerms {
    Freshness(of: fields(lines), requestedAt: Self.storedAt, receivedAt: Self.storedAt).terms
  }

  private func notModified(
    _ record: ReuseTerms, _ lines: [String], wasRedirected: Bool = false
  ) throws -> NotModified {
    NotModified(
      try #require(Validators(record)), fields(lines), requestedAt: Self.askedAt,
      receivedAt: Self.askedAt, wasRedirected: wasRedirected)
  }

  @Test(
    arguments: [
      (["ETag: \"a\""], "If-None-Match: \"a\""), (["ETag: W/\"a\""], "If-None-Match: W/\"a\""),
      (["ETag: \"\""], "If-None-Match: \"\""),
      (["ETag: \"a\"", lastModified], "If-None-Match: \"a\""),
      ([lastModified], "If-Modified-Since: Sun, 06 Nov 1983 08:49:37 GMT"),
      (["ETag: a", lastModified], "If-Modified-Since: Sun, 06 Nov 1983 08:49:37 GMT"),
      (["ETag: \"a\", \"b\""], nil), (["ETag: w/\"a\""], nil), (["ETag: \"a b\""], nil),
      (["ETag: \""], nil), (["ETag: \"\u{E4}\""], nil),
      (["ETag: \"\(String(repeating: "a", count: 511))\""], nil),
      (["Last-Modified: long ago"], nil), ([], nil),
      (["Cache-Control: no-store", "ETag: \"a\""], nil),
    ] as [([String], String?)])
  func `RFC 9111 4.3.1: the condition is the entity tag, else the date`(
    lines: [String], condition: String?
  ) {
    #expect(Validators(terms(lines))?.condition == condition)
  }

  @Test(
    arguments: [
      (["ETag: \"a\""], ["ETag: \"a\""], true), (["ETag: \"a\""], ["ETag: W/\"a\""], true),
      (["ETag: W/\"a\""], ["ETag: \"a\""], true), (["ETag: \"a\""], [], true),
      (["ETag: \"a\""], ["ETag: \"b\""], false), (["ETag: \"a\""], ["ETag: broken"], true),
      (["ETag: \"a\""], ["Last-Modified: another"], true),
      ([lastModified], [lastModified], true), ([lastModified], [], true),
      ([lastModified], ["Last-Modified: Sun, 06 Nov 1984 08:49:37 GMT"], false),
      ([lastModified], ["ETag: \"a\""], false), ([lastModified], ["ETag: broken"], true),
    ] as [([String], [String], Bool)])
  func `RFC 9111 4.3.4: a 304 that names another validator is not about the stored response`(
    record: [String], answer: [String], matchesCondition: Bool
  ) throws {
    #expect(
      try notModified(terms(record), answer).matchesCondition == matchesCondition)
  }

  @Test(
    arguments: [
      // Fields that it leaves out stay, and count from the new response on.
      (["Cache-Control: max-age=60"], [], 60),
      (["Cache-Control: max-age=60"], ["Cache-Control: max-age=10"], 10),
      (["Cache-Control: max-age=60"], ["Expires: 0"], 60),
      (["Cache-Control: max-age=60", "Age: 50"], [], 60),
      (["Cache-Control: max-age=60"], ["Age: 50"], 10),
      (["Cache-Control: no-cache"], ["Cache-Control: max-age=60"], 60),
      (["Cache-Control: max-age=60"], ["Cache-Control: no-store"], nil),
      (["Cache-Control: max-age=60"], ["Vary: *"], nil),
      (["Vary: *"], ["Vary: Accept", "Cache-Control: max-age=60"], 60),
      // A date stays where it is.
      (["Expires: Sun, 06 Nov 1994 08:50:37 GMT"], [], 0),
      (["Expires: Sun, 06 Nov 1994 10:49:37 GMT"], [], 3_600),
    ] as [([String], [String], Int64?)])
  func `RFC 9111 4.3.4: the fields of a 304 replace those that are stored`(
    record: [String], answer: [String], seconds: Int64?
  ) throws {
    let stored = terms(record + ["ETag: \"a\""])
    let freshUntil = try notModified(stored, answer).terms(of: stored).freshUntil
    let expected = seconds.map { Self.askedAt.advanced(by: .seconds($0)) }
    #expect(freshUntil == expected ?? .distantPast)
  }

  @Test
  func `RFC 9111 4.3.4: the fields that are kept after a 304 are those that the next one changes`()
    throws
  {
    let stored = terms(["ETag: \"a\"", "Cache-Control: max-age=60", Self.lastModified])
    let renewed = try notModified(stored, ["Cache-Control: max-age=5"]).terms(of: stored)
    #expect(
      CachingFields(renewed)
        == fields(["ETag: \"a\"", "Cache-Control: max-age=5", Self.lastModified]))
  }

  @Test func `a response behind a redirect is never fresh, but can be revalidated`() throws {
    let stored = terms(["ETag: \"a\"", "Cache-Control: max-age=60, stale-if-error=9"])
    let renewed = try notModified(stored, [], wasRedirected: true).terms(of: stored)
    #expect(renewed.freshUntil == .distantPast)
    #expect(renewed.staleIfErrorUntil == Self.askedAt.advanced(by: .seconds(69)))
    #expect(Validators(renewed) == Validators(stored))
  }
}
