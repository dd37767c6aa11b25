import ImgModel
import TestOrigin
import Testing

@testable import ImgFetch

/// The rules of RFC 9309, by its own examples where it has some.
@Suite(.timeLimit(.minutes(20))) struct RobotsRulesTests {
  private func rules(_ text: String) -> RobotsRules { RobotsRules(parsing: Array(text.utf8)) }

  private func permits(_ lines: [String], _ target: String) -> Bool {
    rules((["User-agent: imgctl"] + lines).joined(separator: "\n")).permits(target: target)
  }

  @Test(arguments: [
    // Section 2.2.1, whose ExampleBot is this program.
    (
      "User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/", "/a.gif", false
    ),
    ("User-Agent: foobot\nDisallow: /\n\nUser-Agent: imgctl\nAllow: /", "/a", true),
    ("User-Agent: *\nDisallow: /\nUser-agent: imgctl\nAllow: /", "/a", true),
    ("User-agent: imgctl\nUser-agent: foobot\nDisallow: /a", "/a", false),
    ("User-agent: foobot\nUser-agent: imgctl\nDisallow: /a", "/a", false),
    ("User-agent: imgctl\nDisallow: /a\nUser-agent: foobot\nDisallow: /b", "/b", true),
    // Groups for the same crawler are one.
    (
      "user-agent: imgctl\ndisallow: /x\nuser-agent: x\nallow: /\nuser-agent: IMGCTL\ndisallow: /y",
      "/y", false
    ),
    (
      "user-agent: imgctl\ndisallow: /x\nuser-agent: x\nallow: /\nuser-agent: IMGCTL\ndisallow: /y",
      "/x", false
    ),
    ("User-agent: imgctl/1.0\nDisallow: /", "/a", false),
    ("User-agent: imgctlx\nDisallow: /", "/a", true),
    ("User-agent: imgctl\n\n\nDisallow: /a", "/a", false),
    ("User-agent: imgctl\nSitemap: http://h/s\nDisallow: /a", "/a", false),
    ("User-agent: imgctl\nDisallow:\nUser-agent: *\nDisallow: /", "/a", true),
    ("User-agent: imgctl\nUser-agent: *\nDisallow: /", "/a", false),
    ("Disallow: /", "/a", true),
    ("", "/a", true),
    ("<html>no robots</html>", "/a", true),
    ("\u{FEFF}User-agent: *\nDisallow: /a", "/a", false),
    ("User-agent: *\rDisallow: /a\rDisallow: /b", "/b", false),
    ("User-agent: *\r\nDisallow: /a\r\nDisallow: /b\r\n", "/b", false),
    ("  USER-AGENT :  *  # all\n dIsAlLoW\t: /a # not this", "/a", false),
    ("User-agent: *\nDisallow /a", "/a", true),
  ])
  func `the own group holds, else that for all`(text: String, target: String, isPermitted: Bool) {
    #expect(rules(text).permits(target: target) == isPermitted)
  }

  @Test(arguments: [
    // Section 5.2, and section 2.2.2 on ties.
    (
      ["Allow: /example/page/", "Disallow: /example/page/disallowed.gif"],
      "/example/page/disallowed.gif", false
    ),
    (
      ["Allow: /example/page/", "Disallow: /example/page/disallowed.gif"],
      "/example/page/a.gif", true
    ),
    (["Disallow: /a", "Allow: /a"], "/a", true),
    (["Disallow: /", "Allow: /$"], "/", true),
    (["Disallow: /", "Allow: /$"], "/a", false),
    (["Disallow: /"], "/robots.txt", true),
    // Section 2.2.3.
    (["Disallow: /*.gif$"], "/b/a.gif", false),
    (["Disallow: /*.gif$"], "/b/a.gif?c", true),
    (["Disallow: /this/*/exactly"], "/this/is/it/exactly/so", false),
    (["Disallow: /this/*/exactly"], "/this/exactly", true),
    (["Allow: /this/path/exactly$", "Disallow: /"], "/this/path/exactly", true),
    (["Disallow: /path/file-with-a-%2A.html"], "/path/file-with-a-*.html", false),
    (["Disallow: /path/file-with-a-%2A.html"], "/path/file-with-a-b.html", true),
    (["Disallow: /path/foo-%24"], "/path/foo-$", false),
    (["Disallow: /a$b"], "/a$bc", false),
    (["Disallow: /a**b"], "/acb", false),
    (["Disallow: *"], "/a", false),
    // The table of section 2.2.2.
    (["Disallow: /foo/bar?baz=quz"], "/foo/bar?baz=quz", false),
    (["Disallow: /foo/bar?baz=https://foo.bar"], "/foo/bar?baz=https%3A%2F%2Ffoo.bar", false),
    (["Disallow: /foo/bar/\u{30C4}"], "/foo/bar/%E3%83%84", false),
    (["Disallow: /foo/bar/%e3%83%84"], "/foo/bar/%E3%83%84", false),
    (["Disallow: /foo/bar/%62%61%7A"], "/foo/bar/baz", false),
    (["Disallow: /Foo"], "/foo", true),
    (["Disallow: /fish"], "/fishheads/yummy.html?a", false),
    (["Disallow: /fish/"], "/fish", true),
  ])
  func `the longest rule that matches decides`(lines: [String], target: String, isPermitted: Bool) {
    #expect(permits(lines, target) == isPermitted)
    let again = RobotsRules(
      parsing: Array(rules((["User-agent: *"] + lines).joined(separator: "\n")).text.utf8))
    #expect(again.permits(target: target) == isPermitted, "as it is remembered")
  }

  @Test func `a URL is read as it is fetched`() throws {
    let rules = rules("User-agent: *\nDisallow: /private/")
    #expect(try !rules.permits(ImageURL(parsing: "http://h/public/../private/a")))
    #expect(try !rules.permits(ImageURL(parsing: "http://h/%70rivate/a")))
    #expect(try rules.permits(ImageURL(parsing: "http://h?private/")))
  }

  @Test func `bytes beyond 500 KiB do not count`() {
    let start = Array("User-agent: *\nDisallow: /a\n".utf8)
    let comment = Array(repeating: UInt8(ascii: "#"), count: 500 << 10)
    let rules = RobotsRules(parsing: start + comment + Array("\nDisallow: /b\n".utf8))
    #expect(!rules.permits(target: "/a"))
    #expect(rules.permits(target: "/b"))
  }

  @Test func `a line that is cut is no rule`() {
    let start = Array("User-agent: *\nAllow: /\n".utf8)
    let comment = Array(
      repeating: UInt8(ascii: "#"),
      count: RobotsRules.maximumByteCount - start.count - "\nDisallow: /".utf8.count)
    #expect(
      RobotsRules(parsing: start + comment + Array("\nDisallow: /secret\n".utf8))
        .permits(target: "/a"))
    #expect(
      !RobotsRules(
        parsing: Array("User-agent: *\n".utf8) + comment + Array("\nDisallow: /a".utf8)
      ).permits(target: "/a"), "the end of a file ends its last line")
  }

  @Test func `remembered rules are not cut again`() {
    let file = "User-agent: *\n" + (0..<40_000).map { "Allow:/\($0)\n" }.joined() + "Disallow:/\n"
    let rules = RobotsRules(parsing: Array(file.utf8))
    #expect(rules.text.utf8.count > RobotsRules.maximumByteCount)
    #expect(!RobotsRules(remembered: rules.text).permits(target: "/x"))
  }

  /// Each would take the product of both lengths.
  @Test func `rules that take too long to match close the origin`() {
    let rule =
      "Disallow: /" + String(repeating: "*a", count: 1) + String(repeating: "a", count: 4_000)
    let file = "User-agent: *\n" + (0..<100).map { "\(rule)b\($0)\n" }.joined()
    let rules = RobotsRules(parsing: Array(file.utf8))
    #expect(!rules.permits(target: "/" + String(repeating: "a", count: 8_000)))
    #expect(rules.permits(target: "/short"))
  }

  @Test func `a file that breaks off leaves no partial body and no charge`() throws {
    let origin = TestOrigin()
    let long = Array(repeating: UInt8(ascii: "#"), count: 300_000)
    origin.serve(
      "/robots.txt",
      .resource(
        Resource(
          long, contentType: "text/plain", entityTag: "\"v1\"", delivery: .cut(after: 200_000))))
    let fetcher = try Fetcher()
    #expect(try fetcher.fetchRobots(of: origin.baseURL + "/a").failure?.code == .truncatedBody)
    #expect(fetcher.pool.heldBodyByteCount == 0)
  }

  @Test func `a file comes in as far as it counts, whatever the limit of pictures`() throws {
    let origin = TestOrigin()
    let long = Array(repeating: UInt8(ascii: "#"), count: 1 << 20)
    for body in [long, []] {
      origin.serve("/robots.txt", .body(body, contentType: "text/plain"))
      let fetcher = try Fetcher { $0.maxBodyByteCount = 10 }
      let fetched = try #require(fetcher.fetchRobots(of: origin.baseURL + "/a/b?c").body)
      #expect(fetched.bytes.count >= min(body.count, RobotsRules.maximumByteCount))
      #expect(fetched.bytes.count <= RobotsRules.maximumByteCount + 16_384)
    }
  }

  private func serve(_ origin: TestOrigin, _ bytes: [UInt8], as coding: String) {
    origin.serve(
      "/robots.txt",
      .body(bytes, contentType: "text/plain", headers: [Header("Content-Encoding", coding)]))
  }

  @Test func `a compressed file is read`() throws {
    let origin = TestOrigin()
    serve(origin, Compressed.closingAll, as: "gzip")
    let file = try #require(Fetcher().fetchRobots(of: origin.baseURL + "/a").body)
    #expect(!RobotsRules(parsing: file.bytes).permits(target: "/a"))
  }

  @Test(arguments: ["bogus", "br"])
  func `a file in another coding than it says is a failure`(coding: String) throws {
    let origin = TestOrigin()
    serve(origin, Compressed.closingAll, as: coding)
    let failure = try Fetcher().fetchRobots(of: origin.baseURL + "/a").failure
    #expect(failure?.code == .invalidResponse)
  }

  @Test func `a file that inflates without end comes in as far as it counts`() throws {
    let origin = TestOrigin()
    serve(origin, Compressed.twoMillionZeros, as: "gzip")
    let fetcher = try Fetcher(bodyBudget: 1)
    let file = try #require(fetcher.fetchRobots(of: origin.baseURL + "/a").body)
    #expect(file.bytes.count >= RobotsRules.maximumByteCount)
    #expect(file.bytes.count <= RobotsRules.maximumByteCount + 16_384)
    #expect(fetcher.pool.heldBodyByteCount == 0)
  }

  @Test func `the file is asked for with the contact of the request, also after a redirect`() throws
  {
    let origin = TestOrigin()
    origin.serve("/robots.txt", .redirect(to: "/1"))
    origin.serve("/1", .body([7]))
    let contact = try Contact("https://example.com/bot")
    _ = try Fetcher().fetchRobots(of: origin.baseURL + "/a", contact: contact)
    for path in ["/robots.txt", "/1"] {
      #expect(origin.counters(path).headersSeen["user-agent"] == Contact.userAgent(with: contact))
    }
  }

  @Test func `five redirects lead to a file, six do not`() throws {
    let origin = TestOrigin()
    origin.serve("/robots.txt", .redirect(to: "/1"))
    for index in 1...4 { origin.serve("/\(index)", .redirect(to: "/\(index + 1)")) }
    origin.serve("/5", .body([7]))
    #expect(try Fetcher().fetchRobots(of: origin.baseURL + "/a").body?.bytes == [7])
    origin.serve("/5", .redirect(to: "/6"))
    let failure = try Fetcher().fetchRobots(of: origin.baseURL + "/a").failure
    #expect(failure?.code == .tooManyRedirects)
  }
}

/// What an origin's `X-Robots-Tag` says to this program.
@Suite(.timeLimit(.minutes(20))) struct RobotsTagTests {
  @Test(arguments: [
    ("noai", "noai"), (" NoImageAI ", "noimageai"), ("noindex", "noindex"),
    ("nofollow, noimageindex", "noimageindex"), ("nofollow,noai,noindex", "noai"),
    ("none", "none"), ("imgctl: noai", "noai"), ("ImgCtl:noai", "noai"),
    ("*: noindex", "noindex"), ("imgctl: nofollow, noindex", "noindex"),
    ("otherbot: noindex, imgctl: noai", "noai"),
    ("unavailable_after: 25 Jun 2010 15:00:00 PST, noai", "noai"),
    ("unavailable_after: Friday, 25-Jun-10 15:00:00 PST, noai", "noai"),
    ("max-image-preview: none, noai", "noai"),
  ])
  func `these directives forbid this program the use`(value: String, directive: String) {
    #expect(RobotsTag.optOut(in: value) == directive)
  }

  @Test(arguments: [
    "", " , ,", "all", "nofollow", "noarchive, nosnippet", "noaim", "xnoai", "no ai",
    "otherbot: noai", "otherbot: nofollow, noindex", "imgctl: nofollow, otherbot: noai",
    "imgctl2: noai", "unavailable_after: 25 Jun 2010 15:00:00 PST",
    "unavailable_after: noindex", "max-image-preview: none", ": noai",
  ])
  func `these directives do not forbid it`(value: String) {
    #expect(RobotsTag.optOut(in: value) == nil)
  }
}

/// Pictures whose origins forbid their use.
@Suite(.timeLimit(.minutes(20))) struct OptOutTests {
  private let origin = TestOrigin()
  private let respectful = FetchOptions(respectsOptOut: true)
  private static let tag = Header("X-Robots-Tag", "noai, noimageai")
  private static let body = noise(8 << 20)

  @Test func `a request that respects the opt-out ends at the head`() throws {
    origin.serve("/a", .body(Self.body, headers: [Self.tag]))
    let transfer = try Fetcher().fetch(origin.baseURL + "/a", as: respectful)
    #expect(transfer.failure?.code == .optedOut)
    #expect(transfer.failure?.stage == .fetch)
    #expect(transfer.failure?.isRetryable == false)
    #expect(transfer.failure?.httpStatus == 200)
    #expect(transfer.bytesReceived == 0)
    #expect(origin.waitUntil { $0["/a"].aborted == 1 })
  }

  @Test func `a request that ignores the opt-out gets the picture, and its opt-out`() throws {
    origin.serve("/a", .body([7], headers: [Header("X-Robots-Tag", "nofollow"), Self.tag]))
    let body = try #require(Fetcher().fetch(origin.baseURL + "/a").body)
    #expect(body.bytes == [7])
    #expect(body.optOut?.code == .optedOut)
  }

  @Test func `only the last response counts, and only one with a picture`() throws {
    let location = Header("Location", "/b")
    origin.serve("/a", .response(Response(status: 302, headers: [location, Self.tag])))
    origin.serve("/b", .body([7]))
    let body = try #require(Fetcher().fetch(origin.baseURL + "/a", as: respectful).body)
    #expect(body.optOut == nil)
    origin.serve("/c", .status(404, headers: [Self.tag]))
    let failure = try Fetcher().fetch(origin.baseURL + "/c", as: respectful).failure
    #expect(failure?.code == .httpStatus)
  }

  @Test(
    arguments: [
      ("User-agent: *\nCrawl-delay: 10\n", .seconds(10)),
      ("User-agent: *\ncrawl-DELAY : 0.5 # half\nDisallow: /a\n", .milliseconds(500)),
      ("User-agent: *\nCrawl-delay: 2\nCrawl-delay: 7\nCrawl-delay: 3\n", .seconds(7)),
      ("User-agent: *\nCrawl-delay: 10\nDisallow:\nUser-agent: imgctl\nDisallow: /a\n", nil),
      (
        "User-agent: other\nCrawl-delay: 9\nAllow: /\nUser-agent: imgctl/2\nCrawl-delay: 4\n",
        .seconds(4)
      ),
      ("User-agent: other\nCrawl-delay: 9\n", nil), ("Crawl-delay: 9\n", nil),
      (
        "User-agent: *\nCrawl-delay: 1\nUser-agent: other\nCrawl-delay: 60\nDisallow: /b\n",
        .seconds(1)
      ),
      ("User-agent: *\nCrawl-delay: soon\n", nil), ("User-agent: *\nCrawl-delay: -1\n", nil),
      ("User-agent: *\nCrawl-delay: 0\n", nil), ("User-agent: *\nCrawl-delay:\n", nil),
      ("User-agent: *\nCrawl-delay: 1e3\n", nil), ("User-agent: *\nCrawl-delay: inf\n", nil),
      ("User-agent: *\nCrawl-delay: 1.2.3\n", nil),
      ("User-agent: *\nCrawl-delay: 99999999999999999999999\n", .seconds(86_400)),
    ] as [(String, Duration?)])
  func `the crawl delay is that of the group for this program`(file: String, delay: Duration?) {
    let rules = RobotsRules(parsing: Array(file.utf8))
    #expect(rules.crawlDelay == delay)
    #expect(RobotsRules(remembered: rules.text).crawlDelay == delay)
  }
}
