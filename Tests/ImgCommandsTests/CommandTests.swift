import FoundationEssentials
import ImgCommands
import ImgModel
import ImgSettings
import ImgWire
import Testing

@Suite(.timeLimit(.minutes(20))) struct StatusCommandTests {
  private func output(of status: ClusterStatus, _ options: String...) async throws -> String {
    let result = try await ScriptedCoordinator().run(["status"] + options) { request in
      switch request {
      case .status(let id): [.status(id, status)]
      case .jobs(let id, _): [.jobs(id, JobsPage(jobs: [], hasMore: false))]
      default: [nil]
      }
    }
    return result.output
  }

  @Test func `a store error is shown with the thumbnails served but not stored`() async throws {
    // A clock that was set back shows no age.
    let since = WallTime(rawValue: 4_102_444_800_000)
    let error = StoreErrorStatus(reason: "the store is full", since: since, servedCount: 12)
    let line = "the store is full; 12 thumbnails served but not stored in the last 0ms"
    #expect(try await output(of: .sample(error)).contains("ERROR        \(line)\n"))
    let json = try await output(of: .sample(error), "--json")
    #expect(
      json.contains(
        #""store_error":{"reason":"the store is full","served":12,"since":"#))
  }

  @Test func `the waits of the cluster and of hosts are shown`() async throws {
    let status = ClusterStatus.sample(
      nil, wait: Wait(.noWorker, detail: "imgworker is missing"),
      waitingHosts: [Wait(.hostFailing, host: "example.org", httpStatus: 503, urls: 12)],
      moreWaitingHosts: 3)
    let text = try await output(of: status)
    #expect(text.contains("waiting      no worker is ready: imgworker is missing\n"))
    #expect(
      text.contains(
        "held up  because\n     12  example.org answered 503, and a transfer is probing it\nand 3 more\n"
      ))
    let json = try await output(of: status, "--json")
    #expect(json.contains(#""wait":{"detail":"imgworker is missing","kind":"no_worker"}"#))
    let host = #"{"host":"example.org","http_status":503,"kind":"host_failing","urls":12}"#
    #expect(json.contains(#""waiting_hosts":[\#(host)]"#))
    #expect(json.contains(#""more_waiting_hosts":3"#))
  }

  @Test func `the memory budget, the processes that share it and their shares are shown`()
    async throws
  {
    let shared = ClusterStatus.sample(nil, memory: .init(processCount: 2, shareByteCount: 20 << 20))
    let line = "memory       40.0 MiB for pictures, processes: 2, each 20.0 MiB\n"
    #expect(try await output(of: shared).contains(line))
    #expect(
      try await output(of: .sample()).contains(
        "memory       40.0 MiB for pictures, processes: 0\n"))
    let json = try await output(of: shared, "--json")
    #expect(json.contains(#""memory":{"processes":2,"share_bytes":20971520}"#))
    #expect(json.contains(#""memory_budget_bytes":41943040"#))
    #expect(
      try await output(of: shared, "--limits").contains(#/memory budget +--memory-budget +40M /#))
  }

  @Test func `status --limits shows all settings of the coordinator`() async throws {
    let json = try await output(of: .sample(), "--limits", "--json")
    for part in [
      #""allow_network":["10.0.0.0/8"]"#, #""allow_directory":["/srv"]"#, #""idle_exit_ms":600000"#,
      #""ca_file":"/own.pem""#, #""worker_executable":"/imgworker""#, #""socket":"/socket""#,
      #""transfers":64"#, #""require_sandbox":true"#,
    ] {
      #expect(json.contains(part), "\(part)")
    }
    let table = try await output(of: .sample(), "--limits")
    #expect(table.contains(#/allowed networks +--allow-network +10\.0\.0\.0/8 /#))
    #expect(table.contains(#/sandbox required +--require-sandbox +yes +no/#))
    #expect(table.contains(#/exit when idle +--idle-exit +10m /#))
  }

  @Test func `a full disk of the journal is in the text and in JSON`() async throws {
    // The file system of /proc has no free blocks.
    let full = ClusterStatus.sample(dataDirectory: "/proc")
    let line = "disk         0 B free in /proc: long lists are refused until there is more\n"
    #expect(try await output(of: full).contains(line))
    #expect(try await output(of: full, "--json").contains(#""journal_free_bytes":0,"#))
    #expect(try await !output(of: .sample(), "--json").contains("journal_free_bytes"))
  }

  @Test func `the wait for a login page says how to repeat what failed before it was known`()
    async throws
  {
    let remedy = "then imgctl retry 7 --all requests again what had a page before"
    let job = ImageJob(
      JobRecord(
        id: JobID(rawValue: 7), options: RequestOptions(variant: .standard), state: .queued,
        counts: JobCounts(total: 20), submittedAt: WallTime(rawValue: 0)),
      wait: Wait(.captive, host: "h", detail: remedy))
    let status = ClusterStatus.sample(wait: Wait(.captive, host: "h"))
    let result = try await ScriptedCoordinator().run(["status"]) { request in
      switch request {
      case .status(let id): [.status(id, status)]
      case .jobs(let id, _): [.jobs(id, JobsPage(jobs: [job], hasMore: false))]
      default: [nil]
      }
    }
    let lines = result.output.split(separator: "\n")
    #expect(
      lines.filter { $0.hasPrefix("waiting ") && $0.hasSuffix("; trying h; \(remedy)") }.count == 1)
    #expect(lines.filter { $0.contains(remedy) }.count == 1)
  }

  @Test func `a store without errors is not mentioned`() async throws {
    #expect(try await !output(of: .sample()).contains("ERROR"))
    #expect(try await !output(of: .sample(), "--json").contains("store_error"))
  }
}

/// What the commands that change one job print.
@Suite(.timeLimit(.minutes(20))) struct JobChangeCommandTests {
  private static let commands: [(String, [String], ImageJobChange, JobRecord.State, String)] = [
    ("pause", [], .pause, .paused, "job 7 paused after 0 of 20; continue with: imgctl resume 7\n"),
    ("resume", [], .resume, .queued, "job 7 continues after 0 of 20\n"),
    (
      "cancel", [], .cancel, .cancelled,
      "job 7 cancelled: 0 done, 0 failed, 0 cancelled; to continue it: imgctl retry 7\n"
    ),
    ("priority", ["2"], .setPriority(.veryHigh), .queued, "job 7 has priority 0\n"),
  ]

  private func run(
    _ command: String, _ rest: [String], _ state: JobRecord.State
  ) async throws -> ScriptedCoordinator.Result {
    try await ScriptedCoordinator().run([command, "7"] + rest) { request in
      guard case .change(let id, _, _) = request else { return [nil] }
      return [.job(id, .sample(7, state))]
    }
  }

  @Test func `waiting for a damaged job ends with a failure`() async throws {
    let result = try await ScriptedCoordinator().run(["wait", "7"]) { request in
      guard case .job(let id, _, _) = request else { return [nil] }
      return [.job(id, .sample(7, .damaged))]
    }
    #expect(result.exitCode == .someFailed)
    #expect(result.messages.contains("job 7 damaged"))
  }

  @Test(arguments: commands.indices)
  func `a change prints a sentence, or the job's status with --json`(index: Int) async throws {
    let (command, rest, change, state, sentence) = Self.commands[index]
    let plain = try await run(command, rest, state)
    #expect(plain.exitCode == .success)
    #expect(plain.output.isEmpty)
    #expect(plain.messages == sentence)

    let json = try await run(command, rest + ["--json"], state)
    #expect(json.exitCode == .success)
    #expect(json.messages.isEmpty)
    #expect(try json.decodedLines(ImageJob.self) == [.sample(7, state)])
    #expect(
      json.requests
        == [
          .change(
            RequestID(rawValue: 1), change, of: JobID(rawValue: 7))
        ])
  }

  @Test(arguments: ["wait", "watch"])
  func `--json prints each change that is seen, and the end once`(command: String) async throws {
    let seen: [ImageJob] = [
      .sample(7, .queued), .sample(7, .queued), .sample(7, .paused), .sample(7),
    ]
    let result = try await ScriptedCoordinator().run([command, "7", "--json"]) { request in
      guard case .job(let id, _, _) = request else { return [nil] }
      return seen.map { .job(id, $0) }
    }
    #expect(result.exitCode == .success)
    // Changes that come at the same time may be one.
    let printed = try result.decodedLines(ImageJob.self)
    #expect(printed.last == .sample(7))
    #expect(Set(printed).count == printed.count)
    let positions = printed.compactMap { seen.lastIndex(of: $0) }
    #expect(positions.sorted() == positions)
    #expect(positions.count == printed.count)
    #expect(result.messages.isEmpty)
  }

  @Test(arguments: [(["wait"], true), (["watch"], false), (["status", "--watch"], false)])
  func `only a command that works for a job reads its files`(
    command: [String], readsFiles: Bool
  ) async throws {
    let result = try await ScriptedCoordinator().run(command + ["7"]) { request in
      guard case .job(let id, _, _) = request else { return [nil] }
      return [.job(id, .sample(7))]
    }
    #expect(result.exitCode == .success)
    #expect(result.readsFiles == readsFiles)
  }

  @Test func `a table of failures quotes what its separator needs`() {
    let line = LineResult(
      index: 4, ListLine("https://h/a,\"b\".jpg", at: LinePlace(line: 7)), nil)
    let failure = Failure(stage: .fetch, code: .httpStatus, httpStatus: 404, detail: "gone")
    #expect(
      FailureTable.header(.comma) + FailureTable.row(of: line, failure, .comma)
        == "index,line,list,code,http_status,retryable,url,detail\r\n"
        + "4,7,,http_status,404,false,\"https://h/a,\"\"b\"\".jpg\",gone\r\n")
    #expect(
      FailureTable.row(of: line, failure, .tab)
        == "4\t7\t\thttp_status\t404\tfalse\thttps://h/a,\"b\".jpg\tgone\n")
    let file = LineResult(
      index: 0, ListLine(FileURL.text(ofPath: Array("/p/a b.jpg".utf8), state: [1])), nil)
    #expect(FailureTable.row(of: file, failure, .tab).contains("\t/p/a b.jpg\t"))
  }

  @Test func `watch ends well whatever came of the job, and wait tells`() async throws {
    for (command, code) in [("watch", ExitCode.success), ("wait", .someFailed)] {
      let result = try await ScriptedCoordinator().run([command, "7"]) { request in
        guard case .job(let id, _, _) = request else { return [nil] }
        return [.job(id, .sample(7, .damaged))]
      }
      #expect(result.exitCode == code)
    }
  }

  @Test func `resume --wait --json prints the ended job once`() async throws {
    let result = try await ScriptedCoordinator().run(["resume", "7", "--wait", "--json"]) {
      request in
      switch request {
      case .change(let id, _, _): [.job(id, .sample(7, .queued))]
      case .job(let id, _, _): [.job(id, .sample(7))]
      default: [nil]
      }
    }
    #expect(result.exitCode == .success)
    #expect(try result.decodedLines(ImageJob.self) == [.sample(7)])
  }
}

@Suite(.timeLimit(.minutes(20))) struct RemoveCommandTests {
  /// Runs a command against a coordinator that has jobs 3, 2 and 1, all ended, and refuses to
  /// remove some.
  private func run(
    _ commandLine: [String], refusing refused: [UInt64] = [],
    _ code: Failure.Code = .wrongState
  ) async throws -> ScriptedCoordinator.Result {
    try await ScriptedCoordinator().run(commandLine) { request in
      switch request {
      case .jobs(let id, _):
        [.jobs(id, JobsPage(jobs: [3, 2, 1].map { .sample($0) }, hasMore: false))]
      case .change(let id, _, let job) where refused.contains(job.rawValue):
        [.refused(id, code, message: "job \(job) is refused")]
      case .change(let id, _, let job):
        [.job(id, .sample(job.rawValue))]
      default: [nil]
      }
    }
  }

  /// The jobs whose removal was asked for.
  private func asked(_ result: ScriptedCoordinator.Result) -> [UInt64] {
    result.requests.compactMap {
      if case .change(_, .remove, let job) = $0 { job.rawValue } else { nil }
    }
  }

  @Test(arguments: [
    (["1"], "removed 1 job\n"), (["1", "2"], "removed 2 jobs\n"),
    (["--older-than", "0"], "removed 3 jobs\n"), (["--older-than", "36500d"], "removed 0 jobs\n"),
  ])
  func `remove prints the number of removed jobs`(arguments: [String], sentence: String)
    async throws
  {
    let result = try await run(["remove"] + arguments)
    #expect(result.exitCode == .success)
    #expect(result.messages == sentence)
  }

  @Test(arguments: [Failure.Code.wrongState, .unknownJob])
  func `remove by age skips refused jobs`(code: Failure.Code) async throws {
    let result = try await run(["remove", "--older-than", "1d"], refusing: [2], code)
    #expect(result.exitCode == .success)
    #expect(asked(result) == [3, 2, 1])
    #expect(result.messages == "removed 2 jobs\n")
  }

  @Test func `remove by number reports each refusal and removes the others`() async throws {
    let result = try await run(["remove", "1", "2", "3", "4"], refusing: [1, 3])
    #expect(result.exitCode == .wrongUse)
    #expect(asked(result) == [1, 2, 3, 4])
    #expect(
      result.messages == """
        imgctl: job 1 is refused
        imgctl: job 3 is refused
        removed 2 jobs

        """)
  }

  @Test func `remove prints no count if every job is refused`() async throws {
    let result = try await run(["remove", "1"], refusing: [1])
    #expect(result.exitCode == .wrongUse)
    #expect(result.messages == "imgctl: job 1 is refused\n")
  }

  @Test(arguments: [(UInt64(3), ""), (2, "removed 1 job\n")])
  func `remove ends with a count if the coordinator stops`(
    refused: UInt64, messages: String
  ) async throws {
    let result = try await run(["remove", "--older-than", "0s"], refusing: [refused], .stopping)
    #expect(result.exitCode == nil)
    #expect(result.error == "job \(refused) is refused")
    #expect(asked(result).last == refused)
    #expect(result.messages == messages)
  }

  @Test func `remove --json prints the last status of each removed job`() async throws {
    let result = try await run(["remove", "1", "2", "3", "--json"], refusing: [2])
    #expect(result.exitCode == .wrongUse)
    #expect(try result.decodedLines(ImageJob.self) == [.sample(1), .sample(3)])
    #expect(result.messages.contains(#""message":"imgctl: job 2 is refused""#))
  }
}

/// What `--quiet` leaves.
@Suite(.timeLimit(.minutes(20))) struct QuietTests {
  private func run(_ commandLine: String...) async throws -> ScriptedCoordinator.Result {
    try await ScriptedCoordinator().run(commandLine) { request in
      switch request {
      case .job(let id, _, _): [.job(id, .sample(7, .damaged))]
      case .change(let id, _, let job) where job.rawValue == 1:
        [.refused(id, .wrongState, message: "job 1 runs")]
      case .change(let id, _, _): [.job(id, .sample(7, .paused))]
      default: [nil]
      }
    }
  }

  @Test(arguments: ["-q", "--quiet"])
  func `--quiet omits notes`(option: String) async throws {
    #expect(try await run("pause", "7").messages.hasPrefix("job 7 paused"))
    let quiet = try await run("pause", "7", option)
    #expect(quiet.exitCode == .success)
    #expect(quiet.messages.isEmpty)
  }

  @Test func `--quiet omits progress and keeps the exit code`() async throws {
    #expect(try await run("wait", "7").messages.contains("job 7"))
    let quiet = try await run("-q", "wait", "7")
    #expect(quiet.exitCode == .someFailed)
    #expect(quiet.messages.isEmpty)
  }

  @Test func `--quiet keeps results`() async throws {
    let quiet = try await run("-q", "wait", "7", "--json")
    #expect(try quiet.decodedLines(ImageJob.self) == [.sample(7, .damaged)])
  }

  @Test func `--quiet keeps errors`() async throws {
    let quiet = try await run("-q", "remove", "1", "2")
    #expect(quiet.exitCode == .wrongUse)
    #expect(quiet.messages == "imgctl: job 1 runs\n")
  }
}

/// What commands say of a coordinator that has other proxies than their environment names.
@Suite(.timeLimit(.minutes(20))) struct OtherProxyTests {
  private static let environment = ["http_proxy": "http://ada:secret@proxy.example:3128"]

  private func proxies(_ text: String) throws -> ProxySettings {
    ProxySettings(http: try ProxyURL(parsing: text), https: nil, directHosts: [])
  }

  private func run(
    _ command: [String], _ environment: [String: String], _ proxies: ProxySettings
  ) async throws -> ScriptedCoordinator.Result {
    let worker = ClusterStatus.Worker(
      number: 0, processes: .init(worker: 1), state: .ready, lookingUp: 0, fetching: 0, decoding: 0,
      deaths: 0)
    let status = ClusterStatus.sample(workers: [worker], proxies: proxies)
    return try await ScriptedCoordinator().run(command, environment: environment, proxies: proxies)
    {
      if case .status(let id) = $0 { [.status(id, status)] } else { [nil] }
    }
  }

  @Test func `a fetch tells of an environment with another proxy, without passwords`() async throws
  {
    let get = ["get", "http://h/a.jpg"]
    let none = try await run(get, Self.environment, .none)
    #expect(
      none.messages.contains(
        "imgctl: the environment names the proxy http://***@proxy.example:3128 for http; the coordinator "
          + "(process 1) has no proxy; to change it: imgctl stop && imgctl start\n"))
    let other = try await run(get, [:], proxies("http://other.example:3128"))
    #expect(
      other.messages.contains(
        "names no proxy; the coordinator (process 1) has the proxy http://other"))
    let same = try proxies("http://ada:old@proxy.example:3128")
    #expect(try await !run(get, Self.environment, same).messages.contains("the environment names"))
    let chosen = Self.environment.merging(["IMGCTL_PROXY": "none"]) { $1 }
    #expect(try await !run(get, chosen, same).messages.contains("the environment names"))
  }

  @Test func `start compares the proxies of the environment as every other setting`() async throws {
    let other = try await run(["start"], Self.environment, proxies("http://other.example:3128"))
    #expect(other.exitCode == .wrongUse)
    #expect(
      other.messages.contains(
        #/proxy +--proxy +http://\*\*\*@proxy.example:3128 for http +http://other.example:3128 for http\n/#
      ))
    let unset = try await run(["start"], [:], proxies("http://other.example:3128"))
    #expect(unset.messages.contains(#/--proxy +none +http://other.example:3128 for http\n/#))
    let none = try await run(["start"], ["IMGCTL_PROXY": "none"], .none)
    #expect(none.messages.contains("--data-dir") && !none.messages.contains("--proxy"))
  }

  @Test func `start notices another password of the proxy, and shows none`() async throws {
    let old = try proxies("http://ada:old@proxy.example:3128")
    let other = try await run(["start"], Self.environment, old)
    #expect(other.exitCode == .wrongUse)
    #expect(other.messages.contains("3128 for http with another password"), "\(other.messages)")
    #expect(!["secret", "old"].contains(where: other.messages.contains))
    let same = try proxies("http://ada:secret@proxy.example:3128")
    #expect(try await !run(["start"], Self.environment, same).messages.contains("--proxy"))
  }
}

@Suite struct LimitTableTests {
  private func lines(_ width: Int) -> [Substring] {
    var settings = Settings(
      socketPath: "/run/user/1000/imgctl/control.sock",
      dataDirectory: "/home/ada/.local/state/imgctl-for-the-archive")
    settings.workerExecutable = "/usr/lib/imgctl/imgworker"
    return LimitTable.text(of: settings, within: width).split(separator: "\n")
  }

  @Test(arguments: [40, 60, 72, 80, 100])
  func `the table of limits fits, and shows all flags and values`(width: Int) {
    let lines = lines(width)
    #expect(lines.allSatisfy { $0.count <= width })
    for option in Setting.options {
      #expect(lines.contains { $0.contains("\(option.flag) ") }, "\(option.flag)")
    }
    #expect(!lines.joined().contains("…"))
    #expect(lines[0].contains("limit") == (width >= 80))
  }

  @Test func `a text goes on below at a space, or within a long word`() {
    var table = Table([.text("flag").whole, .text("value").wrapped])
    table.addRow(["--allow-directory", "/srv/pictures, /home/ada/pictures"])
    #expect(
      table.rendered(within: 34) == """
        flag               value
        --allow-directory  /srv/pictures,
                           /home/ada/pictu
                           res
        """ + "\n")
    #expect(table.rendered(within: 60).split(separator: "\n").count == 2)
  }
}
