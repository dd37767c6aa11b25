import ImgFetch
import ImgModel
import ImgSystem
import TestOrigin
import Testing

@Suite struct AddressPolicyTests {
  @Test(arguments: [
    "0.0.0.0", "0.1.2.3", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255",
    "127.0.0.1", "127.255.255.255", "169.254.0.1", "169.254.169.254", "172.16.0.0",
    "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.0.1", "192.168.255.255",
    "198.18.0.0", "198.19.255.255", "198.51.100.7", "203.0.113.255", "224.0.0.1",
    "239.255.255.255", "240.0.0.1", "255.255.255.255", "192.31.196.0", "192.31.196.255",
    "192.52.193.0", "192.52.193.255", "192.175.48.0", "192.175.48.255",
  ])
  func `an IPv4 address that is not public is refused`(address: String) throws {
    #expect(try !permits(address))
  }

  @Test(arguments: [
    "1.0.0.0", "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
    "126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255",
    "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.3.0", "192.88.98.255", "192.167.255.255",
    "192.169.0.0", "198.17.255.255", "198.20.0.0", "198.51.99.255", "203.0.112.255",
    "203.0.114.0", "223.255.255.255", "192.31.195.255", "192.31.197.0", "192.52.192.255",
    "192.52.194.0", "192.175.47.255", "192.175.49.0",
  ])
  func `an IPv4 address just outside a refused network is permitted`(address: String) throws {
    #expect(try permits(address))
  }

  @Test(arguments: [
    "::", "::1", "::2", "fc00::1", "fdff:ffff::1", "fe80::1", "febf::1", "fec0::1", "feff::1",
    "ff02::1", "2001:db8::1", "2001::1", "2001:0:ffff::1", "2001:2::1", "2001:1ff::1", "3fff::1",
    "3fff:fff::1", "100::1", "64:ff9b:1::1", "5f00::1", "4000::1", "8000::1", "e000::1",
    "200::1", "1fff::1", "::ffff:0:1.1.1.1", "2620:4f:8000::1",
    "2620:4f:8000:ffff::1",
  ])
  func `an IPv6 address that is not public is refused`(address: String) throws {
    #expect(try !permits(address))
  }

  @Test(arguments: [
    "2000::1", "2001:200::1", "2001:db7::1", "2001:db9::1", "2606:4700:4700::1111",
    "2a00:1450:4001:81b::2004", "3ffe::1", "3fff:1000::1",
    "2620:4f:7fff::1", "2620:4f:8001::1",
  ])
  func `an IPv6 address of the public internet is permitted`(address: String) throws {
    #expect(try permits(address))
  }

  @Test(arguments: [
    ("::ffff:127.0.0.1", false), ("::ffff:10.1.2.3", false), ("::ffff:1.1.1.1", true),
    ("::127.0.0.1", false), ("::192.168.1.1", false), ("::1.1.1.1", true),
    ("2002:7f00:1::1", false), ("2002:a9fe:a9fe::", false), ("2002:101:101::1", true),
    ("64:ff9b::127.0.0.1", false), ("64:ff9b::169.254.169.254", false),
    ("64:ff9b::1.1.1.1", true),
  ])
  func `an embedded IPv4 address is checked alike`(address: String, isPermitted: Bool) throws {
    #expect(try permits(address) == isPermitted)
  }

  @Test(arguments: [
    ("127.0.0.1", true), ("127.0.0.2", false), ("::ffff:127.0.0.1", true),
    ("::ffff:127.0.0.2", false), ("::1", true), ("fd00::5", true), ("fd01::5", false),
    ("10.0.0.1", false), ("1.1.1.1", true),
  ])
  func `an allowed network is permitted, also in its mapped form, and nothing else changes`(
    address: String, isPermitted: Bool
  ) throws {
    let allowed = ["127.0.0.1/32", "::1", "fd00::/16"]
    #expect(try permits(address, allowing: allowed) == isPermitted)
  }

  @Test(arguments: [0, 3, 5, 15, 17])
  func `bytes that are no address are refused`(count: Int) {
    #expect(!AddressPolicy(allowed: []).permits([UInt8](repeating: 1, count: count)))
  }

  @Test(arguments: [
    ("10.1.2.3", "10.1.2.3"), ("fd00::1", "fd00::1"), ("::ffff:127.0.0.1", "127.0.0.1"),
    ("2002:a00:1::1", "10.0.0.1"),
  ])
  func `an address that embeds another one is permitted by that`(
    address: String, permitted: String
  ) throws {
    let bytes = try #require(IPAddress.bytes(parsing: address))
    let refusal = try #require(AddressPolicy(allowed: []).refusal(of: bytes))
    #expect(IPAddress.text(refusal.address) == permitted)
    #expect(try permits(address, allowing: [permitted]))
  }

  private func permits(_ address: String, allowing networks: [String] = []) throws -> Bool {
    let bytes = try #require(IPAddress.bytes(parsing: address))
    return AddressPolicy(allowed: try networks.map(range)).permits(bytes)
  }
}

@Suite(.timeLimit(.minutes(20))) struct InternalURLTests {
  init() {
    for name in InternalURL.namesWithFinalDot { FakeResolver.serve(name, ["127.0.0.1"]) }
  }

  @Test func `the table holds what it is to hold`() {
    #expect(Set(InternalURL.all.map(\.text)).count == InternalURL.all.count)
    #expect(InternalURL.all.count >= 200)
  }

  @Test(arguments: InternalURL.all)
  func `an internal address is not connected to however it is spelled`(url: InternalURL) throws {
    let origin = TestOrigin()
    #expect(try code(of: url.text(port: origin.port)) == url.inList)
    #expect(origin.totals().connectionsOpened == 0)
  }

  @Test(arguments: InternalURL.linesWithoutScheme)
  func `an internal address is not connected to without a scheme`(url: InternalURL) throws {
    let origin = TestOrigin()
    #expect(try code(of: url.text(port: origin.port)) == url.inList)
    #expect(origin.totals().connectionsOpened == 0)
  }

  @Test(arguments: InternalURL.all)
  func `a redirect to an internal address is refused in any spelling`(url: InternalURL) throws {
    let origin = TestOrigin()
    // Another address than that of the origin, so that this one may be connected to.
    let listener = try RawListener(host: 0x6301)
    let location = "Location: \(url.text(port: origin.port))\r\n"
    let transfer = try Fetcher(allowing: ["127.0.99.1/32"]).fetch(listener.baseURL + "/a") {
      listener.answer(with: "HTTP/1.1 302 Found\r\n\(location)Content-Length: 0\r\n\r\n")
    }
    let failure = try #require(transfer.failure)
    #expect(failure.code == url.inRedirect, "\(failure.detail)")
    #expect(!failure.isRetryable)
    #expect(origin.totals().connectionsOpened == 0)
  }

  /// What a line of a list fails with, wherever that is found out.
  private func code(of line: String) throws -> Failure.Code? {
    do {
      return try Fetcher(allowing: []).fetch(line).failure?.code
    } catch let failure as Failure {
      return failure.code
    }
  }
}

/// One way to write an address that is not the public internet's, or a URL of another kind.
struct InternalURL: Sendable, CustomTestStringConvertible {
  /// The URL; `PORT` stands for a port.
  let text: String
  /// What it fails with in a list.
  let inList: Failure.Code
  /// What an answer that redirects to it fails with; there, libcurl reads the URL first.
  let inRedirect: Failure.Code

  private init(
    _ text: String, _ inList: Failure.Code = .blockedAddress, inRedirect: Failure.Code? = nil
  ) {
    self.text = text
    self.inList = inList
    self.inRedirect = inRedirect ?? inList
  }

  var testDescription: String { text }

  func text(port: UInt16) -> String { text.replacing("PORT", with: String(port)) }

  static let all =
    hosts.map { InternalURL("http://\($0):PORT/") } + oddSpellings.map { InternalURL($0) }
    + invalid.map { InternalURL($0, .invalidURL) }
    + otherSchemes.map { InternalURL($0, .unsupportedScheme) } + oddities

  /// Lines of lists without a scheme, which is then `https`.
  static let linesWithoutScheme =
    [
      "127.0.0.1:PORT/a.jpg", "127.0.0.1/a.jpg", "//127.0.0.1:PORT/a.jpg", "localhost/a.jpg",
      "localhost:PORT", "[::1]:PORT/a.jpg", "[::1]", "１２７。0。0。1/a.jpg", "0x7f.1/a.jpg",
      "2130706433:PORT/a.jpg", " 127.0.0.1 ", "<127.0.0.1/a.jpg>", "169.254.169.254/latest/",
      "ｌｏｃａｌｈｏｓｔ:PORT/", "\u{FEFF}10.0.0.1/a.jpg",
    ].map { InternalURL($0) }
    + [
      "user@127.0.0.1/a.jpg", "//user:word@127.0.0.1:PORT/a.jpg", "1.1.1.1\\@127.0.0.1:PORT/",
      "127.0.0.1\\a.jpg", "127.0.0.1／a.jpg", "/127.0.0.1/a.jpg", "///127.0.0.1/a.jpg",
      "127.0.0.1 :PORT/a.jpg",
    ].map { InternalURL($0, .invalidURL) }

  /// Each is a host as people may write it.
  private static let hosts =
    loopback + namesWithFinalDot + internationalised + unspecified + privateIPv4 + otherIPv4
    + loopbackIPv6 + embeddingIPv6 + otherIPv6

  private static let loopback = [
    "127.0.0.1", "127.0.0.2", "127.255.255.255", "127.1", "127.0.1", "127.65530", "127.0.65530",
    "0x7f.1", "0X7F.1", "0x7f.0.0.1", "0x7f.0x0.0x0.0x1", "0x7f000001", "0x7F000001", "2130706433",
    "017700000001", "0177.1", "0177.0.0.1", "0177.0.0.01", "00000177.1", "0177.0x0.0.1",
    "%31%32%37.0.0.1", "127%2e0%2E0%2e1", "127.0.0.%31", "%30x7f.1", "user@127.0.0.1",
    "user:word@127.0.0.1", "1.1.1.1@127.0.0.1", "example.com:80@127.0.0.1",
    "user%40example.com@127.0.0.1", ":@127.0.0.1", "localhost", "LOCALHOST", "LocalHost",
    "l%6fcalhost", "user@localhost", "sub.localhost", "a.b.LOCALHOST",
  ]

  /// What these lead to is for the name servers to say, whatever they look like.
  static let namesWithFinalDot = [
    "127.0.0.1.", "127.1.", "0x7f.1.", "2130706433.", "0.", "0.0.0.0.", "169.254.169.254.",
    "localhost.", "sub.localhost.",
  ]

  private static let internationalised = [
    "１２７.０.０.１", "①②⑦.⓪.⓪.①", "𝟏𝟐𝟕.𝟎.𝟎.𝟏", "𝟙𝟚𝟟.𝟘.𝟘.𝟙", "１２７.1", "127。0。0。1",
    "127．0．0．1", "127｡0｡0｡1", "２１３０７０６４３３", "０ｘ７ｆ.1", "ｌｏｃａｌｈｏｓｔ", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
    "loc\u{AD}alhost", "loc\u{200B}alhost", "%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1",
    "１６９.２５４.１６９.２５４",
  ]

  private static let unspecified = [
    "0", "0x0", "00", "0.0", "0.0.0.0", "0.1.2.3", "0x0.0x0", "1.1.1.1@0",
  ]

  private static let privateIPv4 = [
    "10.0.0.1", "10.1", "0xa000001", "012.0.0.1", "167772161", "10.255.255.255", "172.16.0.1",
    "172.31.255.255", "0xac100001", "2886729729", "192.168.0.1", "192.168.1", "3232235521",
    "0xc0a80001", "0300.0250.0.1", "user@192.168.0.1",
  ]

  private static let otherIPv4 = [
    // Link-local
    "169.254.169.254", "169.254.43518", "169.16689662", "2852039166",
    "0xa9fea9fe", "0251.0376.0251.0376", "169.254.170.2",
    // Carrier-grade NAT
    "100.64.0.1", "100.100.100.200", "100.127.255.255", "0x64400001",
    // Protocols, anycast services and relays
    "192.0.0.1", "192.0.0.10", "192.0.0.170", "192.31.196.1", "192.52.193.1", "192.88.99.1",
    "192.175.48.1",
    // Documentation and benchmarking
    "192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1", "198.19.255.255",
    // Multicast, reserved, broadcast
    "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "4294967295", "0xffffffff",
    "037777777777",
  ]

  private static let loopbackIPv6 = [
    "[::1]", "[0:0:0:0:0:0:0:1]", "[0000:0000:0000:0000:0000:0000:0000:0001]", "[::0001]",
    "[::0.0.0.1]", "[0::1]", "[::1%25lo]", "[::1%lo]", "[::1%251]", "user@[::1]", "[::]", "[::0]",
    "[0:0:0:0:0:0:0:0]", "[::%25lo]",
  ]

  private static let embeddingIPv6 = [
    // IPv4-compatible, IPv4-mapped, IPv4-translated
    "[::2]", "[::127.0.0.1]", "[::7f00:1]", "[::10.0.0.1]", "[::ffff:127.0.0.1]",
    "[::FFFF:7F00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::ffff:0.0.0.0]", "[::ffff:10.0.0.1]",
    "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "[::ffff:127.0.0.1%25lo]",
    "[::ffff:0:127.0.0.1]", "[::ffff:0:1.1.1.1]",
    // 6to4, Teredo, NAT64 with the well-known and with a local prefix
    "[2002:7f00:1::]", "[2002:a00:1::1]", "[2002:a9fe:a9fe::1]", "[2001::1]", "[2001:0:7f00:1::]",
    "[64:ff9b::127.0.0.1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b::10.0.0.1]", "[64:ff9b:1::1]",
    "[64:ff9b:1::1.1.1.1]",
  ]

  private static let otherIPv6 = [
    "[100::1]", "[100:0:0:1::1]", "[2001:1::1]", "[2001:2::1]", "[2001:3::1]", "[2001:4:112::1]",
    "[2001:10::1]", "[2001:20::1]", "[2001:30::1]", "[2001:db8::1]", "[2620:4f:8000::1]",
    "[3fff::1]", "[5f00::1]", "[fc00::1]", "[fd00:ec2::254]", "[FD12:3456::1]", "[fe80::1]",
    "[fe80::1%25lo]", "[FEBF::1]", "[fec0::1]", "[ff02::1]", "[ff0e::1]", "[200::1]", "[4000::1]",
    "[e000::1]",
  ]

  private static let oddSpellings = [
    "HTTP://127.0.0.1:PORT/", "hTtPs://127.0.0.1:PORT/", "http://127.0.0.1:PORT",
    "http://127.0.0.1:0PORT/", "http://127.0.0.1:PORT?@1.1.1.1/",
    "http://127.0.0.1:PORT#@1.1.1.1/", "http://127.0.0.1:PORT/@1.1.1.1/",
    "http://1.1.1.1%5C@127.0.0.1:PORT/", "//127.0.0.1:PORT/",
  ]

  private static let invalid = [
    "http://1.1.1.1\\@127.0.0.1:PORT/", "http://127.0.0.1:PORT\\@1.1.1.1/",
    "http://1.1.1.1%5c.127.0.0.1:PORT/", "http:127.0.0.1:PORT/", "http:\\\\127.0.0.1:PORT\\",
    "http:/\\127.0.0.1:PORT/", "http://\\127.0.0.1:PORT/", "http://127.0.\t0.1:PORT/",
    "ht\ttp://127.0.0.1:PORT/", "http:/\t/127.0.0.1:PORT/", "http://127.0.0.1 :PORT/",
    "http://1.1.1.1 @127.0.0.1:PORT/", "http://127.0.0.1%00.example.com:PORT/",
    "http://127.0.0.1%0d%0a:PORT/", "http://127.0.0.1%20:PORT/", "http://[127.0.0.1]:PORT/",
    "http://%5B::1%5D:PORT/", "http://[：：１]:PORT/", "http://::1/", "http://[::1/",
    "http://[::1]]:PORT/", "http://[[::1]]:PORT/", "http://127.0.0.1:PORT:80/",
    "http://127.0.0.1:99999/", "http://:PORT/", "http://@:PORT/", "http://a@b@127.0.0.1:PORT/",
    // What ends or splits a host in other letters; see UTS #46 section 4, "HostSplit".
    "http://127.0.0.1／.example.com:PORT/", "http://127.0.0.1？.example.com:PORT/",
    "http://127.0.0.1＃.example.com:PORT/", "http://127.0.0.1＼.example.com:PORT/",
    "http://example.com＠127.0.0.1:PORT/", "http://127.0.0.1：PORT", "http://127.0.0.1:８０/",
    "http://％３１27.0.0.1:PORT/", "http://127.0.0.1℀.example.com:PORT/",
    "http://127.0.0.1%2F.example.com:PORT/", "http://127.0.0.1%3f.example.com:PORT/",
    "http://127.0.0.1%23.example.com:PORT/", "http://example.com%40127.0.0.1:PORT/",
    "http://127.0.0.1%3APORT/", "http://%EF%BC%8F127.0.0.1:PORT/",
    "http://%2531%32%37.0.0.1:PORT/",
  ]

  private static let otherSchemes = [
    "file:///etc/passwd", "FILE://localhost/etc/passwd", "ftp://127.0.0.1:PORT/",
    "gopher://127.0.0.1:PORT/_GET", "dict://127.0.0.1:PORT/", "ldap://127.0.0.1:PORT/",
    "telnet://127.0.0.1:PORT/", "smb://127.0.0.1:PORT/share", "ws://127.0.0.1:PORT/",
    "http+unix://%2Frun%2Fdocker.sock/", "unix:///run/docker.sock", "jar:http://127.0.0.1:PORT/!/",
    "javascript://127.0.0.1:PORT/",
  ]

  private static let oddities = [
    InternalURL("http:/127.0.0.1:PORT/", .invalidURL, inRedirect: .blockedAddress),
    InternalURL("http:///127.0.0.1:PORT/", .invalidURL, inRedirect: .blockedAddress),
  ]
}

/// Names whose addresses change or are of both kinds, and names in other letters. 127.0.0.1 stands
/// for the public internet, because it is allowed, and 127.0.0.2 for what is internal.
@Suite(.timeLimit(.minutes(20))) struct NameTests {
  private let origin: TestOrigin
  /// At the origin's port.
  private let inside: RawListener
  private let fetcher: Fetcher

  init() throws {
    origin = TestOrigin { _, _ in .body([7]) }
    inside = try RawListener(host: 2, port: origin.port)
    fetcher = try Fetcher(allowing: ["127.0.0.1/32"])
  }

  @Test(arguments: [["127.0.0.2", "127.0.0.1"], ["127.0.0.1", "127.0.0.2"]])
  func `of a name's addresses only the public one is connected to`(addresses: [String]) throws {
    FakeResolver.serve("both-\(addresses[0]).test", addresses)
    let url = "http://both-\(addresses[0]).test:\(origin.port)/a"
    #expect(try fetcher.fetch(url).body?.bytes == [7])
    #expect(!inside.acceptsConnection())
  }

  @Test func `a name's internal address is not tried when its public one fails`() throws {
    FakeResolver.serve("half.test", ["127.0.0.1", "127.0.0.2"])
    let port = origin.port
    origin.stop()
    let failure = try #require(fetcher.fetch("http://half.test:\(port)/a").failure)
    #expect(failure.code == .connectFailure)
    #expect(!inside.acceptsConnection())
  }

  @Test func `a name that is internal at the second look is refused then`() throws {
    FakeResolver.serve("turning.test", ["127.0.0.1"], ["127.0.0.2"])
    let second = TestOrigin { _, _ in .body([8]) }
    let secondInside = try RawListener(host: 2, port: second.port)
    // libcurl remembers an answer by name and port.
    #expect(try fetcher.fetch("http://turning.test:\(origin.port)/a").body?.bytes == [7])
    let failure = try fetcher.fetch("http://turning.test:\(second.port)/a").failure
    #expect(failure?.code == .blockedAddress)
    #expect(FakeResolver.queryCount(of: "turning.test") == 2)
    #expect(!secondInside.acceptsConnection())
    #expect(second.totals().connectionsOpened == 0)
  }

  @Test func `a name that is internal when a redirect leads to it again is refused`() throws {
    FakeResolver.serve("returning.test", ["127.0.0.1"], ["127.0.0.2"])
    let second = TestOrigin { _, _ in .body([8]) }
    let secondInside = try RawListener(host: 2, port: second.port)
    origin.serve("/a", .redirect(to: "http://returning.test:\(second.port)/b"))
    let failure = try fetcher.fetch("http://returning.test:\(origin.port)/a").failure
    #expect(failure?.code == .blockedAddress)
    #expect(!secondInside.acceptsConnection())
    #expect(second.totals().connectionsOpened == 0)
  }

  @Test func `a connection that is used again is the one that was checked`() throws {
    FakeResolver.serve("same.test", ["127.0.0.1"], ["127.0.0.2"])
    for path in ["/a", "/b"] {
      let url = "http://same.test:\(origin.port)\(path)"
      #expect(try fetcher.fetch(url).body?.bytes == [7])
    }
    #expect(origin.totals().connectionsOpened == 1)
    #expect(!inside.acceptsConnection())
  }

  @Test func `a name without an address does not affect the transfers after it`() throws {
    FakeResolver.serve("gone.test", [])
    FakeResolver.serve("there.test", ["127.0.0.1"])
    let good = "http://there.test:\(origin.port)/a"
    for _ in 1...3 {
      #expect(try fetcher.fetch("http://gone.test/a").failure?.code == .dnsFailure)
      let end = try fetcher.fetch(good)
      #expect(end.body?.bytes == [7], "\(String(describing: end.failure))")
    }
    let urls = Array(repeating: ["http://gone.test/a", good], count: 8).flatMap(\.self)
    let ends = try fetcher.fetch(urls)
    #expect(ends.filter { $0.failure?.code == .dnsFailure }.count == 8)
    #expect(ends.filter { $0.body?.bytes == [7] }.count == 8)
  }

  @Test func `an international name is looked up in the form that name servers know`() throws {
    // RFC 5891 section 4.4, RFC 3492
    FakeResolver.serve("xn--bcher-kva.test", ["127.0.0.1"])
    for name in ["bücher.test", "BÜCHER.test", "b%C3%BCcher.test"] {
      #expect(try fetcher.fetch("http://\(name):\(origin.port)/a").body?.bytes == [7])
    }
  }

  /// Two at a time: before it tries a third, libcurl waits for half of the time to connect.
  @Test(arguments: [["127.0.0.2", "10.0.0.1"], ["169.254.169.254", "127.0.0.2"]])
  func `a name with internal addresses alone is refused`(addresses: [String]) throws {
    FakeResolver.serve("inside-\(addresses[0]).test", addresses)
    let failure = try fetcher.fetch("http://inside-\(addresses[0]).test:\(origin.port)/a").failure
    #expect(failure?.code == .blockedAddress)
    #expect(!inside.acceptsConnection())
  }
}
