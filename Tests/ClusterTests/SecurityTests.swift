import FoundationEssentials
import Glibc
import ImgClient
import ImgModel
import ImgStore
import ImgSystem
import ImgWire
import TestCluster
import TestFiles
import TestOrigin
import Testing

/// What processes let others see of the secrets that they are given.
@Suite(.timeLimit(.minutes(20))) struct SecretTests {
  private let origin = ListOrigin()
  private static let secret = "1234567890"

  @Test func `no command, manifest or log shows a password in a URL`() throws {
    let cluster = try Cluster()
    let lines = ["/p/1", "/missing/1"].map {
      origin.url($0).replacing("http://", with: "http://ada:\(Self.secret)@")
    }
    let invalid = "ftp://ada:\(Self.secret)@h/"
    let job = try cluster.submit(lines + [invalid])
    let status = try cluster.finished(job)
    #expect(status.done == 1)
    let directory = cluster.directory.file("out")
    var shown = try [
      ["failures", "\(job)"], ["failures", "\(job)", "--json"], ["status", "\(job)"],
      ["status", "\(job)", "--json"], ["wait", "\(job)", "--json"], ["list", "--json"],
      ["cache", "ls"], ["cache", "ls", "--json"], ["export", "\(job)", directory],
      ["get", lines[0], "--json"], ["get", lines[0], "--no-cache", "--json"],
      ["get", lines[1]], ["get", lines[1], "--json"], ["get", invalid],
      ["get", lines[1], "--fallback", lines[0], "--json"],
      ["cache", "get", lines[1]], ["cache", "rm", invalid], ["retry", "\(job)", "--all"],
    ].map { words in
      let result = try cluster.begin(words).wait()
      return result.output + result.messages
    }
    let manifest = try FileIO.contents(of: "\(directory)/manifest.jsonl", upTo: 1 << 20)
    shown.append(String(decoding: manifest, as: UTF8.self))
    shown.append(try cluster.runningCoordinator().messages())
    for text in shown { #expect(!text.contains(Self.secret)) }
    #expect(shown.count { $0.contains("ada:***@") } >= 9)
    // The URL itself still has it.
    #expect(try cluster.finished(job).done == 1)
    #expect(try cluster.imgctl("cache", "rm", lines[0]).messages.contains("removed 1 record"))
  }

  @Test func `headers from a file and a variable are sent and not visible to other users`() throws {
    let cluster = try Cluster(["TOKEN": "X-Token: \(Self.secret)"], isStarted: false)
    origin.hold("/held")
    let headers = try cluster.directory.write(
      Array("Authorization: Bearer \(Self.secret)\r\n\nX-Other: a: b\n".utf8), to: "headers")
    let run = try cluster.begin([
      "get", origin.url("/held"), "--header", "@\(headers)", "--header-env", "IMGCTL_TOKEN",
      "--header", "X-Plain: c",
    ])
    try #require(origin.origin.waitUntil { $0.totals.requests == 1 })
    let coordinator = try cluster.client().coordinatorProcessID
    for process in [run.processID, coordinator] + childProcessIDs(of: coordinator) {
      let line = try FileIO.contents(of: "/proc/\(process)/cmdline", upTo: 1 << 16)
      #expect(!String(decoding: line, as: UTF8.self).contains(Self.secret))
    }
    // Only root may read this of processes that do not dump.
    let variables = try? FileIO.contents(of: "/proc/\(coordinator)/environ", upTo: 1 << 20)
    #expect(!String(decoding: variables ?? [], as: UTF8.self).contains(Self.secret))
    origin.origin.release("/held")
    #expect(try run.wait().exitCode == 0)
    let seen = origin.origin.counters("/held").headersSeen
    #expect(seen["authorization"] == "Bearer \(Self.secret)")
    #expect(seen["x-other"] == "a: b")
    #expect(seen["x-token"] == Self.secret)
    #expect(seen["x-plain"] == "c")
  }

  @Test func `the passwords of a proxy and of a netrc are used and not shown`() throws {
    let proxy = try ForwardProxy(
      // ada:word-of-proxy
      hosts: ["a.invalid": origin.origin.port], credentials: "YWRhOndvcmQtb2YtcHJveHk=")
    let cluster = try Cluster(isStarted: false)
    let netrc = try cluster.directory.write(
      Array("machine a.invalid login bob password \(Self.secret)\n".utf8), to: ".netrc")
    // The flag is for the coordinator that the command starts, which it does not name on its command line.
    let started = try cluster.begin([
      "start", "--proxy", "http://ada:word-of-proxy@127.0.0.1:\(proxy.port)",
    ]).wait()
    #expect(started.exitCode == 0)
    let coordinator = try cluster.client().coordinatorProcessID
    for process in [coordinator] + childProcessIDs(of: coordinator) {
      let line = try FileIO.contents(of: "/proc/\(process)/cmdline", upTo: 1 << 16)
      #expect(!String(decoding: line, as: UTF8.self).contains("word-of-proxy"))
    }
    let url = "http://a.invalid/p/1"
    let list = try cluster.directory.write(Array("\(url)\n".utf8), to: "list")
    let shown = try [
      ["submit", list, "--netrc", "--wait"], ["get", url, "--netrc-file", netrc, "--json"],
      ["status", "1", "--json"], ["status"], ["status", "--json"], ["status", "--limits"],
      ["status", "--limits", "--json"], ["failures", "1", "--json"], ["list", "--json"],
      ["start", "--proxy", "http://ada:other@127.0.0.1:1"],
    ].map { words in
      let result = try cluster.begin(words).wait()
      return result.output + result.messages
    }
    let log = try FileIO.contents(of: cluster.dataDirectory + "/coordinator.log", upTo: 1 << 20)
    for text in shown + [String(decoding: log, as: UTF8.self)] {
      #expect(!text.contains(Self.secret) && !text.contains("word-of-proxy"))
    }
    #expect(shown[2].contains(#""done":1"#))
    #expect(shown[1].contains(#""from_cache":true"#))
    #expect(shown[3].contains("proxy        http://***@127.0.0.1:\(proxy.port)\n"))
    #expect(shown[4].contains(#""proxy":{"http":"http://***@127.0.0.1:\#(proxy.port)""#))
    #expect(shown[9].contains("--proxy"))
    #expect(proxy.requests == ["GET \(url)"])
    #expect(
      origin.origin.counters("/p/1").headersSeen["authorization"]?.hasPrefix("Basic ") == true)
  }

  @Test func `no process leaves a core file`() throws {
    let cluster = try Cluster()
    origin.hold("/held")
    let run = try cluster.begin(["get", origin.url("/held")])
    try #require(origin.origin.waitUntil { $0.totals.requests == 1 })
    let coordinator = try cluster.runningCoordinator().processID
    let client = try cluster.client()
    // What has both filters, its worker's and its own, has started.
    try #require(
      try eventually {
        let decoders = try client.answer(.status).workers.flatMap(\.decoderProcessIDs)
        return decoders.count == 4 && decoders.allSatisfy { filterCount(of: $0) == 2 }
      })
    let children = childProcessIDs(of: coordinator)
    #expect(children.count == 6)
    for process in [run.processID, coordinator] + children {
      let limits = try FileIO.contents(of: "/proc/\(process)/limits", upTo: 1 << 16)
      let line = String(decoding: limits, as: UTF8.self).split(separator: "\n")
        .first { $0.hasPrefix("Max core file size") }
      #expect(line?.split(separator: " ").dropFirst(4).prefix(2) == ["0", "0"])
      // The kernel gives root what a process that cannot be dumped has in /proc (proc(5)).
      let owner = try FileManager.default.attributesOfItem(atPath: "/proc/\(process)/environ")
      #expect(owner[.ownerAccountID] as? Int == 0)
    }
    origin.origin.release("/held")
    #expect(try run.wait().exitCode == 0)
  }
}

/// Listeners and directories that are not the user's own: a client sends them nothing and opens
/// nothing that they name.
@Suite(.timeLimit(.minutes(20))) struct UnsafeSocketTests {
  private static let foreignUserID: UInt32 = 65_534
  private let origin = ListOrigin()

  @Test(arguments: [
    ["get", "http://127.0.0.1/secret", "--header", "Authorization: secret"],
    ["submit", "list.txt"], ["status"], ["list"], ["stop"],
  ])
  func `nothing is sent to a socket in a directory that other users may write`(
    command: [String]
  ) throws {
    let cluster = try Cluster(socketName: "open/control.sock", isStarted: false)
    let open = cluster.directory.file("open")
    try Directory.create(open)
    #expect(unsafe chmod(open, 0o777) == 0)
    let listener = try UnixListener(path: cluster.socketPath)
    _ = try cluster.list(["http://127.0.0.1/secret"])
    let run = try cluster.begin(
      command.map { $0.hasSuffix(".txt") ? cluster.directory.file($0) : $0 })
    let isReached = try eventually { try !run.isRunning || listener.accept() != nil }
    #expect(isReached)
    #expect(!run.isRunning, "the client connected")
    let result = try run.wait()
    #expect(result.exitCode == 3)
    #expect(
      result.messages.contains(
        "\(open)/control.sock is not safe, and nothing was sent (it would use \(open), which other users may write "
          + "(mode 777); run chmod go-w \(open)); name a directory of your own with --data-dir"),
      "\(result.messages)")
  }

  @Test(arguments: ["open/a/control.sock", "own/control.sock"])
  func `a start below a directory that others may write leaves nothing`(socket: String) throws {
    let cluster = try Cluster(socketName: socket, isStarted: false)
    let open = cluster.directory.file("open")
    try Directory.create(open)
    #expect(unsafe chmod(open, 0o777) == 0)
    let isSocketOpen = socket.hasPrefix("open")
    let data = isSocketOpen ? cluster.directory.file("data/b") : "\(open)/data/b"
    let result = try cluster.imgctl("start", "--data-dir", data)
    #expect(result.exitCode == 3)
    #expect(result.messages.contains("run chmod go-w \(open)"))
    let run = try cluster.launch(["--data-dir", data])
    #expect(run.message.contains("run chmod go-w \(open)"))
    #expect(try run.run.wait().exitCode == 1)
    let places = try FileManager.default.contentsOfDirectory(atPath: cluster.directory.path)
    #expect(
      !places.contains("own") && (isSocketOpen ? !places.contains("data") : true), "\(places)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: open) == [])
  }

  @Test(arguments: [["status"], ["get", "http://127.0.0.1/"], ["export", "1", "files"]])
  func `a store that an untrusted coordinator names is not opened`(command: [String]) throws {
    let cluster = try Cluster(["DATA_DIR": ""], isStarted: false)
    let store = cluster.directory.file("theirs/store/thumbnails")
    let victim = cluster.directory.file("victim")
    let bytes = Array("a file that is not the store's\n".utf8)
    _ = try SharedStore(directory: store, access: .readWrite(budgetByteCount: 1 << 20))
    try FileIO.replace(path: victim, with: bytes)
    #expect(unsafe unlink("\(store)/lock.mdb") == 0)
    #expect(unsafe symlink(victim, "\(store)/lock.mdb") == 0)
    let fake = try FakeCoordinator(socketPath: cluster.socketPath, store: store)
    let run = try cluster.begin(command)
    #expect(try fake.serve().isEmpty)
    let result = try run.wait()
    if command == ["status"] {
      #expect(result.exitCode == 0)
      #expect(result.output.contains("not read: use --data-dir /theirs"))
    } else {
      #expect(result.exitCode == 2)
      #expect(result.messages.contains("keeps \(store), not "))
    }
    #expect(try FileIO.contents(of: victim, upTo: 1_000) == bytes)
  }

  @Test(
    .enabled("runs as root, with programs that each user can run") {
      try Cluster.canRun(as: Self.foreignUserID)
    })
  func `nothing is sent to another user's coordinator, except a service's`() throws {
    let cluster = try Cluster(isStarted: false)
    #expect(unsafe chmod(cluster.directory.path, 0o755) == 0)
    let (tmp, run) = (cluster.directory.file("theirs"), "/run/imgctl-test-\(UUID())")
    for place in [tmp, run] {
      try Directory.createPrivate(place)
      #expect(unsafe chown(place, Self.foreignUserID, Self.foreignUserID) == 0)
    }
    defer { try? FileManager.default.removeItem(atPath: run) }
    for place in [tmp, run] {
      let places = ["--socket", "\(place)/control.sock", "--data-dir", "\(place)/data"]
      let (coordinator, message) = try cluster.launch(places, as: Self.foreignUserID)
      #expect(message == "ready")
      let status = try cluster.begin(["status"] + places).wait()
      if place == run {
        #expect(status.exitCode == 0, "\(status.messages)")
        #expect(status.output.contains("belongs to user \(Self.foreignUserID)"))
      } else {
        #expect(status.exitCode == 3)
        #expect(
          status.messages.contains("use \(place), which belongs to user \(Self.foreignUserID)"))
        #expect(status.messages.contains("sudo -u nobody imgctl …"))
      }
      // As if the owner had listened before the directory was root's.
      #expect(unsafe chown(place, 0, 0) == 0)
      let header = ["get", origin.url("/p/1"), "--header", "X: secret", "--autostart", "no"]
      let get = try cluster.begin(header + ["--socket", "\(place)/control.sock"]).wait()
      #expect(get.exitCode == 3)
      #expect(
        get.messages.contains(
          "trust process \(coordinator.processID) of user \(Self.foreignUserID), which listens"))
      // Its data directory is behind the one that it cannot enter any more, so it may have ended.
      coordinator.signal(SIGTERM)
      _ = try coordinator.wait()
    }
    #expect(origin.origin.totals().requests == 0)
  }

  @Test(
    .enabled("runs as root, with programs that each user can run") {
      try Cluster.canRun(as: Self.foreignUserID)
    }, arguments: [["status"], ["remove", "1"], ["start"], ["stop"]])
  func `the socket of another user is reported with its owner`(command: [String]) throws {
    let cluster = try Cluster()
    #expect(unsafe chmod(cluster.directory.path, 0o755) == 0)
    let result = try cluster.begin(command, as: Self.foreignUserID).wait()
    #expect(result.exitCode == 3)
    #expect(
      result.messages.contains(
        "\(cluster.socketPath) belongs to user 0, and no other user may connect"))
    #expect(result.messages.contains("sudo -u root, "))
    #expect(!result.messages.contains("imgctl start"))
  }

  @Test func `a log that is a symbolic link is not written`() throws {
    let cluster = try Cluster(isStarted: false)
    let victim = try cluster.directory.write([1], to: "victim")
    try Directory.createPrivate(cluster.dataDirectory)
    #expect(unsafe symlink(victim, cluster.logPath) == 0)
    let result = try cluster.imgctl("start")
    #expect(result.exitCode == 3)
    #expect(result.messages.contains("open \(cluster.logPath): Too many levels of symbolic links"))
    #expect(try FileIO.contents(of: victim, upTo: 100) == [1])
  }
}

/// A listener that greets as a coordinator does and names a store of its choice.
struct FakeCoordinator: ~Copyable {
  private let listener: ScriptedListener
  private let store: String

  init(socketPath: String, store: String) throws {
    listener = try ScriptedListener(socketPath: socketPath)
    self.store = store
  }

  /// Answers one client's hello and its requests for the status until it leaves.
  ///
  /// - Returns: the other requests.
  consuming func serve() throws -> [ClientMessage] {
    var others: [ClientMessage] = []
    let status = status
    let hello = Hello(processID: 1, storeDirectory: store)
    _ = try listener.serve(hello: .hello(hello)) { request in
      switch request {
      case .status(let id):
        return [.status(id, status)]
      case .jobs(let id, _):
        return [.jobs(id, JobsPage(jobs: [], hasMore: false))]
      default:
        others.append(request)
        return []
      }
    }
    return others
  }

  private var status: ClusterStatus {
    ClusterStatus(
      state: .running, processID: 1, version: Build.version, startedAt: WallTime(rawValue: 0),
      socketPath: "/socket", dataDirectory: "/theirs", cacheDirectory: "/theirs",
      storeName: "thumbnails", workers: [], transfers: 0, activeJobs: 0,
      viewers: 0, lateAnswers: 0, discardedLate: 0, journalError: nil, storeError: nil,
      limits: Limits(),
      settings: CoordinatorSettings(
        workerExecutable: "/imgworker", idleExit: nil, allowedNetworks: [],
        allowedDirectories: [], authorityFile: nil, requiresSandbox: false))
  }
}

/// A cluster on kernels that lack a part of its sandbox.
@Suite(.timeLimit(.minutes(20))) struct LesserKernelTests {
  private static let landlock = "Landlock"
  private static let filters = "system call filters (seccomp)"

  /// What `imgctl status` says of the decoders' sandbox.
  private func decoderSandbox(of cluster: Cluster) throws -> SandboxReport {
    let isKnown = try cluster.waitUntil { $0.sandboxes.decoders != nil }
    try #require(isKnown)
    return try #require(try cluster.client().answer(.status).sandboxes.decoders)
  }

  @Test(arguments: [
    (["landlock"], landlock), (["filters"], filters),
    (["landlock", "filters", "namespaces"], "\(filters) and \(landlock)"),
  ])
  func `without a protection pictures are decoded, with a warning in status and log`(
    features: [String], missing: String
  ) throws {
    let cluster = try Cluster(["WORKERS": "1"], isStarted: false)
    try cluster.start(without: features)
    let origin = ListOrigin()
    let list = origin.mixedList(10)
    try cluster.expect(try cluster.run(list.lines), endedAs: list)
    let report = try decoderSandbox(of: cluster)
    #expect(report.missing.joined(separator: " and ") == missing)
    #expect(try cluster.imgctl("status").output.contains("the kernel lacks \(missing)"))
    let messages = try cluster.runningCoordinator().messages()
    for processes in ["workers", "decoders"] {
      #expect(messages.contains("warning: the \(processes) run without \(missing), which"))
    }
  }

  @Test(arguments: [(["landlock"], landlock), (["filters"], filters)])
  func `a coordinator that requires a missing protection says so and exits`(
    features: [String], missing: String
  ) throws {
    let cluster = try Cluster(isStarted: false)
    let (run, message) = try cluster.launch(["--require-sandbox"], without: features)
    let reason = "the sandbox is required (--require-sandbox), and this kernel lacks \(missing)"
    #expect(message.contains(reason))
    let result = try run.wait()
    #expect(result.exitCode == 1)
    #expect(result.messages.contains(reason))
  }

  @Test func `where users may create no namespaces, the filter refuses sockets`() throws {
    let cluster = try Cluster(["WORKERS": "1"], isStarted: false)
    try cluster.start(["--require-sandbox"], without: ["namespaces"])
    let origin = ListOrigin()
    let list = origin.mixedList(10)
    try cluster.expect(try cluster.run(list.lines), endedAs: list)
    let report = try decoderSandbox(of: cluster)
    #expect(report.missing.isEmpty && report.hasSystemCallFilter && !report.hasOwnNetwork)
  }

  /// As `RestrictNamespaces=` of the service.
  @Test func `the namespaces that a service may create suffice for a network of its own`() throws {
    let cluster = try Cluster(["WORKERS": "1"], isStarted: false)
    try cluster.start(without: ["other-namespaces"])
    #expect(try decoderSandbox(of: cluster).hasOwnNetwork)
  }
}
