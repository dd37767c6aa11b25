import ImgModel
import ImgSettings
import Testing

@Suite struct SettingsTests {
  private static let home = ["HOME": "/home/ada"]

  private func settings(
    _ arguments: [String] = [], _ environment: [String: String] = home,
    startedBy starter: Settings.Starter = .person
  ) throws(UsageError) -> Settings {
    let reader = try ArgumentReader(arguments, for: CoordinatorInvocation.description)
    return try Settings(reader, environment: environment, userID: 1_000, startedBy: starter)
  }

  @Test func `without arguments, every setting has its default`() throws {
    let expected = Settings(
      socketPath: "/tmp/imgctl-1000/control.sock", dataDirectory: "/home/ada/.local/state/imgctl",
      cacheDirectory: "/home/ada/.cache/imgctl")
    #expect(try settings() == expected)
    #expect(expected.limits == Limits())
  }

  @Test func `the default paths follow the XDG variables`() throws {
    let found = try settings(
      [],
      [
        "XDG_RUNTIME_DIR": "/run/user/7", "XDG_CACHE_HOME": "/scratch", "XDG_STATE_HOME": "/state",
        "HOME": "/home/ada",
      ])
    #expect(found.socketPath == "/run/user/7/imgctl/control.sock")
    #expect(found.journalDirectory == "/state/imgctl/journal")
    #expect(found.storeDirectory == "/scratch/imgctl/store/thumbnails")
  }

  @Test func `a relative or empty XDG variable is ignored`() throws {
    let found = try settings(
      [],
      [
        "XDG_RUNTIME_DIR": "run", "XDG_CACHE_HOME": "", "XDG_STATE_HOME": "state",
        "HOME": "/home/ada",
      ])
    #expect(found == (try settings()))
  }

  @Test func `without a home directory, the data directory must be given`() throws {
    #expect(throws: UsageError.self) { try settings([], [:]) }
    #expect(try settings(["--data-dir", "/data"], [:]).dataDirectory == "/data")
    #expect(throws: UsageError.self) { try settings([], ["XDG_STATE_HOME": "/state"]) }
  }

  @Test func `the store lies in the data directory that is given, or in a directory of its own`()
    throws
  {
    #expect(try settings(["--data-dir=/d"]).storeDirectory == "/d/store/thumbnails")
    let variables = Self.home.merging(["IMGCTL_DATA_DIR": "/d", "IMGCTL_CACHE_DIR": "/c"]) { $1 }
    let both = try settings(["--store-name=tiles"], variables)
    #expect(both.journalDirectory == "/d/journal")
    #expect(both.storeDirectory == "/c/store/tiles")
    let cache = try settings(["--cache-dir=/c"])
    #expect(cache.journalDirectory == "/home/ada/.local/state/imgctl/journal")
    #expect(cache.storeDirectory == "/c/store/thumbnails")
  }

  @Test(arguments: ["", ".", "..", "a/b", "a.lock", "data.mdb", String(repeating: "a", count: 65)])
  func `a name of a store that is none is refused`(name: String) {
    let error = #expect(throws: UsageError.self) { try settings(["--store-name=\(name)"]) }
    #expect(error?.description.contains("is no name of 1 to 64 letters, digits, - and _") == true)
  }

  @Test func `transfers may be unlimited, and are at least one, which is told`() throws {
    let flags = ["--transfers=unlimited", "--transfers-per-host=unlimited"]
    let unlimited = try settings(flags)
    #expect(unlimited.limits.transfers == LimitChange.unlimitedTransfers)
    #expect(unlimited.limits.transfersPerHost == LimitChange.unlimitedTransfers)
    #expect(unlimited.arguments.filter { $0 == "unlimited" }.count == 2)
    #expect(unlimited.remarks == [])

    let none = try settings(["--transfers=0", "--transfers-per-host=-3"])
    #expect(none.limits.transfers == 1)
    #expect(none.limits.transfersPerHost == 1)
    #expect(
      none.remarks == [
        "--transfers is 1, the minimum, instead of 0",
        "--transfers-per-host is 1, the minimum, instead of -3",
      ])
    #expect(throws: UsageError.self) { try settings(["--transfers=16385"]) }
  }

  @Test func `a flag overrides its variable, which overrides the default`() throws {
    var environment = Self.home
    environment["IMGCTL_TRANSFERS"] = "10"
    environment["IMGCTL_DATA_DIR"] = "/data"
    let found = try settings(["--transfers", "5"], environment)
    #expect(found.limits.transfers == 5)
    #expect(found.dataDirectory == "/data")
    #expect(try settings([], environment).limits.transfers == 10)
  }

  @Test func `an empty variable is not set`() throws {
    #expect(try settings([], Self.home.merging(["IMGCTL_WORKERS": ""]) { $1 }) == settings())
  }

  @Test func `networks are repeated flags or separated by commas in the variable`() throws {
    let expected = [try NetworkRange(parsing: "10.0.0.0/8"), try NetworkRange(parsing: "::1")]
    let flags = ["--allow-network", "10.0.0.0/8", "--allow-network=::1"]
    #expect(try settings(flags).allowedNetworks == expected)
    let environment = Self.home.merging(["IMGCTL_ALLOW_NETWORK": "10.0.0.0/8,::1"]) { $1 }
    #expect(try settings([], environment).allowedNetworks == expected)
    #expect(try settings(["--allow-network=::1"], environment).allowedNetworks == [expected[1]])
  }

  @Test func `directories are repeated flags and become absolute`() throws {
    let flags = ["--allow-directory", "pictures/", "--allow-directory=/srv"]
    let found = try settings(flags)
    #expect(found.allowedDirectories == ["pictures/", "/srv"])
    #expect(found.resolved(in: "/home").allowedDirectories == ["/home/pictures", "/srv"])
    let environment = Self.home.merging(["IMGCTL_ALLOW_DIRECTORY": "/a,/b"]) { $1 }
    #expect(try settings([], environment).allowedDirectories == ["/a", "/b"])
    #expect(throws: UsageError("--allow-directory: the path is empty")) {
      try settings(["--allow-directory="])
    }
  }

  @Test func `the system's authorities are trusted unless a file is given`() throws {
    #expect(try settings([]).authorityFile == nil)
    let found = try settings(["--ca-file", "own.pem"])
    #expect(found.resolved(in: "/home").authorityFile == "/home/own.pem")
    #expect(found.arguments.contains("own.pem"))
  }

  @Test func `a sandbox is required by a flag without a value, or by yes in the variable`() throws {
    #expect(try !settings().requiresSandbox)
    let required = try settings(["--require-sandbox"])
    #expect(required.requiresSandbox)
    #expect(required.arguments.contains("--require-sandbox"))
    let variable = "IMGCTL_REQUIRE_SANDBOX"
    #expect(try settings([], Self.home.merging([variable: "yes"]) { $1 }).requiresSandbox)
    #expect(try !settings([], Self.home.merging([variable: "no"]) { $1 }).requiresSandbox)
    for text in ["on", "TRUE", "1"] {
      #expect(try settings([], Self.home.merging([variable: text]) { $1 }).requiresSandbox)
    }
    for text in ["off", "False", "0"] {
      #expect(try !settings([], Self.home.merging([variable: text]) { $1 }).requiresSandbox)
    }
    #expect(throws: UsageError("\(variable): \"2\" is not one of yes, no")) {
      try settings([], Self.home.merging([variable: "2"]) { $1 })
    }
  }

  @Test func `optional formats are allowed by name`() throws {
    #expect(try settings().limits.allowedFormats == [])
    #expect(try settings(["--allow-format=jp2"]).limits.allowedFormats == [.jp2])
    let environment = Self.home.merging(["IMGCTL_ALLOW_FORMAT": "jp2,jp2"]) { $1 }
    #expect(try settings([], environment).limits.allowedFormats == [.jp2])
  }

  @Test func `every limit is set by its flag`() throws {
    let found = try settings([
      "--workers=1", "--transfers=2", "--transfers-per-host=3", "--rate-per-host=4/m",
      "--bytes-per-second=24K", "--bytes-per-second-per-host=25K",
      "--connect-timeout=4ms", "--transfer-timeout=5ms", "--stall-timeout=6ms", "--max-redirects=7",
      "--attempts=15", "--backoff=16ms", "--url-timeout=17ms", "--offline-timeout=24ms",
      "--remember-failures=18ms",
      "--max-body=8",
      "--max-pixels=9", "--max-frames=10", "--decode-timeout=11ms", "--max-thumbnail=12",
      "--decoder-memory=65M", "--worker-memory=64M",
      "--memory-budget=24M", "--store-budget=13M", "--keep-auto-size=22", "--keep-auto-percent=23",
      "--default-expiry=14ms", "--keep-jobs=19ms", "--clients=20",
      "--client-timeout=21ms", "--contact=a@b",
    ])
    var limits = Limits()
    limits.workers = 1
    limits.transfers = 2
    limits.transfersPerHost = 3
    limits.hostRatePerMinute = 4
    limits.bytesPerSecond = 24 << 10
    limits.hostBytesPerSecond = 25 << 10
    limits.connectTimeout = .milliseconds(4)
    limits.transferTimeout = .milliseconds(5)
    limits.stallTimeout = .milliseconds(6)
    limits.maxRedirects = 7
    limits.attempts = 15
    limits.backoff = .milliseconds(16)
    limits.urlTimeout = .milliseconds(17)
    limits.offlineTimeout = .milliseconds(24)
    limits.rememberFailures = .milliseconds(18)
    limits.maxBodyByteCount = 8
    limits.maxPixels = 9
    limits.maxFrames = 10
    limits.decodeTimeout = .milliseconds(11)
    limits.maxThumbnailByteCount = 12
    limits.decoderMemoryByteCount = 65 << 20
    limits.workerMemoryByteCount = 64 << 20
    limits.memoryBudgetByteCount = 24 << 20
    limits.storeBudgetByteCount = 13 << 20
    limits.autoOriginalByteCount = 22
    limits.autoOriginalPercent = 23
    limits.defaultExpiry = .milliseconds(14)
    limits.keepJobs = .milliseconds(19)
    limits.clients = 20
    limits.clientTimeout = .milliseconds(21)
    limits.contact = try Contact("a@b")
    #expect(found.limits == limits)
    #expect(try settings(["--keep-jobs=forever"]).limits.keepJobs == nil)
  }

  @Test(arguments: [
    ("--workers=0", "--workers: \"0\" is not from 1 to 256"),
    ("--workers=257", "--workers: \"257\" is not from 1 to 256"),
    ("--transfers=16385", "--transfers: \"16385\" is not from 1 to 16384"),
    ("--transfers=16385", "--transfers: \"16385\" is not from 1 to 16384"),
    ("--transfers-per-host=99999", "--transfers-per-host: \"99999\" is not from 1 to 16384"),
    (
      "--bytes-per-second=0",
      "--bytes-per-second: \"0\" would let nothing through; write \"none\" for no limit"
    ),
    ("--bytes-per-second=1000", "--bytes-per-second: \"1000\" is not from 1K to 1T"),
    ("--rate-per-host=10001/s", "--rate-per-host: \"10001/s\" is not from 1/m to 10000/s"),
    ("--connect-timeout=0s", "--connect-timeout: \"0s\" is not from 1ms to 36500d"),
    ("--max-redirects=101", "--max-redirects: \"101\" is not from 0 to 100"),
    ("--max-body=0", "--max-body: \"0\" is not from 1 to 16G"),
    ("--worker-memory=1M", "--worker-memory: \"1M\" is not from 64M to 1T"),
    ("--decoder-memory=63M", "--decoder-memory: \"63M\" is not from 64M to 1T"),
    ("--max-thumbnail=2G", "--max-thumbnail: \"2G\" is not from 1 to 1G"),
    ("--keep-auto-percent=91", "--keep-auto-percent: \"91\" is not from 0 to 90"),
    ("--allow-format=png", "--allow-format: \"png\" is not jp2"),
    ("--require-sandbox=yes", "--require-sandbox takes no value"),
    ("--data-dir=", "--data-dir: the path is empty"),
    (
      "--allow-network=lan",
      "--allow-network: \"lan\" is not a network; write an address or a block such as 10.0.0.0/8"
    ),
  ])
  func `a value out of range is refused with its flag`(argument: String, sentence: String) {
    #expect(throws: UsageError(sentence)) { try settings([argument]) }
  }

  @Test func `an error in a variable names the variable`() {
    #expect(throws: UsageError("IMGCTL_MAX_FRAMES: \"0\" is not from 1 to 1000000")) {
      try settings([], Self.home.merging(["IMGCTL_MAX_FRAMES": "0"]) { $1 })
    }
  }

  @Test func `the path of a socket must fit its address`() throws {
    let longest = "/" + String(repeating: "s", count: 106)
    #expect(try settings(["--socket", longest]).socketPath == longest)
    #expect(throws: UsageError("--socket: the path of a socket has at most 107 bytes")) {
      try settings(["--socket", longest + "s"])
    }
  }

  @Test func `a small store budget is raised to the minimum`() throws {
    #expect(try settings(["--store-budget=1M"]).limits.storeBudgetByteCount == 10 << 20)
    #expect(try settings(["--store-budget=11M"]).limits.storeBudgetByteCount == 11 << 20)
    var automatic = try settings(["--store-budget=auto"])
    #expect(automatic.arguments.contains("auto"))
    automatic.setStoreBudget(ofAvailable: 8 << 30)
    #expect(automatic.limits.storeBudgetByteCount == 2 << 30)
    automatic.setStoreBudget(ofAvailable: 0)
    #expect(automatic.limits.storeBudgetByteCount == 2 << 30, "it is set once")
    let remark = try settings(["--store-budget=1M"]).remarks.first
    #expect(remark == "--store-budget is 10M, the minimum, instead of 1M")
    #expect(try settings(["--store-budget=11M"]).remarks == [])
  }

  @Test func `the memory budget is 40 MiB, or what is given, at least 10 MiB, which is told`()
    throws
  {
    #expect(try settings().limits.memoryBudgetByteCount == 41_943_040)
    let small = try settings([], Self.home.merging(["IMGCTL_MEMORY_BUDGET": "1M"]) { $1 })
    #expect(small.limits.memoryBudgetByteCount == 10_485_760)
    #expect(small.remarks == ["--memory-budget is 10M, the minimum, instead of 1M"])
    let large = try settings(["--memory-budget=1G"])
    #expect(large.limits.memoryBudgetByteCount == 1 << 30)
    #expect(large.remarks == [])
  }

  @Test func `a coordinator started by a command exits when idle by default`() throws {
    #expect(try settings(startedBy: .person).idleExit == nil)
    #expect(try settings(startedBy: .command).idleExit == .seconds(600))
    #expect(try settings(["--idle-exit=never"], startedBy: .command).idleExit == nil)
    #expect(try settings(["--idle-exit=5s"]).idleExit == .seconds(5))
  }

  @Test(arguments: [
    ("/home/ada/control.sock", true), ("/tmp/imgctl-1000/control.sock", true),
    ("/run/user/1000/imgctl/control.sock", true), ("/var/run/user/1000/s", true),
    ("/running/control.sock", true), ("/run/imgctl/control.sock", false),
    ("/var/run/imgctl/control.sock", false),
  ])
  func `a command starts no coordinator at a service's socket by default`(
    socket: String, isStarted: Bool
  ) throws {
    func startsCoordinator(_ autostart: String) throws -> Bool {
      try settings(
        ["--socket", socket], ["HOME": "/h", "IMGCTL_AUTOSTART": autostart], startedBy: .command
      ).startsCoordinator
    }
    #expect(try startsCoordinator("") == isStarted)
    #expect(try startsCoordinator("yes"))
    #expect(try !startsCoordinator("no"))
    #expect(throws: UsageError.self) { try startsCoordinator("maybe") }
  }

  @Test(arguments: [
    [], ["--idle-exit=90s", "--workers=3"],
    [
      "--socket=/s", "--data-dir=/d", "--cache-dir=/c", "--store-name=t", "--worker-executable=/w",
      "--max-pixels=123456",
      "--max-body=1500", "--rate-per-host=90/m", "--allow-network=10.0.0.0/8",
      "--allow-network=::1", "--allow-format=jp2", "--require-sandbox",
    ],
  ])
  func `the arguments of settings give the same settings`(arguments: [String]) throws {
    let first = try settings(arguments)
    let contrary = [
      "IMGCTL_WORKERS": "7", "IMGCTL_IDLE_EXIT": "1s", "IMGCTL_SOCKET": "/else",
    ]
    let second = try settings(first.arguments, contrary, startedBy: .command)
    #expect(Setting.rows(of: second) == Setting.rows(of: first))
    #expect(second.arguments == first.arguments)
  }

  @Test func `every flag has its variable`() {
    let byFlag = Dictionary(
      uniqueKeysWithValues: Setting.all.map { ($0.option.flag, $0.environmentVariable) })
    #expect(byFlag.count == Setting.all.count)
    #expect(byFlag["--transfers-per-host"] == "IMGCTL_TRANSFERS_PER_HOST")
  }

  @Test func `the table of a coordinator shows every setting, its value and its default`() throws {
    var settings = Settings(socketPath: "/s", dataDirectory: "/d")
    settings.limits.maxBodyByteCount = 1 << 30
    settings.workerExecutable = "/w"
    settings.idleExit = .seconds(600)
    settings.allowedNetworks = try ["10.0.0.0/8", "fd00::/8"].map(NetworkRange.init(parsing:))
    settings.allowedDirectories = ["/srv"]
    let rows = Setting.rows(of: settings)
    #expect(Set(rows.map(\.flag)) == Set(Setting.all.map(\.option.flag)))
    #expect(
      rows.filter { !isLimit($0.flag) }.map { "\($0.flag) \($0.value)" } == [
        "--socket /s", "--data-dir /d", "--cache-dir /d", "--store-name thumbnails",
        "--worker-executable /w", "--idle-exit 10m",
        "--allow-network 10.0.0.0/8, fd00::/8", "--allow-directory /srv",
        "--allow-format -", "--ca-file -", "--proxy -", "--require-sandbox no",
      ])
    #expect(
      rows.filter { isLimit($0.flag) }.map { "\($0.flag) \($0.value) \($0.defaultText)" } == [
        "--workers auto auto", "--transfers 64 64", "--transfers-per-host 8 8",
        "--rate-per-host none none",
        "--bytes-per-second none none", "--bytes-per-second-per-host none none",
        "--connect-timeout 10s 10s", "--transfer-timeout 1m 1m",
        "--stall-timeout 20s 20s",
        "--max-redirects 10 10", "--attempts 3 3", "--backoff 1s 1s", "--url-timeout 10m 10m",
        "--offline-timeout 8h 8h", "--remember-failures 10m 10m",
        "--max-body 1G 100M", "--max-pixels 100MP 100MP",
        "--max-frames 1000 1000", "--decode-timeout 30s 30s", "--max-thumbnail 64M 64M",
        "--decoder-memory 1G 1G", "--worker-memory 1G 1G",
        "--memory-budget 40M 40M", "--store-budget 400M 400M", "--keep-auto-size 8M 8M",
        "--keep-auto-percent 25 25",
        "--default-expiry 7d 7d", "--keep-jobs 30d 30d",
        "--clients 512 512", "--client-timeout 1m 1m", "--contact none none",
      ])
  }

  @Test func `requested settings are compared with those of a running coordinator`() throws {
    var running = try settings(["--workers=2", "--transfers=8", "--allow-network=10.0.0.0/8"])
    running.idleExit = .seconds(600)
    func differences(
      _ arguments: [String], _ variables: [String: String] = [:]
    ) throws -> [String] {
      let environment = Self.home.merging(variables) { $1 }
      return Setting.differences(
        between: try settings(arguments, environment), and: running, coreCount: 2
      ).map { "\($0.name) \($0.flag): \($0.asked), \($0.running), \($0.isChangeable)" }
    }
    #expect(try differences([]) == [], "settings that are not given do not count")
    #expect(try differences(["--workers=2", "--idle-exit=10m"]) == [])
    #expect(try differences(["--workers=auto"]) == [], "two cores")
    #expect(try differences(["--workers=3"]) == ["workers --workers: 3, 2, false"])
    #expect(
      try differences([], ["IMGCTL_TRANSFERS": "9", "IMGCTL_BACKOFF": ""])
        == ["transfers, whole cluster --transfers: 9, 8, true"])
    #expect(
      try differences(["--allow-network=::1", "--ca-file=/own.pem", "--idle-exit=never"]) == [
        "exit when idle --idle-exit: never, 10m, false",
        "allowed networks --allow-network: ::1/128, 10.0.0.0/8, false",
        "trusted authorities --ca-file: /own.pem, none, false",
      ])
  }

  @Test func `the order of repeated values does not matter`() throws {
    let flags = ["--allow-network=::1", "--allow-network=10.0.0.0/8"]
    #expect(
      Setting.differences(
        between: try settings(flags), and: try settings(flags.reversed()), coreCount: 1) == [])
  }

  @Test func `a coordinator's settings are reconstructed from its status`() throws {
    let flags = [
      "--workers=3", "--idle-exit=90s", "--allow-network=10.0.0.0/8", "--allow-directory=/srv",
      "--ca-file=/own.pem", "--worker-executable=/w", "--max-frames=7", "--allow-format=jp2",
      "--proxy=proxy.example:3128", "--store-name=tiles",
    ]
    var settings = try settings(flags)
    let cluster = ClusterStatus(
      state: .running, processID: 1, version: "0", startedAt: WallTime(rawValue: 0),
      socketPath: settings.socketPath, dataDirectory: settings.dataDirectory,
      cacheDirectory: settings.cacheDirectory, storeName: settings.storeName, workers: [],
      transfers: 0, activeJobs: 0, viewers: 0, lateAnswers: 0, discardedLate: 0, journalError: nil,
      storeError: nil, limits: settings.limits, settings: settings.reported(workerExecutable: "/w"))
    // It reports the proxies, and not what chose them.
    settings.proxyChoice = nil
    #expect(Setting.rows(of: try Settings(runningAs: cluster)) == Setting.rows(of: settings))
  }

  @Test func `changing limits uses only given flags, not the environment`() throws {
    func change(_ arguments: String...) throws -> (LimitChange, remarks: [String]) {
      let command = CommandDescription(name: "t", summary: "s", options: LimitChange.options)
      let reader = try ArgumentReader(arguments, for: command)
      let asked = try Settings(changing: reader)
      return (LimitChange(asked, givenBy: reader), asked.remarks)
    }
    #expect(try change("--rate-per-host=30/m").0 == LimitChange(hostRatePerMinute: 30))
    #expect(
      LimitChange.options.map(\.usage)
        == [
          "--transfers N", "--transfers-per-host N", "--rate-per-host RATE",
          "--bytes-per-second SIZE", "--bytes-per-second-per-host SIZE", "--memory-budget SIZE",
          "--default-expiry DURATION",
        ])
    #expect(
      try change("--transfers=1", "--transfers-per-host=unlimited").0
        == LimitChange(transfers: 1, transfersPerHost: 16_384))
    let small = try change("--transfers=0", "--memory-budget=1M")
    #expect(small.0 == LimitChange(transfers: 1, memoryBudgetByteCount: 10 << 20))
    #expect(small.1.count == 2, "as imgctl start does")
    #expect(throws: UsageError.self) { try change("--transfers-per-host=16385") }
    let bandwidth = try change("--bytes-per-second=none", "--bytes-per-second-per-host=5M")
    #expect(bandwidth.0 == LimitChange(bytesPerSecond: 0, hostBytesPerSecond: 5 << 20))
  }

  @Test func `paths become absolute with one spelling`() {
    let given = Settings(socketPath: "run/s.sock", dataDirectory: "data//")
    let resolved = given.resolved(in: "/home/user")
    #expect(resolved.socketPath == "/home/user/run/s.sock")
    #expect(resolved.dataDirectory == "/home/user/data")
    #expect(resolved.storeDirectory == "/home/user/data/store/thumbnails")
    #expect(resolved.resolved(in: "/elsewhere") == resolved)
  }

  private func isLimit(_ flag: String) -> Bool {
    Setting.all.contains { $0.option.flag == flag && $0.isLimit }
  }
}

@Suite struct CoordinatorInvocationTests {
  private func invocation(_ arguments: String...) throws(UsageError) -> CoordinatorInvocation {
    try CoordinatorInvocation(arguments: arguments, environment: ["HOME": "/h"], userID: 1)
  }

  @Test func `arguments make settings`() throws {
    guard case .run(let settings) = try invocation("--transfers=3") else {
      Issue.record("not settings")
      return
    }
    #expect(settings.limits.transfers == 3)
  }

  @Test(arguments: ["--version", "-V"])
  func `the version is printed`(option: String) throws {
    #expect(try invocation(option) == .print("imgcoordinator \(Build.version)\n"))
  }

  @Test func `the help names every setting and fits 80 columns`() throws {
    guard case .print(let help) = try invocation("--help") else {
      Issue.record("not a text")
      return
    }
    for option in Setting.options {
      #expect(help.contains("  \(option.usage)"))
    }
    #expect(help.split(separator: "\n").allSatisfy { $0.count <= HelpText.width })
  }

  @Test func `operands are refused`() {
    #expect(
      throws: UsageError("unexpected argument \"now\": imgcoordinator [options]")
    ) { try invocation("now") }
  }
}
