import ImgModel
import Testing

@testable import ImgFetch

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
  func `RFC 9111 3: all but no-store is stored by a private cache`(
    lines: [String], isStorable: Bool
  ) {
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
