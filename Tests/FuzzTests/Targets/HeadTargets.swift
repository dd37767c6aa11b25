import ImgModel

@testable import ImgFetch

/// Heads of responses, and their fields.
extension FuzzTarget {
  private static let now = WallTime(rawValue: 1_800_000_000_000)

  static let heads = [
    FuzzTarget(
      "response-head",
      texts: [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: \"a\"\r\nCache-Control: max-age=60\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/2 206\r\nContent-Range: bytes 0-4/9\r\n\r\n",
        "HTTP/1.1 429 Slow\nRetry-After: 120\nX-Robots-Tag: imgctl: noindex\n\n",
        "HTTP/1.1 302 Found\r\nLocation: /a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
      ]
    ) { text in
      var reader = HeadReader()
      for line in text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false) {
        let progress = reader.take(line: Array(line) + [0x0A], at: now)
        guard case .complete(let head) = progress else { continue }
        _ = head.redirectLocation
        _ = Freshness(of: head.caching, requestedAt: now, receivedAt: now)
      }
    },
    FuzzTarget("content-range", texts: ["bytes 0-4/9", "bytes */9", "bytes 5-9/*"]) { text in
      guard let range = ContentRange(parsing: text), let part = range.range else { return }
      precondition(part.upperBound < range.completeLength ?? .max, "a part outside of its whole")
    },
    FuzzTarget(
      "cache-control", texts: ["max-age=60, no-store", #"private="a,b", stale-if-error=5"#]
    ) { _ = CacheControl($0) },
    FuzzTarget(
      "http-date",
      texts: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
      ]
    ) { _ = HTTPDate($0, now: now) },
    FuzzTarget("retry-after", texts: ["120", "Sun, 06 Nov 2094 08:49:37 GMT"]) { text in
      guard let delay = RetryAfter(text, receivedAt: now) else { return }
      precondition(delay.seconds > 0, "a delay without time")
    },
    FuzzTarget("entity-tag", texts: [#""abc""#, #"W/"abc""#]) { text in
      guard let tag = EntityTag(text) else { return }
      precondition(EntityTag(tag.text) == tag, "an entity tag changes on the way")
    },
    FuzzTarget("robots-tag", texts: ["noindex", "imgctl: noai, other: none"]) {
      _ = RobotsTag.optOut(in: $0)
    },
    FuzzTarget(
      "robots", seeds: [Array("User-agent: *\nDisallow: /a*b$\nAllow: /\n".utf8)]
    ) { file in
      let rules = RobotsRules(parsing: file)
      let remembered = RobotsRules(remembered: rules.text)
      precondition(remembered.text == rules.text, "remembered rules differ")
      for target in ["/", "/a/b", "/a?b=%20"] {
        precondition(
          remembered.permits(target: target) == rules.permits(target: target),
          "remembered rules permit something else")
      }
    },
  ]
}
