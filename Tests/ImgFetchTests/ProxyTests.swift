import ImgModel
import TestOrigin
import Testing

@testable import ImgFetch

/// Transfers through a proxy. 127.0.0.1 stands for the public internet, because it is allowed, and
/// 127.0.0.2 for what is internal; names below invalid have no address here (RFC 6761 section 6.4).
@Suite(.timeLimit(.minutes(20))) struct ProxyTests {
  private let origin: TestOrigin
  private let proxy: ForwardProxy

  init() throws {
    origin = TestOrigin { path, _ in path == "/missing" ? nil : .body([7]) }
    proxy = try ForwardProxy(hosts: ["a.invalid": origin.port, "127.0.0.1": origin.port])
  }

  private func fetcher(
    _ scheme: String = "http", port: UInt16? = nil, direct: [String] = [],
    allowing networks: [String] = ["127.0.0.1/32"], adjust: (inout Limits) -> Void = { _ in }
  ) throws -> Fetcher {
    let url = try ProxyURL(parsing: "\(scheme)://user:pass@127.0.0.1:\(port ?? proxy.port)")
    return try Fetcher(
      allowing: networks, proxies: ProxySettings(http: url, https: url, directHosts: direct),
      adjust: adjust)
  }

  /// The proxy itself is on an address that no URL may name.
  @Test(arguments: [
    ("http", "GET http://a.invalid/a"), ("socks5h", "SOCKS a.invalid:80"),
  ])
  func `a name unknown here is the proxy's to resolve`(scheme: String, request: String) throws {
    let fetcher = try fetcher(scheme, allowing: [])
    #expect(try fetcher.fetch("http://a.invalid/a").body?.bytes == [7])
    #expect(try fetcher.fetch("http://a.invalid/missing").failure?.httpStatus == 404)
    #expect(proxy.requests.first == request)
  }

  @Test func `with socks5 names are resolved here`() throws {
    FakeResolver.serve("here.test", ["127.0.0.1"])
    let fetcher = try fetcher("socks5")
    #expect(try fetcher.fetch("http://here.test/a").body?.bytes == [7])
    #expect(proxy.requests == ["SOCKS 127.0.0.1:80"])
    #expect(try fetcher.fetch("http://a.invalid/a").failure?.code == .dnsFailure)
  }

  @Test(arguments: ["http", "socks5h"])
  func `a host with a refused address is refused before the proxy is asked`(scheme: String) throws {
    FakeResolver.serve("mixed.test", ["127.0.0.1", "127.0.0.2"])
    FakeResolver.serve("mixed-too.test", ["127.0.0.2", "127.0.0.1"])
    let fetcher = try fetcher(scheme)
    for host in ["127.0.0.2", "0x7f000002", "[::1]", "10.0.0.1", "mixed.test", "mixed-too.test"] {
      let failure = try fetcher.fetch("http://\(host)/a").failure
      #expect(failure?.code == .blockedAddress, "\(host)")
    }
    #expect(proxy.requests == [])
  }

  @Test func `a redirect to a refused address is refused before the proxy is asked`() throws {
    origin.serve("/a", .redirect(to: "http://127.0.0.2/b"))
    #expect(try fetcher().fetch("http://a.invalid/a").failure?.code == .blockedAddress)
    #expect(proxy.requests == ["GET http://a.invalid/a"])
  }

  @Test func `the address of the proxy is permitted as a proxy alone`() throws {
    let fetcher = try fetcher(allowing: [])
    #expect(try fetcher.fetch("http://a.invalid/a").body?.bytes == [7])
    let url = "http://127.0.0.1:\(proxy.port)/a"
    #expect(try fetcher.fetch(url).failure?.code == .blockedAddress)
  }

  @Test func `hosts of NO_PROXY are asked directly, and checked as ever`() throws {
    FakeResolver.serve("direct.test", ["127.0.0.1"])
    let fetcher = try fetcher(direct: ["direct.test", "127.0.0.0/8"])
    #expect(try fetcher.fetch("http://direct.test:\(origin.port)/a").body?.bytes == [7])
    #expect(try fetcher.fetch("http://127.0.0.2/a").failure?.code == .blockedAddress)
    #expect(proxy.requests == [])
  }

  @Test func `a checked name is not looked up again at once`() throws {
    FakeResolver.serve("often.test", ["127.0.0.1"])
    let often = try ForwardProxy(hosts: ["often.test": origin.port])
    let fetcher = try fetcher(port: often.port)
    for path in ["/a", "/b"] {
      #expect(try fetcher.fetch("http://often.test\(path)").body?.bytes == [7])
    }
    #expect(FakeResolver.queryCount(of: "often.test") == 1)
  }

  @Test func `a look-up that had no time is not a check`() throws {
    FakeResolver.serve("late.test", ["127.0.0.2"])
    let fetcher = try fetcher()
    let url = "http://late.test/a"
    try FakeResolver.holding("late.test") {
      let id = try fetcher.start(url, begunAt: .now - .seconds(100_000))
      #expect(try fetcher.end(of: id).failure?.code == .timeout)
    }
    #expect(try fetcher.fetch(url).failure?.code == .blockedAddress)
    #expect(proxy.requests == [])
  }

  @Test(arguments: ["http", "socks5h"])
  func `the proxy gets user and password, the origin does not`(scheme: String) throws {
    // user:pass
    let strict = try ForwardProxy(hosts: ["a.invalid": origin.port], credentials: "dXNlcjpwYXNz")
    let fetcher = try fetcher(scheme, port: strict.port)
    #expect(try fetcher.fetch("http://a.invalid/a").body?.bytes == [7])
    #expect(origin.counters("/a").headersSeen["authorization"] == nil)
  }

  // MARK: - Failures

  @Test(arguments: [
    ("http", "http", "407"), ("http", "https", "407"),
    ("socks5h", "http", "User was rejected by the SOCKS5 server (1 1)"),
  ])
  func `a proxy that asks for other credentials has failed, not the origin`(
    proxyScheme: String, scheme: String, words: String
  ) throws {
    let strict = try ForwardProxy(hosts: ["a.invalid": origin.port], credentials: "other")
    let end = try fetcher(proxyScheme, port: strict.port).fetch("\(scheme)://a.invalid/a")
    #expect(end.sign == .unrouted, "nothing gets through")
    let failure = try #require(end.failure)
    #expect(failure.code == .proxyFailure)
    #expect(failure.httpStatus == nil)
    #expect(failure.isRetryable)
    #expect(failure.detail.contains("it asks for other credentials (\(words)); "))
    #expect(failure.detail.hasSuffix("user and password in the URL of IMGCTL_PROXY"))
    #expect(!failure.detail.contains("user:pass"))
  }

  @Test(arguments: [
    ("http", "407"), ("socks5h", "No authentication method was acceptable"),
  ])
  func `a proxy that got no credentials asks for some`(scheme: String, words: String) throws {
    let strict = try ForwardProxy(hosts: [:], credentials: "other")
    let url = try ProxyURL(parsing: "\(scheme)://127.0.0.1:\(strict.port)")
    let fetcher = try Fetcher(proxies: ProxySettings(http: url, https: url, directHosts: []))
    let end = try fetcher.fetch("http://a.invalid/a")
    #expect(end.failure?.detail.contains(": it asks for credentials (\(words)); ") == true)
    #expect(end.sign == .unrouted)
  }

  @Test(arguments: [
    ("http", "http", nil), ("http", "https", nil), ("socks5h", "http", nil),
    ("http", "https", 403), ("http", "https", 503), ("socks5h", "http", 2),
  ])
  func `a proxy that does not do its work has failed`(
    proxyScheme: String, scheme: String, answer: Int?
  ) throws {
    proxy.conduct = answer.map(ForwardProxy.Conduct.answer) ?? .hangUp
    let end = try fetcher(proxyScheme).fetch("\(scheme)://a.invalid/a")
    #expect(end.failure?.code == .proxyFailure, "\(String(describing: end.failure))")
    #expect(end.sign == nil, "it may be because of the origin")
  }

  @Test(arguments: ["http", "https", "socks5h"])
  func `a proxy that cannot be reached has failed`(scheme: String) throws {
    proxy.stop()
    let end = try fetcher(scheme).fetch("http://a.invalid/a")
    #expect(end.sign == .unrouted)
    let failure = try #require(end.failure)
    #expect(failure.code == .proxyFailure)
    #expect(failure.detail.contains("127.0.0.1:\(proxy.port)"))
    let advice = "; for another one: imgctl stop && imgctl start --proxy URL"
    #expect(failure.detail.hasSuffix(advice))
  }

  /// The last one is no proxy with TLS, and waits for the end of a request.
  @Test(
    .ownThread,
    arguments: [("http", "http"), ("http", "https"), ("socks5h", "http"), ("https", "http")]
  )
  func `a proxy that accepts and stays silent is a timeout of the origin`(
    proxyScheme: String, scheme: String
  ) throws {
    proxy.conduct = .stall
    let fetcher = try fetcher(proxyScheme) {
      $0.connectTimeout = .seconds(1)
      $0.transferTimeout = .seconds(1)
    }
    // The look-up of a name counts, too, and on a busy machine it may take that second.
    let end = try fetcher.fetch("\(scheme)://127.0.0.1/a")
    #expect(end.failure?.code == .timeout, "\(String(describing: end.failure))")
    #expect(end.sign == nil, "the network is not the reason")
  }

  @Test func `a proxy whose name has no address has failed`() throws {
    let url = try ProxyURL(parsing: "http://proxy.invalid:3128")
    let fetcher = try Fetcher(proxies: ProxySettings(http: url, https: nil, directHosts: []))
    let end = try fetcher.fetch("http://a.invalid/a")
    #expect(end.failure?.code == .proxyFailure)
    #expect(end.sign == .unrouted)
  }

  @Test(arguments: [("http", "https"), ("socks5h", "http"), ("socks5h", "https")])
  func `an origin that the proxy cannot reach has failed, not the proxy`(
    proxyScheme: String, scheme: String
  ) throws {
    let failure = try fetcher(proxyScheme).fetch("\(scheme)://elsewhere.invalid/a").failure
    #expect(failure?.code == .connectFailure, "\(String(describing: failure))")
  }

  @Test func `an origin without TLS behind a tunnel has failed, not the proxy`() throws {
    let failure = try fetcher().fetch("https://a.invalid/a").failure
    #expect(failure?.code == .tlsFailure, "\(String(describing: failure))")
    #expect(proxy.requests.first == "CONNECT a.invalid:443")
  }
}

/// The rules of curl(1) for NO_PROXY.
@Suite struct DirectHostsTests {
  @Test(arguments: [
    (["*"], "any.example", true),
    // Not alone, it is a name like any other.
    (["*", "a.example"], "any.example", false),
    (["a.example"], "a.example", true), (["a.example"], "www.a.example", true),
    (["A.Example."], "a.example", true), ([".a.example"], "a.example", true),
    (["a.example"], "other-a.example", false), (["a.example"], "example", false),
    (["10.1.2.3"], "10.1.2.3", true), (["10.1.2.3"], "10.1.2.4", false),
    (["10.0.0.0/8"], "10.1.2.3", true), (["10.0.0.0/8"], "11.1.2.3", false),
    (["10.0.0.0/33"], "10.1.2.3", false), (["2.3"], "10.1.2.3", false),
    (["[::1]"], "[::1]", true), (["::1"], "[::1]", true), (["fd00::/8"], "[fd01::2]", true),
    (["10.0.0.0/8"], "a10.0.0.0", false), ([], "a.example", false), (["."], "a.example", false),
    (["*.a.example"], "www.a.example", true), (["*.a.example"], "b.example", false),
    (["a.example:80"], "a.example", true), (["a.example:81"], "a.example", false),
    (["10.1.2.3:80"], "10.1.2.3", true), (["[::1]:81"], "[::1]", false),
    (["[::1]:80"], "[::1]", true), (["fd00::80"], "[fd00::80]", true),
  ])
  func `NO_PROXY names hosts as curl reads it, or with a port or an asterisk`(
    entries: [String], host: String, isDirect: Bool
  ) {
    #expect(DirectHosts(entries).contains(host, port: 80) == isDirect)
  }
}
