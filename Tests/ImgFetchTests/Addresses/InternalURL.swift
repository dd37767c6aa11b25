import ImgModel
import Testing

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

  static let all = hosts.map { InternalURL("http://\($0):PORT/") } + oddities

  /// Lines of lists without a scheme, which is then `https`.
  static let linesWithoutScheme =
    [
      "127.0.0.1:PORT/a.jpg", "127.0.0.1/a.jpg", "//127.0.0.1:PORT/a.jpg", "localhost/a.jpg",
      "localhost:PORT", "[::1]:PORT/a.jpg", "[::1]", "１２７。0。0。1/a.jpg", "0x7f.1/a.jpg",
      "2130706433:PORT/a.jpg", " 127.0.0.1 ", "<127.0.0.1/a.jpg>", "169.254.169.254/latest/",
      "ｌｏｃａｌｈｏｓｔ:PORT/", "\u{FEFF}10.0.0.1/a.jpg",
    ].map { InternalURL($0) } + [
      InternalURL("user@127.0.0.1/a.jpg", .invalidURL),
      InternalURL("//user:word@127.0.0.1:PORT/a.jpg", .invalidURL),
      InternalURL("1.1.1.1\\@127.0.0.1:PORT/", .invalidURL),
      InternalURL("127.0.0.1\\a.jpg", .invalidURL),
      InternalURL("127.0.0.1／a.jpg", .invalidURL),
      InternalURL("/127.0.0.1/a.jpg", .invalidURL),
      InternalURL("///127.0.0.1/a.jpg", .invalidURL),
      InternalURL("127.0.0.1 :PORT/a.jpg", .invalidURL),
    ]

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

  private static let oddities = [
    InternalURL("HTTP://127.0.0.1:PORT/"),
    InternalURL("hTtPs://127.0.0.1:PORT/"),
    InternalURL("http://127.0.0.1:PORT"),
    InternalURL("http://127.0.0.1:0PORT/"),
    InternalURL("http://127.0.0.1:PORT?@1.1.1.1/"),
    InternalURL("http://127.0.0.1:PORT#@1.1.1.1/"),
    InternalURL("http://127.0.0.1:PORT/@1.1.1.1/"),
    InternalURL("http://1.1.1.1\\@127.0.0.1:PORT/", .invalidURL),
    InternalURL("http://127.0.0.1:PORT\\@1.1.1.1/", .invalidURL),
    InternalURL("http://1.1.1.1%5C@127.0.0.1:PORT/"),
    InternalURL("http://1.1.1.1%5c.127.0.0.1:PORT/", .invalidURL),
    InternalURL("http:/127.0.0.1:PORT/", .invalidURL, inRedirect: .blockedAddress),
    InternalURL("http:///127.0.0.1:PORT/", .invalidURL, inRedirect: .blockedAddress),
    InternalURL("http:127.0.0.1:PORT/", .invalidURL),
    InternalURL("http:\\\\127.0.0.1:PORT\\", .invalidURL),
    InternalURL("http:/\\127.0.0.1:PORT/", .invalidURL),
    InternalURL("http://\\127.0.0.1:PORT/", .invalidURL),
    InternalURL("//127.0.0.1:PORT/"),
    InternalURL("http://127.0.\t0.1:PORT/", .invalidURL),
    InternalURL("ht\ttp://127.0.0.1:PORT/", .invalidURL),
    InternalURL("http:/\t/127.0.0.1:PORT/", .invalidURL),
    InternalURL("http://127.0.0.1 :PORT/", .invalidURL),
    InternalURL("http://1.1.1.1 @127.0.0.1:PORT/", .invalidURL),
    InternalURL("http://127.0.0.1%00.example.com:PORT/", .invalidURL),
    InternalURL("http://127.0.0.1%0d%0a:PORT/", .invalidURL),
    InternalURL("http://127.0.0.1%20:PORT/", .invalidURL),
    InternalURL("http://[127.0.0.1]:PORT/", .invalidURL),
    InternalURL("http://%5B::1%5D:PORT/", .invalidURL),
    InternalURL("http://[：：１]:PORT/", .invalidURL),
    InternalURL("http://::1/", .invalidURL),
    InternalURL("http://[::1/", .invalidURL),
    InternalURL("http://[::1]]:PORT/", .invalidURL),
    InternalURL("http://[[::1]]:PORT/", .invalidURL),
    InternalURL("http://127.0.0.1:PORT:80/", .invalidURL),
    InternalURL("http://127.0.0.1:99999/", .invalidURL),
    InternalURL("http://:PORT/", .invalidURL),
    InternalURL("http://@:PORT/", .invalidURL),
    InternalURL("http://a@b@127.0.0.1:PORT/", .invalidURL),
    // What ends or splits a host in other letters; see UTS #46 section 4, "HostSplit".
    InternalURL("http://127.0.0.1／.example.com:PORT/", .invalidURL),
    InternalURL("http://127.0.0.1？.example.com:PORT/", .invalidURL),
    InternalURL("http://127.0.0.1＃.example.com:PORT/", .invalidURL),
    InternalURL("http://127.0.0.1＼.example.com:PORT/", .invalidURL),
    InternalURL("http://example.com＠127.0.0.1:PORT/", .invalidURL),
    InternalURL("http://127.0.0.1：PORT", .invalidURL),
    InternalURL("http://127.0.0.1:８０/", .invalidURL),
    InternalURL("http://％３１27.0.0.1:PORT/", .invalidURL),
    InternalURL("http://127.0.0.1℀.example.com:PORT/", .invalidURL),
    InternalURL("http://127.0.0.1%2F.example.com:PORT/", .invalidURL),
    InternalURL("http://127.0.0.1%3f.example.com:PORT/", .invalidURL),
    InternalURL("http://127.0.0.1%23.example.com:PORT/", .invalidURL),
    InternalURL("http://example.com%40127.0.0.1:PORT/", .invalidURL),
    InternalURL("http://127.0.0.1%3APORT/", .invalidURL),
    InternalURL("http://%EF%BC%8F127.0.0.1:PORT/", .invalidURL),
    InternalURL("http://%2531%32%37.0.0.1:PORT/", .invalidURL),
    InternalURL("file:///etc/passwd", .unsupportedScheme),
    InternalURL("FILE://localhost/etc/passwd", .unsupportedScheme),
    InternalURL("ftp://127.0.0.1:PORT/", .unsupportedScheme),
    InternalURL("gopher://127.0.0.1:PORT/_GET", .unsupportedScheme),
    InternalURL("dict://127.0.0.1:PORT/", .unsupportedScheme),
    InternalURL("ldap://127.0.0.1:PORT/", .unsupportedScheme),
    InternalURL("telnet://127.0.0.1:PORT/", .unsupportedScheme),
    InternalURL("smb://127.0.0.1:PORT/share", .unsupportedScheme),
    InternalURL("ws://127.0.0.1:PORT/", .unsupportedScheme),
    InternalURL("http+unix://%2Frun%2Fdocker.sock/", .unsupportedScheme),
    InternalURL("unix:///run/docker.sock", .unsupportedScheme),
    InternalURL("jar:http://127.0.0.1:PORT/!/", .unsupportedScheme),
    InternalURL("javascript://127.0.0.1:PORT/", .unsupportedScheme),
  ]
}
