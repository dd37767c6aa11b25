import ImgModel
import Testing

@testable import ImgFetch

/// The field Cache-Control of a response (RFC 9111 section 5.2).
@Suite(.timeLimit(.minutes(20))) struct CacheControlTests {
  @Test(
    arguments: [
      ("max-age=60", .given(60)), ("MAX-AGE=60", .given(60)), ("max-age=\"60\"", .given(60)),
      ("public, max-age=0", .given(0)), (" , ,max-age=60 ,,", .given(60)),
      ("max-age=60, max-age=60", .given(60)), ("x=\"a, max-age=1\", max-age=60", .given(60)),
      ("x=\"a\\\", max-age=1\", max-age=60", .given(60)),
      ("max-age=99999999999999999999", .given(1 << 31)), ("max-age=4294967296", .given(1 << 31)),
      ("max-age=60, max-age=61", .invalid), ("max-age=61, max-age=60, max-age=60", .invalid),
      ("max-age=-1", .invalid), ("max-age=1.5", .invalid), ("max-age=", .invalid),
      ("max-age", .invalid), ("max-age=abc", .invalid), ("max-age=\"\"", .invalid),
      ("", .absent), ("s-maxage=60", .absent), ("x-max-age=60", .absent),
    ] as [(String, CacheControl.Seconds)])
  func `RFC 9111 5.2.2.1: max-age is a number, and several that differ are invalid`(
    text: String, seconds: CacheControl.Seconds
  ) {
    #expect(CacheControl(text).maxAge == seconds)
  }

  @Test(arguments: [
    ("max-age=60 foo", true), ("max-age=60; foo", true), ("=60", true), ("a=\"b", true),
    ("a=\"b\\", true), ("\"a\"", true), ("a=\"b\"c", true), ("a=b, c", false), ("a=\"\"", false),
  ])
  func `RFC 9111 5.2: a field that breaks the grammar is broken`(text: String, isBroken: Bool) {
    #expect(CacheControl(text).isBroken == isBroken)
  }

  @Test(arguments: [
    ("no-cache", true), ("No-Cache", true), ("no-cache=\"Set-Cookie\"", true), ("no-cach", false),
    ("no-store", false),
  ])
  func `RFC 9111 5.2.2.4: no-cache counts also where it names fields`(
    text: String, isNoCache: Bool
  ) {
    #expect(CacheControl(text).isNoCache == isNoCache)
  }

  @Test(arguments: [
    ("no-store", true), ("max-age=60, NO-STORE", true), ("private", false), ("no-cache", false),
    ("must-understand, no-store", false), ("x=\"no-store\"", false), ("x=\", no-store", true),
  ])
  func `RFC 9111 5.2.2.5: no-store forbids storing, unless must-understand allows it`(
    text: String, forbidsStoring: Bool
  ) {
    #expect(CacheControl(text).forbidsStoring == forbidsStoring)
  }

  @Test func `RFC 5861: both kinds of staleness have their seconds`() {
    let field = CacheControl("stale-while-revalidate=30, stale-if-error=\"90\", must-revalidate")
    #expect(field.staleWhileRevalidate == .given(30))
    #expect(field.staleIfError == .given(90))
    #expect(field.mustRevalidate)
    #expect(CacheControl("stale-if-error").staleIfError == .invalid)
  }
}

/// How long a response may be used again, section by section of RFC 9111.
@Suite(.timeLimit(.minutes(20))) struct FreshnessTests {
  /// Sun, 06 Nov 1994 08:49:37 GMT.
  private static let receivedAt = WallTime(rawValue: 784_111_777_000)
  private static let date = "Date: Sun, 06 Nov 1994 08:49:37 GMT"
  private static let inOneMinute = "Sun, 06 Nov 1994 08:50:37 GMT"

  /// The freshness of a response that was requested some seconds before it came.
  private func freshness(_ lines: [String], askedBefore seconds: Int64 = 0) -> Freshness {
    Freshness(
      of: CachingFields(headFields(lines)),
      requestedAt: Self.receivedAt.advanced(by: .seconds(-seconds)),
      receivedAt: Self.receivedAt)
  }

  /// Seconds from the response to a moment; `nil` for one before all others.
  private func seconds(_ moment: WallTime) -> Int64? {
    moment == .distantPast ? nil : Self.receivedAt.duration(to: moment).components.seconds
  }

  @Test(arguments: [
    ([], true), (["Cache-Control: private"], true), (["Cache-Control: no-cache"], true),
    (["Cache-Control: no-store"], false),
    (["Cache-Control: max-age=9", "cache-control:no-store"], false),
  ])
  func `RFC 9111 3: a private cache stores all but no-store`(lines: [String], isStorable: Bool) {
    #expect(freshness(lines).isStorable == isStorable)
    if !isStorable { #expect(freshness(lines + ["ETag: \"a\""]).terms == .none) }
  }

  @Test(
    arguments: [
      (["Vary: *"], nil), (["Vary: Accept, *"], nil), (["Vary: Accept"], 60),
      (["Vary: Accept", "Vary: Cookie"], 60),
    ] as [([String], Int64?)])
  func `RFC 9111 4.1: Vary matches by construction, but for the asterisk`(
    lines: [String], expected: Int64?
  ) {
    let terms = freshness(lines + ["Cache-Control: max-age=60, stale-if-error=9"]).terms
    #expect(seconds(terms.freshUntil) == expected)
    #expect(seconds(terms.staleIfErrorUntil) == expected.map { $0 + 9 })
  }

  @Test(
    arguments: [
      (["Cache-Control: max-age=60"], 60),
      (["Cache-Control: max-age=60", "Expires: 0"], 60),
      (["Expires: \(inOneMinute)"], 60),
      (["Expires: \(inOneMinute)", date], 60),
      (["Expires: \(inOneMinute)", "Date: yesterday"], 60),
      // By the origin's clock, which is ten seconds ahead.
      (["Expires: \(inOneMinute)", "Date: Sun, 06 Nov 1994 08:49:47 GMT"], 50),
      (["Cache-Control: s-maxage=60"], 0), (["Cache-Control: public, immutable"], 0),
      (["Cache-Control: max-age=x", "Expires: \(inOneMinute)"], 0),
      (["Cache-Control: max-age=60", "Cache-Control: max-age=61"], 0),
      (["Expires: 0"], 0), (["Expires: -1"], 0), (["Expires: soon"], 0),
      (["Expires: \(inOneMinute)", "Expires: \(inOneMinute)"], 0),
      (["Expires: Sun, 06 Nov 1994 08:48:37 GMT"], 0),
      (["Cache-Control: no-cache, max-age=60"], nil), (["Cache-Control: max-age=60 x"], nil),
    ] as [([String], Int64?)])
  func `RFC 9111 4.2.1: the lifetime is max-age, else Expires less Date; what is invalid is stale`(
    lines: [String], expected: Int64?
  ) {
    #expect(seconds(freshness(lines).terms.freshUntil) == expected)
  }

  @Test(arguments: [
    [], [date, "Last-Modified: Sun, 06 Nov 1983 08:49:37 GMT"], ["ETag: \"a\""],
    ["Cache-Control: public"],
  ])
  func `RFC 9111 4.2.2: without an explicit time there is none`(lines: [String]) {
    #expect(seconds(freshness(lines).terms.freshUntil) == 0)
  }

  @Test(
    arguments: [
      ([], 0, 0), (["Age: 10"], 0, 10), ([], 5, 5), (["Age: 10"], 5, 15),
      (["Date: Sun, 06 Nov 1994 08:49:17 GMT"], 0, 20),
      (["Date: Sun, 06 Nov 1994 08:49:17 GMT", "Age: 10"], 5, 20),
      (["Date: Sun, 06 Nov 1994 08:49:17 GMT", "Age: 30"], 5, 35),
      // A clock that is ahead makes nothing younger.
      (["Date: Sun, 06 Nov 1994 08:59:17 GMT"], 0, 0),
      (["Age: 10, 20"], 0, 10), (["Age: 10", "Age: 20"], 0, 10),
      (["Age: -5"], 0, 0), (["Age: old"], 0, 0), (["Age: 1.5"], 0, 0),
    ] as [([String], Int64, Int64)])
  func `RFC 9111 4.2.3: the age is the larger of what Date and what Age and the delay say`(
    lines: [String], delay: Int64, age: Int64
  ) {
    let terms = freshness(lines + ["Cache-Control: max-age=60"], askedBefore: delay).terms
    #expect(seconds(terms.freshUntil) == 60 - age)
  }

  @Test(
    arguments: [
      ("max-age=60, stale-while-revalidate=30, stale-if-error=90", 90, 150),
      ("stale-while-revalidate=30, stale-if-error=90", 30, 90),
      ("max-age=60", nil, nil), ("max-age=60, stale-if-error=x", nil, nil),
      ("max-age=60, stale-if-error=90, stale-if-error=80", nil, nil),
      ("max-age=60, stale-while-revalidate=30, stale-if-error=90, must-revalidate", nil, nil),
      ("no-cache, stale-while-revalidate=30, stale-if-error=90", nil, nil),
      ("proxy-revalidate, max-age=60, stale-if-error=90", nil, 150),
    ] as [(String, Int64?, Int64?)])
  func `RFC 9111 4.2.4 and RFC 5861: staleness is served as long as allowed, unless forbidden`(
    field: String, whileRevalidating: Int64?, ifError: Int64?
  ) {
    let terms = freshness(["Cache-Control: \(field)"]).terms
    #expect(seconds(terms.staleWhileRevalidateUntil) == whileRevalidating)
    #expect(seconds(terms.staleIfErrorUntil) == ifError)
  }

  @Test func `a response is fresh up to the last millisecond`() {
    let terms = freshness(["Cache-Control: max-age=60"]).terms
    let end = Self.receivedAt.advanced(by: .seconds(60))
    #expect(terms.isFresh(at: end.advanced(by: .milliseconds(-1))))
    #expect(!terms.isFresh(at: end))
    #expect(!ReuseTerms.none.isFresh(at: .distantPast))
  }
}

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
  func `RFC 9111 4.3.1: the condition is a tag or a date`(lines: [String], condition: String?) {
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
    #expect(try notModified(terms(record), answer).matchesCondition == matchesCondition)
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
    let type = "Content-Type: image/png"
    let stored = terms(["ETag: \"a\"", "Cache-Control: max-age=60", Self.lastModified, type])
    let renewed = try notModified(
      stored, ["Cache-Control: max-age=5", "Content-Type: text/html"]
    ).terms(of: stored)
    // The type is that of the bytes.
    #expect(
      CachingFields(renewed)
        == fields(["ETag: \"a\"", "Cache-Control: max-age=5", Self.lastModified, type]))
  }

  @Test func `a response behind a redirect is never fresh, but can be revalidated`() throws {
    let stored = terms(["ETag: \"a\"", "Cache-Control: max-age=60, stale-if-error=9"])
    let renewed = try notModified(stored, [], wasRedirected: true).terms(of: stored)
    #expect(renewed.freshUntil == .distantPast)
    #expect(renewed.staleIfErrorUntil == Self.askedAt.advanced(by: .seconds(69)))
    #expect(Validators(renewed) == Validators(stored))
  }
}
