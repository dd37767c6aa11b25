import ImgModel
import SeededRandom
import Testing

@testable import ImgSettings

/// Who origins are told that asks.
@Suite(.timeLimit(.minutes(20))) struct ContactTests {
  private func limits(_ contact: String?) throws -> Limits {
    let arguments = contact.map { ["--contact", $0] } ?? []
    guard
      case .run(let settings) = try CoordinatorInvocation(
        arguments: arguments, environment: ["HOME": "/home/ada"], userID: 1)
    else { throw UsageError("prints") }
    return settings.limits
  }

  @Test(arguments: [
    "ada@example.org", "a.d+a@ex-ample.co", "ada@localhost", "https://example.org/bot?a=b",
    "http://example.org",
  ])
  func `a contact is part of the User-Agent and of the table of limits`(contact: String) throws {
    let limits = try limits(contact)
    var settings = Settings(socketPath: "", dataDirectory: "")
    settings.limits = limits
    #expect(limits.userAgent == "imgctl/\(Build.version) (+\(contact))")
    #expect(Setting.rows(of: settings).contains { $0.flag == "--contact" && $0.value == contact })
  }

  @Test func `without a contact, the User-Agent has only name and version`() throws {
    for limits in [try limits(nil), try limits("none")] {
      var settings = Settings(socketPath: "", dataDirectory: "")
      settings.limits = limits
      #expect(limits.userAgent == "imgctl/\(Build.version)")
      #expect(Setting.rows(of: settings).contains { $0.flag == "--contact" && $0.value == "none" })
    }
  }

  @Test(arguments: [
    "ada", "@example.org", "ada@", "ada@a@b", "ada@example..org", "ada lovelace@example.org",
    "ada@example.org)", "https://example.org/(a)", "https://example.org/a\\b", "ftp://example.org",
    "data:,a", "ada@example.org\r\nX: y", "ä@example.org",
    "https://example.org/\(String(repeating: "a", count: 200))",
  ])
  func `a contact that is neither a mail address nor a URL is refused`(text: String) {
    #expect(throws: UsageError.self) { try limits(text) }
  }
}

@Suite struct HostRateTests {
  @Test(arguments: [
    ("5/s", 300), ("30/m", 30), ("120/h", 2), ("60/h", 1), ("1/M", 1), ("10000/s", 600_000),
    ("none", 0),
  ])
  func `a rate is a whole number a minute`(text: String, perMinute: Int) throws {
    #expect(try HostRate.perMinute(parsing: text) == perMinute)
  }

  @Test(arguments: [
    (0, "none"), (1, "1/m"), (59, "59/m"), (60, "1/s"), (300, "5/s"), (90, "90/m"),
    (600_000, "10000/s"),
  ])
  func `the text of a rate is the shortest exact one`(perMinute: Int, text: String) throws {
    #expect(HostRate.text(perMinute: perMinute) == text)
    #expect(try HostRate.perMinute(parsing: text) == perMinute)
  }

  @Test(arguments: [
    (
      "5",
      "\"5\" is not a rate; write a whole number with /s, /m or /h, such as 5/s or 30/m, or \"none\""
    ),
    ("0", "\"0\" would allow no transfer; write \"none\" for no limit, or 1/m, the lowest rate"),
    (
      "00",
      "\"00\" is not a rate; write a whole number with /s, /m or /h, such as 5/s or 30/m, or \"none\""
    ),
    (
      "0/s",
      "\"0/s\" would allow no transfer; write \"none\" for no limit, or 1/m, the lowest rate"
    ),
    (
      "0/h",
      "\"0/h\" would allow no transfer; write \"none\" for no limit, or 1/m, the lowest rate"
    ),
    ("30/h", "\"30/h\" is too low; rates are whole numbers a minute, and the lowest is 1/m"),
    ("59/h", "\"59/h\" is too low; rates are whole numbers a minute, and the lowest is 1/m"),
    ("10001/s", "\"10001/s\" is not from 1/m to 10000/s"),
    ("100/h", "\"100/h\" is not a whole number a minute; write 1/m or 2/m"),
    ("3599/h", "\"3599/h\" is not a whole number a minute; write 59/m or 1/s"),
    ("99999999999999999999/s", "\"99999999999999999999/s\" is too large"),
  ])
  func `an invalid rate is refused with advice`(text: String, sentence: String) {
    #expect(throws: InvalidValue(sentence)) { try HostRate.perMinute(parsing: text) }
  }

  @Test func `every rate that is read is in the range of the limit`() throws {
    for text in ["none", "1/m", "10000/s"] {
      #expect(LimitChange.hostRateRange.contains(try HostRate.perMinute(parsing: text)))
    }
  }
}

@Suite struct NetworkRangeTextTests {
  @Test(
    arguments: [
      ("10.0.0.0/8", [10, 0, 0, 0], 8), ("127.0.0.1", [127, 0, 0, 1], 32),
      ("0.0.0.0/0", [0, 0, 0, 0], 0), ("192.168.1.4/30", [192, 168, 1, 4], 30),
      ("fd00::/8", [0xFD] + [UInt8](repeating: 0, count: 15), 8),
      ("::1", [UInt8](repeating: 0, count: 15) + [1], 128),
    ] as [(String, [UInt8], Int)])
  func `a block is an address and a prefix length`(
    text: String, bytes: [UInt8], prefixLength: Int
  ) throws {
    let range = try NetworkRange(parsing: text)
    #expect(range.bytes == bytes)
    #expect(range.prefixLength == prefixLength)
    #expect(try NetworkRange(parsing: range.text) == range)
  }

  @Test(arguments: [
    "", "10.0.0.0/", "/8", "10.0.0/8", "010.0.0.0/8", "10.0.0.0/8/8", "10.0.0.0/+8", "[::1]",
    "localhost", "10.0.0.0/33", "::/129", "10.0.0.0/99999999999999999999", "fe80::1%eth0",
  ])
  func `invalid blocks are refused`(text: String) {
    #expect(throws: InvalidValue.self) { try NetworkRange(parsing: text) }
  }

  @Test func `bits beyond the prefix are refused, and the block is suggested`() {
    #expect(
      throws: InvalidValue("\"10.1.2.3/8\" has bits beyond its prefix; the block is 10.0.0.0/8")
    ) { try NetworkRange(parsing: "10.1.2.3/8") }
  }

  @Test func `a block of mapped IPv4 addresses is refused`() throws {
    #expect(throws: InvalidValue.self) { try NetworkRange(parsing: "::ffff:10.0.0.0/104") }
    #expect(try NetworkRange(parsing: "::/0").prefixLength == 0)
  }
}

/// `--proxy`, and the variables that curl(1) reads.
@Suite struct ProxySettingsTests {
  private func settings(
    _ arguments: [String] = [], _ variables: [String: String] = [:]
  ) throws(UsageError) -> Settings {
    let reader = try ArgumentReader(arguments, for: CoordinatorInvocation.description)
    return try Settings(
      reader, environment: variables.merging(["HOME": "/h"]) { $1 }, userID: 1_000,
      startedBy: .person)
  }

  private func proxies(
    _ arguments: [String] = [], _ variables: [String: String] = [:]
  ) throws -> [String?] {
    let proxies = try settings(arguments, variables).proxies
    return [proxies.http?.text, proxies.https?.text]
  }

  @Test(arguments: [
    ("proxy.example:3128", "http://proxy.example:3128"),
    // The ports of curl(1).
    ("http://proxy.example", "http://proxy.example:1080"),
    ("https://Proxy.Example/", "https://proxy.example:443"),
    ("SOCKS5H://[::1]:9", "socks5h://[::1]:9"), ("socks5://10.0.0.1", "socks5://10.0.0.1:1080"),
    ("http://ada:a%40b@proxy.example:1", "http://ada:a%40b@proxy.example:1"),
  ])
  func `a proxy is a URL, with or without its scheme`(text: String, url: String) throws {
    #expect(try proxies(["--proxy", text]) == [url, url])
  }

  @Test(arguments: [
    "ftp://secret@h", "socks4://h", "socks4a://h", "http://", "http://h:0", "http://h:66000",
    "http://h/path", "http://a:secret@h o", "http://ada:secret/word@h",
  ])
  func `what is no proxy is refused without a word of it`(text: String) throws {
    let error = #expect(throws: UsageError.self) { try settings(["--proxy", text]) }
    #expect(error?.description.hasPrefix("--proxy: ") == true)
    #expect(error?.description.contains("secret") == false)
    let variable = #expect(throws: UsageError.self) {
      try settings([], ["ALL_PROXY": text]).adding(.none, environment: [:])
    }
    #expect(variable?.description.hasPrefix("ALL_PROXY: ") == true)
    #expect(variable?.description.hasSuffix("IMGCTL_PROXY=none ignores the variable") == true)
  }

  @Test(arguments: ["off", "proxy"])
  func `a word alone is no proxy`(word: String) throws {
    let error = #expect(throws: UsageError.self) { try settings(["--proxy", word]) }
    #expect(error?.description.hasSuffix("http://\(word):3128, or \"none\" for no proxy") == true)
  }

  @Test func `the variables are those of curl`() throws {
    #expect(try proxies([], ["http_proxy": "a:1"]) == ["http://a:1", nil])
    // A request's field Proxy sets this one in a CGI program.
    #expect(try proxies([], ["HTTP_PROXY": "a:1"]) == [nil, nil])
    #expect(try proxies([], ["HTTPS_PROXY": "a:1"]) == [nil, "http://a:1"])
    #expect(try proxies([], ["HTTPS_PROXY": "a:1", "https_proxy": "b:1"]) == [nil, "http://b:1"])
    #expect(try proxies([], ["ALL_PROXY": "a:1"]) == ["http://a:1", "http://a:1"])
    let all = ["ALL_PROXY": "a:1", "all_proxy": "b:1", "http_proxy": "c:1", "https_proxy": ""]
    #expect(try proxies([], all) == ["http://c:1", "http://b:1"])
    #expect(try proxies(["--proxy=d:1"], all) == ["http://d:1", "http://d:1"])
    #expect(try proxies(["--proxy=none"], all) == [nil, nil])
    let own = all.merging(["IMGCTL_PROXY": "d:1"]) { $1 }
    #expect(try proxies([], own) == ["http://d:1", "http://d:1"])
  }

  @Test func `NO_PROXY counts beside a flag, too`() throws {
    let variables = ["NO_PROXY": "a.example, .b.example 10.0.0.0/8"]
    let hosts = ["a.example", ".b.example", "10.0.0.0/8"]
    #expect(try settings(["--proxy=p:1"], variables).proxies.directHosts == hosts)
    let lower = variables.merging(["no_proxy": "*"]) { $1 }
    #expect(try settings(["--proxy=p:1"], lower).proxies.directHosts == ["*"])
    let many = ["NO_PROXY": String(repeating: "a ", count: 1_025)]
    #expect(throws: UsageError("NO_PROXY: at most 1024 hosts")) {
      try settings([], many).adding(.none, environment: many)
    }
  }

  @Test func `a password travels in the environment and is not shown`() throws {
    let settings = try settings(["--proxy=http://ada:secret@p:1"], ["no_proxy": "a.example"])
    #expect(settings.environment["http_proxy"] == "http://ada:secret@p:1")
    #expect(!settings.arguments.joined().contains("p:1"))
    let row = Setting.rows(of: settings).first { $0.flag == "--proxy" }
    #expect(row?.value == "http://***@p:1, NO_PROXY=a.example")
    let reported = settings.reported(workerExecutable: "/w").proxies
    #expect(reported.http?.text == "http://***@p:1")
  }

  @Test func `a password is not shown before it is known which proxies are in use`() throws {
    var settings = Settings(socketPath: "", dataDirectory: "")
    settings.proxyChoice = try ProxyChoice(parsing: "http://ada:secret@p:1")
    #expect(Setting.proxy.texts(in: settings) == ["http://***@p:1"])
  }

  @Test func `the order of NO_PROXY makes no difference`() throws {
    let proxies = try ["a b", "b,a,b"].map { try settings(["--proxy=p:1"], ["NO_PROXY": $0]) }
    #expect(Setting.differences(between: proxies[0], and: proxies[1], coreCount: 1) == [])
  }

  @Test func `a coordinator that is started has the proxies of these settings alone`() throws {
    let others = ["IMGCTL_PROXY": "x:1", "ALL_PROXY": "x:2", "HTTPS_PROXY": "x:3", "NO_PROXY": "x"]
    let given = [
      ["http_proxy": "a:1"], ["https_proxy": "http://ada:secret@b:2", "no_proxy": "c .d"],
      ["http_proxy": "a:1", "https_proxy": "socks5h://b:2"], ["IMGCTL_PROXY": "a:1"], [:],
    ]
    for variables in given {
      let proxies = try settings([], variables).proxies
      let inherited = try others.merging(settings([], variables).environment) { $1 }
      #expect(try settings([], inherited).proxies == proxies, "\(variables)")
    }
  }

  @Test func `the password of a running coordinator's proxy is known or asked for`() throws {
    let running = try settings(
      [], ["https_proxy": "http://ada:secret@b:2", "http_proxy": "a:1", "no_proxy": "c"]
    ).proxies
    let reported = running.withoutCredentials
    #expect(reported.withCredentials(of: running) == running)
    #expect(try reported.withCredentials(of: settings().proxies) == nil)
    #expect(try reported.withCredentials(of: settings(["--proxy=http://b:2"]).proxies) == nil)
    let open = try settings(["--proxy=a:1"]).proxies
    #expect(open.withoutCredentials.withCredentials(of: .none) == open)
  }

  @Test func `different proxies are shown with what they are for`() throws {
    let variables = ["http_proxy": "a:1", "https_proxy": "socks5h://b:2"]
    #expect(
      try settings([], variables).proxies.texts == [
        "http://a:1 for http", "socks5h://b:2 for https",
      ])
  }
}

/// Values as people are used to write them.
@Suite struct FamiliarValueTests {
  @Test(arguments: [
    ("1GB", 1 << 30), ("1GiB", 1 << 30), ("2mb", 2 << 20), ("3KIB", 3 << 10), ("1TB", 1 << 40),
    ("7B", 7),
  ])
  func `a size may name its unit in full`(text: String, byteCount: Int64) throws {
    #expect(try UnitScale.size.value(parsing: text) == byteCount)
    #expect(UnitScale.size.text(1 << 30) == "1G")
  }

  @Test func `a duration may be in weeks`() throws {
    #expect(try UnitScale.duration.value(parsing: "2w") == 14 * 86_400_000)
    #expect(UnitScale.duration.text(14 * 86_400_000) == "14d")
  }

  @Test(arguments: [":8080", "8080", "127.0.0.1:8080", "localhost:8080"])
  func `a port without a host is one of this machine`(text: String) throws {
    #expect(try ListenAddress(parsing: text) == .standard)
  }

  @Test(arguments: [":", "", "70000", ":-1", "a:8080:1"])
  func `an address that has no port is refused`(text: String) {
    #expect(throws: InvalidValue.self) { try ListenAddress(parsing: text) }
  }
}

/// Dates as people write them, and expiries.
@Suite(.timeLimit(.minutes(20))) struct DateTextTests {
  private static let day: Int64 = 86_400_000

  @Test(
    arguments: [
      ("1970-01-01", 0), ("1970-01-01T00:00:00Z", 0), ("2027-01-01", 1_798_761_600_000),
      ("2027-01-01T12:00:00Z", 1_798_804_800_000), ("2027-01-01t12:00:00z", 1_798_804_800_000),
      ("2027-01-01T12:00:00+02:00", 1_798_797_600_000),
      ("2027-01-01T12:00:00-05:30", 1_798_824_600_000),
      ("2027-01-01T12:00:00-00:00", 1_798_804_800_000),
      ("2027-01-01T12:00:00.5Z", 1_798_804_800_500),
      ("2027-01-01T12:00:00.0019999999Z", 1_798_804_800_001),
      ("2000-02-29", 951_782_400_000), ("2024-02-29", 1_709_164_800_000),
      ("1969-12-31T23:59:59.999Z", -1), ("0000-01-01", -62_167_219_200_000),
      ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
    ] as [(String, Int64)])
  func `a date is read as RFC 3339 writes it`(text: String, milliseconds: Int64) throws {
    #expect(try WallTime(parsing: text).rawValue == milliseconds)
  }

  @Test(arguments: [
    "", "2027", "2027-01", "27-01-01", "2027-1-1", "2027-13-01", "2027-00-01", "2027-01-00",
    "2027-01-32", "2027-02-29", "2100-02-29", "2027-04-31", "2027/01/01", "2027-01-01T",
    "2027-01-01T12:00:00", "2027-01-01 12:00:00Z", "2027-01-01T12:00Z", "2027-01-01T24:00:00Z",
    "2027-01-01T12:60:00Z", "2027-01-01T12:00:60Z", "2027-01-01T12:00:00.Z",
    "2027-01-01T12:00:00,5Z", "2027-01-01T12:00:00+2:00", "2027-01-01T12:00:00+0200",
    "2027-01-01T12:00:00+24:00", "2027-01-01T12:00:00ZZ", "2027-01-01Z", " 2027-01-01",
    "2027-01-01 ", "+2027-01-01", "٢٠٢٧-01-01", "2027-01-01T12:00:00\u{2212}02:00",
  ])
  func `other texts than dates of RFC 3339 are refused`(text: String) {
    let error = #expect(throws: InvalidValue.self) { try WallTime(parsing: text) }
    #expect(error?.reason.contains("is not a date; write one such as 2027-01-01") == true)
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `a date can be written and read with any offset`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<100 {
      let moment = WallTime(rawValue: .random(in: 0...253_402_300_799_999, using: &random))
      let text = moment.description
      #expect(try WallTime(parsing: text) == moment)
      #expect(try WallTime(parsing: text.lowercased()) == moment)
      let minutes = Int64.random(in: 0..<24 * 60, using: &random)
      let offset = [minutes / 60, minutes % 60].map { String($0 + 100).dropFirst() }
        .joined(separator: ":")
      let here = moment.advanced(by: .seconds(-minutes * 60))
      #expect(try WallTime(parsing: "\(text.dropLast())+\(offset)") == here)
    }
  }

  @Test(
    arguments: [
      ("31556926s", .after(.seconds(31_556_926))),
      ("7d", .after(.seconds(604_800))),
      ("never", .after(.seconds(3_153_600_000))), ("forever", .after(.seconds(3_153_600_000))),
      ("2027-01-01", .at(WallTime(rawValue: 1_798_761_600_000))),
    ] as [(String, Expiry.Moment)])
  func `an expiry is a duration or a date`(text: String, moment: Expiry.Moment) throws {
    #expect(try Expiry.Moment(parsing: text) == moment)
  }

  @Test(arguments: [
    ("7y", "\"7y\" is not a duration"), ("0s", "\"0s\" is not from 1ms to 36500d"),
    ("36501d", "\"36501d\" is not from 1ms to 36500d"), ("-1s", "\"-1s\" is not a duration"),
    ("2027-02-30", "\"2027-02-30\" is not a date"), ("Never", "\"Never\" is not a duration"),
  ])
  func `an invalid expiry is refused as a duration or as a date`(text: String, reason: String) {
    let error = #expect(throws: InvalidValue.self) { try Expiry.Moment(parsing: text) }
    #expect(error?.reason.hasPrefix(reason) == true)
  }

  @Test func `an expiry date is in the future and at most a century ahead`() throws {
    let now = WallTime(rawValue: 1_798_761_600_000)
    let century = RequestOptions.expiryRange.upperBound
    func check(_ time: Duration) throws(InvalidValue) {
      try Expiry(.at(now.advanced(by: time))).check(at: now)
    }
    #expect(
      throws: InvalidValue("the expiry 2027-01-01T00:00:00.000Z is in the past")
    ) { try check(.zero) }
    try check(.milliseconds(1))
    try check(century)
    #expect(
      throws: InvalidValue("the expiry 2126-12-08T00:00:00.001Z is more than a century ahead")
    ) { try check(century + .milliseconds(1)) }
    try Expiry.standard.check(at: now)
    try Expiry(.after(century)).check(at: now)
  }
}
