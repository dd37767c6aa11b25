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
