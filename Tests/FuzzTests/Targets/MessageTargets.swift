import FoundationEssentials
import ImgClient
import ImgCommands
import ImgGateway
import ImgModel
import ImgWire

@testable import ImgFetch

extension FuzzTarget {
  static let wire = [
    FuzzTarget("frames", seeds: [[0, 0, 0, 1, 55], [0, 0, 0, 0], [1, 2, 3, 4, 5]]) { bytes in
      // The same frames, however the bytes are split.
      precondition(frames(in: [bytes]) == frames(in: bytes.map { [$0] }), "frames differ")
    },
    messages(of: CoordinatorMessage.self, named: "coordinator-messages"),
    messages(of: WorkerMessage.self, named: "worker-messages"),
    messages(of: DecoderOrder.self, named: "decoder-orders"),
    messages(of: DecoderReport.self, named: "decoder-reports"),
    messages(of: ClientMessage.self, named: "client-messages"),
    messages(of: CoordinatorReply.self, named: "reply-messages"),
  ]

  private static func messages<Message: WireMessage & Equatable>(
    of type: Message.Type, named name: String
  ) -> FuzzTarget {
    let texts = [
      #"{"type":"hello","protocol_version":9,"version":"0.1.0","process_id":1}"#,
      #"{"type":"cancel","leases":[1,2]}"#, #"{"type":"list"}"#, #"{"type":"status"}"#,
      #"{"type":"ready","lookups":256,"leases":128,"backlog":8}"#,
      #"{"type":"finished","results":[{"lease":1,"outcome":{"type":"cancelled"}}]}"#,
    ]
    // Those that the program writes, which have readers of their own.
    let canonical = [
      #"{"items":[{"lease":17,"url":"http://a/"}],"request":{"fetch":{"cache_policy":"reload","#
        + #""headers":[],"ignore_query":[],"respect_opt_out":true,"respect_robots":true},"#
        + #""keep":"all","lenient":false,"no_cache":false,"variant":{"crop":true,"format":"jpeg","#
        + #""height":300,"mode":"fill","quality":70,"width":400}},"retention":{"#
        + #""expire_after_ms":36,"expire_on_access_ms":6},"stale_if_error":false,"#
        + #""type":"lookup","urgent":false}"#,
      #"{"hits":[{"lease":17,"thumbnail":{"bytes":9182,"damaged":true,"format":"webp","#
        + #""height":171,"width":256}}],"misses":[18],"originals":[],"stale":[17],"#
        + #""type":"looked_up"}"#,
      #"{"decode_queue":5,"results":[{"lease":1,"outcome":{"bytes_fetched":8,"from_cache":false,"#
        + #""outcome":"done","thumbnail":{"bytes":9,"format":"webp","height":1,"width":2}},"#
        + #""redirected":false,"timings":{"connect":34,"ttfb":78}},{"lease":19,"outcome":{"#
        + #""outcome":"cancelled"},"redirected":false}],"type":"finished"}"#,
      #"{"leases":[1,18446744073709551615],"type":"transferred"}"#,
      #"{"id":5,"lines":["http://a/ü","x"],"type":"submit_lines"}"#,
      #"{"id":5,"outcome":{"failure":{"code":"http_status","detail":"a \"b\"","http_status":503,"#
        + #""retryable":true,"stage":"fetch"},"outcome":"failed"},"timings":{"dns":1},"#
        + #""type":"got"}"#,
    ]
    return FuzzTarget(name, seeds: (texts + canonical).map { Array($0.utf8) }) {
      payload in
      guard let message = try? WireCoding.message(type, from: payload[...]),
        let frame = try? WireCoding.frame(message)
      else { return }
      // A message survives the way there and back.
      guard
        let again = try? WireCoding.message(type, from: frame.dropFirst(Frame.headerByteCount)),
        let other = try? WireCoding.frame(again)
      else { preconditionFailure("an encoded message cannot be decoded") }
      precondition(frame == other, "a message changes on the way")
    }
  }

  /// The payloads, and the error that ends them.
  private static func frames(in chunks: [[UInt8]]) -> [String] {
    var decoder = FrameDecoder()
    var found: [String] = []
    do throws(FrameError) {
      for chunk in chunks {
        decoder.append(chunk)
        while let payload = try decoder.next() { found.append("\(Array(payload))") }
      }
    } catch {
      found.append("\(error)")
    }
    return found
  }
}

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

/// Targets and fields of HTTP requests.
extension FuzzTarget {
  static let requests = [
    FuzzTarget(
      "weserv-request",
      texts: [
        "/image?url=ssl:h.example%2Fa.jpg&w=300&h=200&fit=cover&a=focal&fpx=.3&dpr=2&s=x",
        "/image?url=//h.example/a&output=webp&q=80&n=-1&bg=%23abc&blur=1.5&sharp=1&filt=greyscale",
        "/?url=h.example&page=3&maxage=31d&default=photo&filename=a.jpg&we&il&l=6",
      ]
    ) { text in
      check { () throws(RequestRejection) in try ImageQueries().weserv(RequestTarget(text)) }
    },
    FuzzTarget(
      "imgproxy-request",
      texts: [
        "/_/rs:fill:300:200:1/g:fp:0.5:0.5/q:80/plain/https://h.example/a%3Fb@webp",
        "/insecure/pr:a/dpr:2/el:1/bl:1/sh:1/bg:1:2:3/sm:0/exp:1900000000/aHR0cHM6Ly9oL2E.png",
        "/_/s:1:2/fn:YQ:1/att:1/fiu:aHR0cHM6Ly9oL2E/wm:0/zoom:1/aHR0cHM6/Ly9oL2E",
      ]
    ) { text in
      guard let presets = try? ImgproxyPresets(parsing: ["a=w:5/pr:a"]) else {
        preconditionFailure("the preset is valid")
      }
      check { () throws(RequestRejection) in
        try ImageQueries(presets: presets).imgproxy(
          RequestTarget(text), now: WallTime(rawValue: 1_800_000_000_000))
      }
    },
    FuzzTarget(
      "picsum-request",
      texts: [
        "/id/1-0/300/200.webp?grayscale&blur=2", "/id/7-12/info?exif",
        "/v2/list?page=2&limit=100&job=7&q=cat&outcome=failed&code=timeout&after=41",
      ]
    ) { text in
      guard let target = try? RequestTarget(text) else { return }
      if let parameters = try? target.parameters(), let query = try? ListQuery(parameters) {
        precondition((1...ListQuery.maximumLimit).contains(query.limit), "a limit is out of range")
      }
      guard case .picture(let query) = try? PicsumPath(target) else { return }
      precondition(PictureID("\(query.id)") == query.id, "a name changes when it is read again")
      check { () throws(RequestRejection) in
        ImageQuery(ImageRequest(url: "https://h/a", variant: query.variant(of: .standard)))
      }
    },
    FuzzTarget(
      "origin",
      texts: ["https://u:p@good.example.:443/pictures/a", "https://good.example@evil.example/"]
    ) { text in
      guard let list = try? OriginList(parsing: ["https://good.example/pictures"]) else {
        preconditionFailure("the origin is valid")
      }
      guard let url = try? ImageURL(line: text), list.permits(url) else { return }
      precondition(url.host == "good.example", "another host is permitted")
      precondition(url.text.contains("good.example") && url.text.contains("/pictures"))
    },
    FuzzTarget("origin-pattern", texts: ["https://*.good.example:8080/a", "*", "data:"]) { text in
      _ = try? OriginList(parsing: [text])
    },
    FuzzTarget("accept", texts: ["image/avif,image/webp;q=0.9,*/*;q=0.8"]) { text in
      _ = AcceptedFormats(text).format(for: ImageQuery("https://h/a"))
    },
  ]

  /// What a request asks for can be asked of a cluster.
  private static func check(_ parse: () throws(RequestRejection) -> ImageQuery) {
    // A rejection is an answer, too.
    guard let query = try? parse() else { return }
    do throws(ImageError) {
      _ = try InMemoryCluster().storedImage(for: query.request)
    } catch {
      preconditionFailure("a request is out of range: \(error)")
    }
    precondition(
      (try? ImageURL(parsing: query.request.url))?.text == query.request.url,
      "a URL is not normalized")
  }
}

/// Lists and URLs.
extension FuzzTarget {
  static let texts = [
    FuzzTarget(
      "list",
      seeds: [Array("# a comment\nhttp://a.example/1.jpg\r\n\n  b.example/ü  \n".utf8)]
    ) { bytes in
      // The same entries, however the bytes are split.
      precondition(entries(of: [bytes]) == entries(of: bytes.map { [$0] }), "entries differ")
    },
    FuzzTarget(
      "url",
      texts: [
        "http://user:p@a.example:80/x?y=z#f", "//xn--bcher-kva.example/%zz", "http://[::1]/",
        "file:///a/b%20c", "data:image/png;base64,AAAA", "bücher.example/ä",
      ]
    ) { text in
      guard let url = try? ImageURL(line: text) else { return }
      guard let again = try? ImageURL(line: url.text) else {
        preconditionFailure("the text of a URL is no URL")
      }
      precondition(again.text == url.text, "a URL changes when it is read again")
      _ = try? DataURL.contents(of: url)
      _ = try? FileURL.path(of: url.text)
    },
    FuzzTarget("query-filter", texts: ["utm_*", "a*b*c"]) { text in
      _ = try? QueryFilter(text.split(separator: " ").map(String.init))
    },
  ]

  private static func entries(of chunks: [[UInt8]]) -> [String]? {
    var reader = ListReader(name: "list")
    do throws(ListError) {
      var entries: [String] = []
      for chunk in chunks { entries += try reader.feed(chunk).flatMap(\.texts) }
      return try entries + reader.finish().flatMap(\.texts)
    } catch {
      return nil
    }
  }
}
