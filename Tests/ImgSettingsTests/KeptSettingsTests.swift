import FoundationEssentials
import ImgModel
import ImgSettings
import Testing

@Suite struct KeptSettingsTests {
  private static let home = ["HOME": "/home/ada"]

  private func settings(
    _ arguments: [String] = [], _ variables: [String: String] = [:],
    startedBy starter: Settings.Starter = .command
  ) throws(UsageError) -> Settings {
    try Settings(
      ArgumentReader(arguments, for: CoordinatorInvocation.description),
      environment: Self.home.merging(variables) { $1 }, userID: 1_000, startedBy: starter
    ).resolved(in: "/home/u")
  }

  private func kept(
    _ arguments: [String], _ variables: [String: String] = [:]
  ) throws(UsageError) -> KeptSettings {
    KeptSettings(try settings(arguments, variables, startedBy: .person), from: [.flag, .variable])
  }

  private func adding(
    _ kept: KeptSettings, to arguments: [String] = [], _ variables: [String: String] = [:]
  ) throws(UsageError) -> Settings {
    let environment = Self.home.merging(variables) { $1 }
    return try settings(arguments, variables).adding(kept, environment: environment)
  }

  private func decoded(_ json: String) throws -> KeptSettings {
    try JSONDecoder().decode(KeptSettings.self, from: Data(json.utf8))
  }

  @Test func `flags and variables are kept in one spelling, and places and defaults are not`()
    throws
  {
    let kept = try kept(
      [
        "--rate-per-host=1/s", "--allow-network=10.0.0.0/8", "--allow-network=::1", "--data-dir=/d",
        "--socket=/s", "--cache-dir=/c", "--store-name=t", "--allow-directory=pictures/",
        "--store-budget=auto", "--require-sandbox",
      ], ["IMGCTL_CONTACT": "me@example.org", "IMGCTL_BACKOFF": ""])
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let json = String(decoding: try encoder.encode(kept), as: UTF8.self)
    #expect(
      json == #"{"allow-directory":["/home/u/pictures"],"allow-network":["10.0.0.0/8","::1/128"],"#
        + #""contact":["me@example.org"],"rate-per-host":["1/s"],"require-sandbox":["yes"],"#
        + #""store-budget":["auto"]}"#)
    #expect(try decoded(json) == kept)
    #expect(try self.kept([]) == KeptSettings.none)
  }

  @Test func `a flag overrides its variable, that what is kept, and that the default`() throws {
    let kept = try kept(["--transfers=3", "--attempts=4", "--backoff=5s", "--idle-exit=1h"])
    let found = try adding(kept, to: ["--transfers=9"], ["IMGCTL_ATTEMPTS": "8"])
    #expect(found.limits.transfers == 9)
    #expect(found.limits.attempts == 8)
    #expect(found.limits.backoff == .seconds(5))
    #expect(found.limits.transfersPerHost == Limits().transfersPerHost)
    #expect(found.idleExit == .seconds(3_600))
    #expect(found.changes(from: .kept) == ["--idle-exit 1h", "--backoff 5s"])
    #expect(found.changes(from: .variable) == ["--attempts 8"])
    #expect(try adding(.none).idleExit == .seconds(600))
  }

  @Test func `every setting that is kept comes back`() throws {
    let flags = [
      "--workers=2", "--store-budget=auto", "--keep-jobs=forever", "--contact=none",
      "--transfers=unlimited", "--allow-format=jp2", "--ca-file=own.pem", "--idle-exit=never",
      "--worker-executable=w", "--require-sandbox", "--max-pixels=123456", "--keep-auto-percent=0",
    ]
    let asked = try settings(flags)
    let found = try adding(try kept(flags))
    #expect(Setting.rows(of: found) == Setting.rows(of: asked))
    #expect(try kept(flags).agree(with: asked))
    #expect(try !kept(["--backoff=3s"]).agree(with: asked))
  }

  @Test func `new settings are merged, and replace all values of a repeatable one`() throws {
    var kept = try kept(["--allow-network=10.0.0.0/8", "--attempts=4"])
    kept.merge(try self.kept(["--allow-network=::1", "--transfers=3"]))
    #expect(kept == (try self.kept(["--allow-network=::1", "--attempts=4", "--transfers=3"])))
    let isRemoved = [kept.remove("attempts"), kept.remove("attempts")]
    #expect(isRemoved == [true, false])
    #expect(kept.keys == ["allow-network", "transfers"])
  }

  @Test func `the password of a proxy is kept and not shown`() throws {
    let proxy = "http://ada:secret@proxy.example:3128/"
    let kept = try kept(["--proxy=\(proxy)"], ["NO_PROXY": "b.example a.example"])
    let found = try adding(kept, ["http_proxy": "http://other.example:1"])
    #expect(found.environment["http_proxy"]?.contains("ada:secret@proxy.example:3128") == true)
    #expect(
      found.changes(from: .kept)
        == ["--proxy http://***@proxy.example:3128", "NO_PROXY=a.example,b.example"])
    #expect(found.arguments.allSatisfy { !$0.contains("secret") })
    let none = try adding(try self.kept(["--proxy=none"]), ["http_proxy": "http://other.example:1"])
    #expect(none.proxies.isEmpty)
  }

  @Test func `the hosts that are asked without a proxy are kept with it`() throws {
    let kept = try kept(["--proxy=p:1"], ["NO_PROXY": "a.example .b.example"])
    #expect(try adding(kept).proxies.directHosts == ["a.example", ".b.example"])
    let other = try adding(kept, to: [], ["no_proxy": "c.example"])
    #expect(other.proxies.directHosts == ["c.example"])
    #expect(try adding(self.kept(["--proxy=none"], ["NO_PROXY": "a"])).proxies == .none)
    #expect(try adding(self.kept([], ["NO_PROXY": "a"])).proxies.directHosts.isEmpty)
  }

  @Test func `a variable that is no proxy does not matter beside a kept one`() throws {
    let variables = ["http_proxy": "ftp://h"]
    #expect(try adding(kept(["--proxy=p:1"]), to: [], variables).proxies.http?.text == "http://p:1")
    #expect(throws: UsageError.self) { try adding(.none, to: [], variables) }
  }

  @Test(arguments: [
    (#"{"frobnicate":["1"]}"#, #"imgctl \#(Build.version) has no setting "frobnicate""#),
    (#"{"socket":["/s"]}"#, #"imgctl \#(Build.version) has no setting "socket""#),
    (#"{"attempts":["0"]}"#, #"--attempts: "0" is not from 1 to 100"#),
    (#"{"attempts":[]}"#, "--attempts: 0 values, but it has one"),
    (#"{"attempts":["1","2"]}"#, "--attempts: 2 values, but it has one"),
    (#"{"allow-network":["lan"]}"#, nil),
  ])
  func `what is unknown or out of range is refused`(json: String, sentence: String?) throws {
    let kept = try decoded(json)
    let error = #expect(throws: UsageError.self) { try adding(kept) }
    if let sentence { #expect(error?.description == sentence) }
    #expect(
      try adding(try decoded(#"{"attempts":["0"]}"#), to: ["--attempts=2"]).limits.attempts == 2)
  }

  @Test(arguments: [#"[]"#, #"{"attempts":"3"}"#, #"{"attempts":[3]}"#, "", "{"])
  func `JSON of another form is refused`(json: String) {
    #expect(throws: (any Error).self) { try decoded(json) }
  }

  @Test func `a coordinator gets no setting from the environment of its command`() throws {
    let found = try settings(["--attempts=2"])
    for setting in Setting.all where setting.option.flag != "--proxy" {
      #expect(found.environment[setting.environmentVariable] == "")
    }
  }

  @Test func `config show names the source of each setting, and what the coordinator has instead`()
    throws
  {
    let settings = try adding(
      try kept(["--transfers=3", "--workers=auto"]), ["IMGCTL_ATTEMPTS": "8"])
    var running = try self.settings(["--workers=2", "--transfers=4", "--attempts=8"])
    running.workerExecutable = "/imgworker"
    running.allowedNetworks = [try NetworkRange(parsing: "::1")]
    let reports = SettingReport.all(of: settings, running: running, coreCount: 2)
      .filter { !$0.isDefault || $0.running != nil }
      .map { "\($0.key) \($0.texts) \($0.source) \($0.running ?? ["-"])" }
    #expect(
      reports == [
        #"workers ["auto"] kept ["-"]"#, #"transfers ["3"] kept ["4"]"#,
        #"attempts ["8"] IMGCTL_ATTEMPTS ["-"]"#, #"allow-network [] default ["::1/128"]"#,
      ])
  }

  @Test func `a setting is named with or without dashes, and one that is none is refused`() throws {
    #expect(try Setting(keptAs: "--rate-per-host").key == "rate-per-host")
    #expect(try Setting(keptAs: "contact").option.flag == "--contact")
    #expect(
      throws: InvalidValue(
        "there is no setting \"rate-per-hots\" to keep; did you mean rate-per-host?")
    ) { try Setting(keptAs: "rate-per-hots") }
    #expect(
      throws: InvalidValue(
        "there is no setting \"xyz\" to keep; imgctl config show --all lists them")
    ) { try Setting(keptAs: "xyz") }
    #expect(throws: InvalidValue.self) { try Setting(keptAs: "data-dir") }
  }
}

/// Where a coordinator listens whose data directory is named.
@Suite struct DataDirectorySocketTests {
  private func socket(
    _ arguments: [String], _ variables: [String: String] = [:]
  ) throws(UsageError) -> String {
    try Settings(
      ArgumentReader(arguments, for: CoordinatorInvocation.description),
      environment: ["HOME": "/home/ada", "XDG_RUNTIME_DIR": "/run/user/7"].merging(variables) {
        $1
      },
      userID: 7, startedBy: .command
    ).resolved(in: "/home/u").socketPath
  }

  @Test func `it is in the data directory, unless a socket is named, too`() throws {
    #expect(try socket([]) == "/run/user/7/imgctl/control.sock")
    #expect(try socket(["--data-dir=/d/"]) == "/d/control.sock")
    #expect(try socket(["--data-dir=d"]) == "/home/u/d/control.sock")
    #expect(try socket([], ["IMGCTL_DATA_DIR": "/d"]) == "/d/control.sock")
    #expect(try socket(["--data-dir=/d", "--socket=s"]) == "/home/u/s")
    #expect(try socket(["--data-dir=/d"], ["IMGCTL_SOCKET": "/s"]) == "/s")
    #expect(try socket(["--cache-dir=/c"]) == "/run/user/7/imgctl/control.sock")
  }

  @Test func `a path that is too long for a socket has a short name in the runtime directory`()
    throws
  {
    let longest = "/" + String(repeating: "d", count: 93)
    #expect(try socket(["--data-dir=\(longest)"]) == "\(longest)/control.sock")
    let paths = try ["a", "b"].map { try socket(["--data-dir=\(longest)\($0)"]) }
    for path in paths {
      #expect(path.hasPrefix("/run/user/7/imgctl/"))
      #expect(path.hasSuffix(".sock"))
      #expect(path.utf8.count <= Settings.maximumSocketPathByteCount)
    }
    #expect(Set(paths).count == 2)
    #expect(try socket(["--data-dir=\(longest)a"]) == paths[0])
  }
}
