import ImgModel
import ImgSettings
import Testing

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
    let variable = #expect(throws: UsageError.self) { try settings([], ["ALL_PROXY": text]) }
    #expect(variable?.description.hasPrefix("ALL_PROXY: ") == true)
    #expect(variable?.description.hasSuffix("IMGCTL_PROXY=none ignores the variable") == true)
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
    #expect(throws: UsageError("NO_PROXY: at most 1024 hosts")) { try settings([], many) }
  }

  @Test func `a password travels in the environment and is not shown`() throws {
    let settings = try settings(
      ["--proxy=http://ada:secret@p:1"], ["no_proxy": "a.example"])
    #expect(settings.environment["http_proxy"] == "http://ada:secret@p:1")
    #expect(!settings.arguments.joined().contains("p:1"))
    let row = Setting.rows(of: settings).first { $0.flag == "--proxy" }
    #expect(row?.value == "http://***@p:1, not for a.example")
    let reported = settings.reported(workerExecutable: "/w").proxies
    #expect(reported.http?.text == "http://***@p:1")
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
