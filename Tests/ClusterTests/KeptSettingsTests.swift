import FoundationEssentials
import Glibc
import ImgClient
import ImgModel
import ImgSystem
import TestCluster
import TestFiles
import Testing

/// What `imgctl start` and `imgctl config` were told, and how the data directory alone selects a coordinator.
@Suite(.timeLimit(.minutes(20))) struct KeptSettingsTests {
  private let origin = ListOrigin()

  /// A cluster whose environment names the data directory alone, and permits no network.
  private func cluster() throws -> Cluster {
    try Cluster(
      ["SOCKET": "", "ALLOW_NETWORK": "", "WORKERS": "1", "ATTEMPTS": "", "KEEP_AUTO_SIZE": ""],
      socketName: "data/control.sock", isStarted: false)
  }

  private func recordPath(_ cluster: Cluster) -> String { "\(cluster.dataDirectory)/settings.json" }

  private func record(_ cluster: Cluster) throws -> [String: [String]] {
    let bytes = try FileIO.contents(of: recordPath(cluster), upTo: 1 << 20)
    return try JSONDecoder().decode([String: [String]].self, from: Data(bytes))
  }

  @Test func `settings of start count for every later start, also after kill -9`() throws {
    let cluster = try cluster()
    let started = try cluster.imgctl(
      "start", "--allow-network", "127.0.0.0/8", "--rate-per-host", "1000/s", "--contact", "a@b.org"
    )
    #expect(started.exitCode == 0, "\(started.messages)")
    let permissions = try FileStatus(at: recordPath(cluster)).permissions
    #expect(permissions == 0o600)
    let kept = [
      "allow-network": ["127.0.0.0/8"], "rate-per-host": ["1000/s"], "contact": ["a@b.org"],
      "workers": ["1"],
    ]
    #expect(try record(cluster) == kept)

    // A start that meets other settings changes nothing.
    let refused = try cluster.imgctl("start", "--attempts", "7")
    #expect(refused.exitCode == 2)
    #expect(refused.messages.contains("nothing was changed"))
    #expect(try record(cluster) == kept)

    let first = try #require(WatchedProcess(try cluster.client().coordinatorProcessID))
    first.signal(SIGKILL)
    #expect(try first.hasEnded())
    let list = try cluster.list(origin.pictures(2))
    let run = try cluster.imgctl("submit", "--wait", list)
    #expect(run.exitCode == 0, "\(run.messages)")
    #expect(
      run.messages.contains(
        "with the kept settings: --rate-per-host 1000/s, --contact a@b.org, "
          + "--allow-network 127.0.0.0/8; and with the settings of the environment: --workers 1\n"))
    #expect(try cluster.status().limits.contact?.text == "a@b.org")

    #expect(try cluster.imgctl("stop").exitCode == 0)
    let log = String(
      decoding: try FileIO.contents(of: cluster.logPath, upTo: 1 << 20), as: UTF8.self)
    #expect(log.contains("settings: --idle-exit 10m, --workers 1, --rate-per-host 1000/s, "))
    #expect(log.contains("ended: stopped by a client, process "))

    #expect(try cluster.imgctl("start", "--defaults", "--backoff", "2s").exitCode == 0)
    #expect(try record(cluster) == ["backoff": ["2s"], "workers": ["1"]])
    let limits = try cluster.status().limits
    #expect(limits.hostRatePerMinute == 0)
    #expect(limits.contact == nil)
    #expect(limits.backoff == .seconds(2))
    #expect(try cluster.imgctl("stop").exitCode == 0)
  }

  @Test func `a record that cannot be used refuses a start, names the file and its cure`() throws {
    let cluster = try cluster()
    let list = try cluster.list(["https://example.org/a"])
    let path = recordPath(cluster)
    try Directory.createPrivate(cluster.dataDirectory)
    for (content, cure) in [
      ("{", "imgctl start --defaults"), (#"{"frobnicate":["1"]}"#, "imgctl config unset"),
      (#"{"attempts":["0"]}"#, "--attempts: \"0\" is not from 1 to 100"),
    ] {
      try FileIO.replace(path: path, with: Array(content.utf8))
      let result = try cluster.imgctl("submit", list)
      #expect(result.exitCode == 3)
      #expect(result.messages.contains("the settings kept in \(path) "))
      #expect(result.messages.contains(cure))
      let show = try cluster.imgctl("config", "show")
      #expect(show.exitCode == 2)
      #expect(show.messages.contains(path))
      #expect(try cluster.imgctl("cache", "stat").exitCode == 0, "it starts none")
    }
    #expect(try cluster.imgctl("config", "set", "attempts", "2").exitCode == 0)
    try FileIO.replace(path: path, with: Array(#"{"frobnicate":["1"],"attempts":["2"]}"#.utf8))
    #expect(try cluster.imgctl("config", "set", "attempts", "3").exitCode == 2)
    #expect(try cluster.imgctl("config", "unset", "frobnicate").exitCode == 0)
    #expect(try record(cluster) == ["attempts": ["2"]])
    // A pipe would block, and a link lead elsewhere.
    try FileManager.default.removeItem(atPath: path)
    _ = try NamedPipe(path: path)
    #expect(try cluster.imgctl("submit", list).messages.contains("is not a regular file"))
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/null")
    #expect(try cluster.imgctl("submit", list).exitCode == 3)
    #expect(try cluster.imgctl("start", "--defaults").exitCode == 0, "the link is replaced")
    #expect(try record(cluster) == ["workers": ["1"]])
  }

  @Test func `config set refuses files and directories that a start would refuse`() throws {
    let cluster = try cluster()
    let key = try cluster.directory.write(Array("-----BEGIN PRIVATE KEY-----".utf8), to: "s.key")
    for (name, path, reason) in [
      ("ca-file", "/nonexistent/ca.pem", "cannot be read: No such file or directory"),
      ("ca-file", key, "has no certificate in PEM"),
      ("allow-directory", "/nonexistent", "cannot be opened: No such file or directory"),
    ] {
      let set = try cluster.imgctl("config", "set", name, path)
      #expect(set.exitCode == 2)
      #expect(
        set.messages.contains("imgctl config set: --\(name): \(path) \(reason)"), "\(set.messages)")
    }
    #expect(try cluster.imgctl("config", "show", "--json").output.contains("ca-file") == false)
  }

  @Test func `config shows, sets and unsets what is kept, and changes the running coordinator`()
    throws
  {
    let cluster = try cluster()
    let set = try cluster.imgctl(
      "config", "set", "rate-per-host", "1/s", "--contact=me@example.org")
    #expect(set.exitCode == 0, "\(set.messages)")
    #expect(set.messages == "kept: --rate-per-host 1/s, --contact me@example.org\n")
    let shown = try cluster.imgctl("config", "show")
    #expect(
      shown.output == """
        setting        value           source
        workers        1               IMGCTL_WORKERS
        rate-per-host  1/s             kept
        contact        me@example.org  kept

        """)
    #expect(try cluster.imgctl("start", "--attempts", "2").exitCode == 0)
    #expect(try cluster.status().limits.hostRatePerMinute == 60)

    let limits = try cluster.imgctl("limits", "--transfers", "4")
    #expect(
      limits.output == """
        limit                     flag         value
        transfers, whole cluster  --transfers  4

        """)
    #expect(
      limits.messages
        == "until the coordinator ends; to keep it: imgctl config set --transfers 4\n")
    let differing = try cluster.imgctl("config", "show", "--json")
    #expect(
      differing.output.contains(
        #"{"running":["4"],"setting":"transfers","source":"default","values":["64"]}"#))

    let changed = try cluster.imgctl(
      "config", "set", "--rate-per-host", "2/s", "--backoff", "3s", "--workers", "1")
    let processID = try cluster.client().coordinatorProcessID
    #expect(
      changed.messages == """
        imgctl: the variable IMGCTL_WORKERS is set and overrides it
        kept: --workers 1, --rate-per-host 2/s, --backoff 3s
        the running coordinator (process \(processID)) has now: --rate-per-host 2/s
        at the next start (imgctl stop && imgctl start): --backoff

        """)
    #expect(try cluster.status().limits.hostRatePerMinute == 120)
    let unset = try cluster.imgctl("config", "unset", "--rate-per-host", "backoff", "--json")
    #expect(
      unset.output.contains(
        #""applied":["rate-per-host"],"at_next_start":[],"changed":["rate-per-host","backoff"]"#))
    #expect(try cluster.status().limits.hostRatePerMinute == 0)
    #expect(
      try record(cluster) == ["contact": ["me@example.org"], "attempts": ["2"], "workers": ["1"]])
    let named = try cluster.imgctl("config", "get", "--attempts", "transfers", "--json")
    #expect(named.output.contains(#""setting":"attempts","source":"kept","values":["2"]"#))
    #expect(named.output.contains(#""setting":"transfers""#))
    #expect(!named.output.contains(#""setting":"contact""#))
    let all = try cluster.imgctl("config", "unset", "--all")
    #expect(all.messages.hasPrefix("forgotten: attempts, contact, workers\n"))
    #expect(try record(cluster) == [:])
    #expect(try cluster.imgctl("config", "set", "transfers", "5").exitCode == 0)
    #expect(
      try cluster.imgctl("config", "unset", "transfers").messages
        .hasSuffix("(process \(processID)) has now: --transfers 64\n"))
    let unknown = try cluster.imgctl("config", "unset", "rate-per-hots")
    #expect(unknown.exitCode == 2)
    #expect(unknown.messages.contains("did you mean rate-per-host?"))
    #expect(try cluster.imgctl("stop").exitCode == 0)
  }

  @Test(.enabled(if: ThisProcess.userID == 0, "only root makes a directory in /run"))
  func `a service's settings are changed in its unit, and none are kept`() throws {
    let directory = "/run/imgctl-test-\(UUID())"
    try Directory.createPrivate(directory)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let cluster = try Cluster(["SOCKET": "\(directory)/control.sock"])
    let set = try cluster.imgctl("config", "set", "transfers", "5")
    #expect(set.exitCode == 2)
    let restart = "then: systemctl restart imgcoordinator\n"
    #expect(set.messages.hasSuffix("; set IMGCTL_TRANSFERS=5 in /etc/default/imgctl, \(restart)"))
    #expect(!FileManager.default.fileExists(atPath: "\(cluster.dataDirectory)/settings.json"))
    #expect(
      try cluster.imgctl("limits", "--transfers", "5").messages
        == "until the coordinator ends; to keep it: set IMGCTL_TRANSFERS=5 in /etc/default/imgctl\n"
    )
    #expect(
      try cluster.imgctl("config", "show").messages.hasSuffix(
        "those of its unit and of /etc/default/imgctl, not those kept here\n"))
    let start = try cluster.imgctl("start", "--backoff", "3s")
    #expect(start.exitCode == 2)
    #expect(start.messages.hasSuffix("set IMGCTL_BACKOFF in /etc/default/imgctl, \(restart)"))
  }

  @Test
  func `a command names a new data directory, and a store that the last coordinator had elsewhere`()
    throws
  {
    let cluster = try Cluster(isStarted: false)
    let list = try cluster.list(origin.pictures(1))
    let cache = ["--cache-dir", cluster.directory.file("cache")]
    let first = try cluster.begin(["submit", "--wait", list] + cache).wait()
    #expect(first.messages.contains(" in the new data directory \(cluster.dataDirectory)"))
    #expect(try cluster.imgctl("stop").exitCode == 0)
    let hint =
      "; the store of the last coordinator is in \(cache[1]); to use it: --cache-dir \(cache[1])\n"
    #expect(try cluster.imgctl("list").messages.hasSuffix(hint))
    #expect(try !cluster.begin(["list"] + cache).wait().messages.contains("last coordinator"))
    let url = origin.url("/p/0")
    let commands = [
      ["ls"], ["rm", url], ["get", url], ["clean"], ["reset"], ["stat"], ["verify"], ["compact"],
    ]
    for command in commands {
      let refused = try cluster.begin(["cache"] + command).wait()
      #expect(refused.exitCode == 2, "\(command)")
      #expect(
        refused.messages.hasSuffix(
          "is in \(cache[1]); name the store: --cache-dir \(cache[1]), or --cache-dir "
            + "\(cluster.dataDirectory)\n"))
    }
    #expect(try cluster.begin(["cache", "ls"] + cache).wait().lines.count == 1)
    #expect(try cluster.imgctl("start").messages.hasSuffix(hint))
    let log = String(
      decoding: try FileIO.contents(of: cluster.logPath, upTo: 1 << 20), as: UTF8.self)
    #expect(
      log.contains("the store of the last coordinator is in \(cache[1]), that of this one in "))
    #expect(!log.contains("did not end in order"))
    #expect(try cluster.imgctl("stop").exitCode == 0)
    #expect(try !cluster.imgctl("submit", list).messages.contains("new data directory"))
    #expect(try cluster.imgctl("stop").exitCode == 0)
  }

  @Test func `the data directory alone selects a coordinator, and finds it at any socket`() throws {
    let cluster = try cluster()
    let second = cluster.directory.file("second")
    #expect(try cluster.imgctl("start").exitCode == 0)
    let elsewhere = cluster.directory.file("elsewhere.sock")
    let options = ["--data-dir", second, "--allow-network", "127.0.0.0/8"]
    #expect(try cluster.begin(["start", "--socket", elsewhere] + options).wait().exitCode == 0)
    let found = try cluster.imgctl("status", "--data-dir", second, "--json")
      .decoded(ClusterStatus.self)
    #expect(found.socketPath == elsewhere)
    #expect(found.dataDirectory == second)
    #expect(try cluster.status().dataDirectory == cluster.dataDirectory)

    let list = try cluster.list(origin.pictures(1))
    let job = try cluster.imgctl("submit", "--wait", list, "--data-dir", second)
    #expect(job.exitCode == 0, "\(job.messages)")
    let environment = ["HOME": cluster.directory.path, "PATH": "/usr/bin:/bin"]
    func export(_ place: String...) throws -> ProgramResult {
      try ProgramRun(
        Programs.path(of: "imgctl"), ["export", "1", cluster.directory.file("out")] + place,
        environment: environment, in: cluster.directory
      ).wait()
    }
    #expect(try export("--data-dir", second).exitCode == 0)
    let bySocket = try export("--socket", elsewhere)
    #expect(bySocket.exitCode == 2, "the store that a socket leads to is not opened")
    #expect(bySocket.messages.contains("give its --data-dir \(second)"), "\(bySocket.messages)")

    // The directory moves while nothing runs, and takes its jobs and settings along.
    #expect(try cluster.imgctl("stop", "--data-dir", second).exitCode == 0)
    let moved = cluster.directory.file("moved")
    try FileManager.default.moveItem(atPath: second, toPath: moved)
    let jobs = try cluster.imgctl("list", "--data-dir", moved)
    #expect(jobs.exitCode == 0)
    #expect(jobs.messages == "no coordinator runs; reading the journal\n")
    let gone = try cluster.imgctl("status", "--data-dir", second)
    #expect(gone.exitCode == 3)
    #expect(
      gone.messages
        == "imgctl: no coordinator runs, and no data directory is at \(second); check --data-dir\n")
    // What has its earlier name later makes no copy of it.
    for command in ["start", "stop"] {
      #expect(try cluster.imgctl(command, "--data-dir", second).exitCode == 0)
    }
    let stock = try cluster.imgctl("cache", "stat", "--data-dir", moved)
    #expect(stock.exitCode == 0, "\(stock.messages)")
    #expect(try cluster.imgctl("submit", list, "--data-dir", moved).output == "2\n")
    let again = try cluster.imgctl("status", "--data-dir", moved, "--json")
      .decoded(ClusterStatus.self)
    #expect(again.socketPath == "\(moved)/control.sock")
    let idle = try cluster.imgctl("config", "show", "idle-exit", "--data-dir", moved)
    #expect(idle.lines.last?.split(separator: " ") == ["idle-exit", "never", "default", "10m"])
    #expect(again.settings.allowedNetworks == ["127.0.0.0/8"])
    for directory in [moved, cluster.dataDirectory] {
      #expect(try cluster.imgctl("stop", "--data-dir", directory).exitCode == 0)
    }
  }
}
