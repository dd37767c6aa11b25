import FoundationEssentials
import Glibc
import ImgClient
import ImgModel
import ImgSystem
import ImgWire
import TestCluster
import TestFiles
import TestOrigin
import Testing

/// Coordinators that are started by commands, or beside another.
@Suite(.timeLimit(.minutes(20))) struct StartTests {
  private let origin = ListOrigin()

  @Test func `a second coordinator on the same data or socket ends, the first goes on`() throws {
    let cluster = try Cluster()
    let first = try cluster.runningCoordinator()
    let (sameData, reason) = try cluster.launch(["--socket", cluster.directory.file("other.sock")])
    #expect(
      reason.hasPrefix(
        "another coordinator (process \(first.processID)) owns the data directory "
          + "\(cluster.dataDirectory); "))
    #expect(try sameData.wait().exitCode == 1)
    #expect(try sameData.messages() == "imgcoordinator: \(reason)\n")

    let (sameSocket, other) = try cluster.launch(["--data-dir", cluster.directory.file("other")])
    #expect(other == "another coordinator answers at \(cluster.socketPath)")
    #expect(try sameSocket.wait().exitCode == 1)

    #expect(try cluster.client().coordinatorProcessID == first.processID)
    #expect(try cluster.run(origin.pictures(2)).done == 2)
  }

  @Test func `concurrent submits without a coordinator start exactly one`() throws {
    let cluster = try Cluster(isStarted: false)
    let list = try cluster.list(origin.pictures(5))
    let runs = try (0..<4).map { _ in try cluster.begin(["submit", "--wait", list]) }
    let results = try runs.map { try $0.wait() }
    for result in results { #expect(result.exitCode == 0, "\(result.messages)") }
    #expect(results.map(\.output).sorted() == ["1\n", "2\n", "3\n", "4\n"])
    let started = results.filter { $0.messages.contains("started a coordinator") }
    #expect(started.count == 1)
  }

  @Test(arguments: ["submit", "get"])
  func `a coordinator that a command started ends when idle`(command: String) throws {
    let cluster = try Cluster(["IDLE_EXIT": "200ms"], isStarted: false)
    let result =
      command == "get"
      ? try cluster.imgctl("get", origin.url("/p/1"))
      : try cluster.imgctl("submit", try cluster.list(origin.pictures(3)))
    #expect(result.exitCode == 0)
    let digits = result.messages.split(separator: "(process ").last?.prefix { $0.isNumber } ?? ""
    let processID = try #require(Int32(digits))
    // It may have left already.
    if let coordinator = WatchedProcess(processID) { #expect(try coordinator.hasEnded()) }
    #expect(!FileManager.default.fileExists(atPath: cluster.socketPath))
    let log = String(
      decoding: try FileIO.contents(of: cluster.logPath, upTo: 1 << 20), as: UTF8.self)
    #expect(log.contains("listening on \(cluster.socketPath)"))
    #expect(log.contains("no work and no client: leaving"))
  }

  @Test func `without the coordinator program, imgctl names the missing file`() throws {
    let programs = TestDirectory()
    try Programs.install(Programs.path(of: "imgctl"), as: programs.file("imgctl"))
    let cluster = try Cluster(executableDirectory: programs.path, isStarted: false)
    let result = try cluster.imgctl("submit", try cluster.list(["http://example.org/"]))
    #expect(result.exitCode == 3)
    #expect(result.messages.contains(programs.file("imgcoordinator")))
    #expect(result.messages.contains("No such file or directory"))
  }

  @Test(arguments: [
    (missing: "imgworker", reasons: ["imgworker cannot be started", "No such file or directory"]),
    (missing: "imgdecoder", reasons: ["imgdecoder is missing"]),
  ])
  func `without the program of workers or decoders, start fails and names the missing file`(
    missing: String, reasons: [String]
  ) throws {
    let programs = TestDirectory()
    let worker = programs.file("imgworker")
    if missing == "imgdecoder" {
      try Programs.install(Programs.path(of: "imgworker"), as: worker)
    }
    let cluster = try Cluster(["WORKER_EXECUTABLE": worker], isStarted: false)
    let result = try cluster.imgctl("start")
    #expect(result.exitCode == 3)
    for part in ["no worker can be started", programs.file(missing)] + reasons {
      #expect(result.messages.contains(part))
    }
    // It has not left a coordinator behind that can do nothing.
    #expect(try cluster.imgctl("status").exitCode == 3)
  }

  @Test func `start lists the differences to a running coordinator`() throws {
    let cluster = try Cluster(["TRANSFERS": "7"])
    #expect(try cluster.imgctl("start").exitCode == 0, "the variables ask for what runs")
    let same = try cluster.imgctl("start", "--workers", "2", "--allow-network", "127.0.0.0/8")
    #expect(same.exitCode == 0)
    let other = try cluster.imgctl("start", "--workers", "3", "--data-dir", "/elsewhere")
    #expect(other.exitCode == 2)
    #expect(other.messages.contains("with other settings and keeps them"))
    #expect(other.messages.contains("workers         --workers   3           2\n"))
    #expect(
      other.messages.contains("data directory  --data-dir  /elsewhere  \(cluster.dataDirectory)\n"))
    let places = "--data-dir /elsewhere"
    #expect(other.messages.contains("imgctl \(places) stop && imgctl \(places) start"))
    #expect(other.messages.contains("end gateways before"))
    let changeable = try cluster.imgctl("start", "--transfers", "9", "--json")
    #expect(changeable.exitCode == 2)
    #expect(
      changeable.output.contains(
        #""differences":[{"asked":"9","running":"7","setting":"--transfers"}]"#))
    #expect(try cluster.status().workers.count == 2)
  }

  @Test func `commands that only read jobs start no coordinator`() throws {
    let cluster = try Cluster()
    let done = try cluster.run(origin.pictures(2) + [origin.url("/missing")])
    let waiting = try cluster.submit(origin.pictures(3), "--delay", "1h")
    let stop = try cluster.imgctl("stop")
    #expect(stop.messages == "the coordinator has stopped; 3 URLs wait for the next start\n")
    let looks: [([String], Int32, Int)] = [
      (["list"], 0, 3), (["status", "\(done.job)"], 0, 3), (["failures", "\(done.job)"], 0, 1),
      (["export", "\(done.job)", cluster.directory.file("out")], 0, 0),
      (["list", "--autostart", "no"], 0, 3),
      (["failures", "\(done.job)", "--socket", "/run/imgctl-test/control.sock"], 0, 1),
    ]
    for (command, exitCode, lineCount) in looks {
      let result = try cluster.begin(command).wait()
      #expect(result.exitCode == exitCode, "\(command): \(result.messages)")
      #expect(result.lines.count == lineCount, "\(command)")
      #expect(result.messages.contains("no coordinator runs; reading the journal"))
    }
    let wait = try cluster.imgctl("wait", "\(done.job)")
    #expect(wait.exitCode == 1)
    #expect(wait.messages.hasPrefix("job \(done.job) finished: 2 of 3 done, 1 failed"))
    #expect(try cluster.status(of: done.job) == done)
    #expect(try cluster.jobs() == [waiting, done.job])
    for command in ["status", "cancel", "resume", "retry", "remove", "wait"] {
      try cluster.expectRefused(command, "9", because: "there is no job 9")
    }
    let removal = try cluster.imgctl("remove", "--older-than", "30d")
    #expect(removal.messages.hasSuffix("\nremoved 0 jobs\n"))
    #expect(try cluster.begin(["status", "\(done.job)", "--watch"]).wait().exitCode == 3)
    #expect(!FileManager.default.fileExists(atPath: cluster.socketPath))
    #expect(origin.origin.totals().requests == 3, "nothing was set going")
  }

  @Test func `reading jobs without any coordinator creates nothing`() throws {
    let cluster = try Cluster(isStarted: false)
    #expect(try cluster.jobs() == [])
    try cluster.expectRefused("failures", "1", because: "there is no job 1")
    #expect(!FileManager.default.fileExists(atPath: cluster.dataDirectory))
  }

  @Test func `stop mentions waiting URLs only if there are any`() throws {
    let cluster = try Cluster()
    _ = try cluster.run(origin.pictures(1))
    #expect(try cluster.imgctl("stop").messages == "the coordinator has stopped\n")
    try cluster.start()
    _ = try cluster.submit(origin.pictures(1), "--delay", "1h")
    let stop = try cluster.imgctl("stop", "--json")
    #expect(stop.output == #"{"queued":1,"schema":1,"stopped":true}"# + "\n")
    let again = try cluster.imgctl("stop", "--json")
    #expect(again.output == #"{"schema":1,"stopped":false}"# + "\n")
  }
}

/// A coordinator that a service manager runs, and what commands do while it does not run.
@Suite(.timeLimit(.minutes(20))) struct ServiceTests {
  @Test(arguments: [false, true])
  func `the service manager is notified of readiness and of the stop`(isAbstract: Bool) throws {
    let cluster = try Cluster(isStarted: false)
    let path = cluster.directory.file("notify")
    let address = isAbstract ? "@\(path)" : path
    let manager = try DatagramReceiver(address: address)
    let variables = ["NOTIFY_SOCKET": address]

    // One that cannot listen says nothing.
    try Directory.create(cluster.socketPath)
    let (failed, reason) = try cluster.launch(variables: variables)
    #expect(reason.contains("the control socket \(cluster.socketPath) cannot be opened"))
    #expect(try failed.wait().exitCode == 1)
    #expect(try manager.next(until: .now) == nil)
    try FileManager.default.removeItem(atPath: cluster.socketPath)

    let (coordinator, _) = try cluster.launch(variables: variables)
    #expect(try manager.next() == "READY=1\nSTATUS=listening on \(cluster.socketPath)")
    let isHeard = try UnixSocket.hasListener(path: cluster.socketPath)
    #expect(isHeard)
    coordinator.signal(SIGTERM)
    #expect(try manager.next() == "STOPPING=1\nSTATUS=finishing what runs")
    #expect(try coordinator.wait().exitCode == 0)
    #expect(try manager.next(until: .now) == nil)
  }

  @Test func `a command sends no notification to its service manager`() throws {
    let directory = TestDirectory()
    let manager = try DatagramReceiver(address: directory.file("notify"))
    let cluster = try Cluster(
      isStarted: false, variables: ["NOTIFY_SOCKET": directory.file("notify")])
    #expect(try cluster.imgctl("remove", "--older-than", "0s").exitCode == 0)
    #expect(try cluster.imgctl("stop").exitCode == 0)
    #expect(try manager.next(until: .now) == nil)
  }

  @Test(arguments: [
    ["wait", "1"], ["pause", "1"], ["get", "http://127.0.0.1/"], ["status"], ["limits"],
    ["watch", "1"],
  ])
  func `commands start no coordinator at the socket of a service`(command: [String]) throws {
    let places = [
      (socket: "/run/imgctl-test/control.sock", settings: [:]),
      (socket: nil, settings: ["AUTOSTART": "no"]),
    ]
    for place in places {
      let cluster = try Cluster(place.settings, isStarted: false)
      let socket = place.socket ?? cluster.socketPath
      let result = try cluster.begin(command + ["--socket", socket]).wait()
      #expect(result.exitCode == 3)
      #expect(result.messages.contains("no coordinator answers at \(socket)"))
      #expect(result.messages.contains("systemctl start imgcoordinator"))
      #expect(!FileManager.default.fileExists(atPath: cluster.dataDirectory))
      #expect(!FileManager.default.fileExists(atPath: "/run/imgctl-test"))
    }
  }
}

/// The end of the coordinator: by accident and on demand.
@Suite(.timeLimit(.minutes(20))) struct CoordinatorDeathTests {
  private let cluster: Cluster
  private let origin = ListOrigin()

  init() throws {
    cluster = try Cluster()
  }

  @Test func `SIGTERM finishes running work, refuses requests, and keeps the rest`() throws {
    let held = origin.holdPictures(8)
    let running = try cluster.submit(held.map(origin.url))
    try #require(origin.origin.waitUntil { $0.totals.inFlight == held.count })
    let waiting = try cluster.submit(origin.pictures(50))
    let workers = try cluster.readyWorkers()

    let coordinator = try cluster.runningCoordinator()
    coordinator.signal(15)
    try #require(try cluster.waitUntil { $0.state == .draining })
    let refused = try cluster.imgctl("submit", try cluster.list(origin.pictures(1), name: "late"))
    #expect(refused.exitCode == 3)
    #expect(refused.messages == "imgctl: the coordinator is stopping\n")
    origin.release(held)

    #expect(try coordinator.wait().exitCode == 0)
    #expect(!FileManager.default.fileExists(atPath: cluster.socketPath))
    for worker in workers { #expect(try worker.hasEnded()) }
    #expect(origin.origin.totals().requests == held.count)

    try cluster.start()
    #expect(try cluster.status(of: running).done == held.count)
    let status = try cluster.finished(waiting)
    #expect([status.done, status.fromCache] == [50, 0])
    #expect(origin.origin.totals().requests == held.count + 50)
  }

  @Test(arguments: [["wait"], ["watch"], ["watch", "--json"]])
  func `a command that follows a job goes on with the next coordinator`(command: [String]) throws {
    origin.hold("/held")
    let job = try cluster.submit([origin.url("/held"), origin.url("/missing")])
    try #require(origin.origin.waitUntil { $0.totals.inFlight == 1 })
    let run = try cluster.begin(command + ["\(job)"])
    try #require(try eventually { try !run.messages().isEmpty || !run.lines().isEmpty })
    try cluster.restartAfterCrash()
    origin.origin.release("/held")
    let result = try run.wait()
    #expect(result.exitCode == (command == ["wait"] ? 1 : 0))
    if command.last == "--json" {
      let last = try #require(result.lines.last)
      let status = try JSONDecoder().decode(ImageJob.self, from: Data(last.utf8))
      #expect([status.done, status.failed] == [1, 1])
      #expect(status.hasEnded)
    } else {
      #expect(result.messages.contains("job \(job) finished: 1 of 2 done, 1 failed"))
    }
  }

  @Test func `the status of the cluster is watched also after a restart, until Ctrl-C`() throws {
    let run = try cluster.begin(["status", "--watch", "--json"])
    func isShown(_ process: Int32) throws -> Bool {
      try eventually { try run.lines().contains { $0.contains("\"pid\":\(process)") } }
    }
    #expect(try isShown(try cluster.runningCoordinator().processID))
    try cluster.restartAfterCrash()
    #expect(try isShown(try cluster.runningCoordinator().processID))
    run.signal(SIGINT)
    let result = try run.wait()
    #expect(result.exitCode == 0)
    #expect(result.messages == "the coordinator has gone; waiting for the next one\n")
  }

  @Test func `a command that follows a job says that no coordinator comes back`() throws {
    origin.hold("/held")
    let job = try cluster.submit([origin.url("/held")])
    let run = try cluster.begin(["wait", "\(job)", "--json"])
    try #require(try eventually { try !run.lines().isEmpty })
    try cluster.killCoordinator()
    let result = try run.wait()
    #expect(result.exitCode == 3)
    #expect(result.messages.contains(#""code":"no_coordinator""#))
    #expect(
      result.messages.contains(
        "; job \(job) is safe in the journal; to go on with it: imgctl wait \(job)"))
    try cluster.start()
    let start = try cluster.runningCoordinator()
    #expect(try start.messages().contains("did not end in order"))
    let sentence = "the journal has unfinished jobs: 1, URLs that wait: 1"
    #expect(try eventually { try start.messages().contains(sentence) })
  }
}
