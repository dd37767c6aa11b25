import FoundationEssentials
import ImgClient
import ImgSystem
import ImgWire
import TestCluster
import TestOrigin
import Testing

/// Coordinators that are started by commands, or beside another.
@Suite(.timeLimit(.minutes(20)))
struct StartTests {
  private let origin: ListOrigin

  init() throws {
    origin = try ListOrigin()
  }

  @Test func `a second coordinator on the same data or socket leaves, and the first goes on`()
    throws
  {
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

  @Test func `submits at once without a coordinator start one`() throws {
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
  func `a coordinator that a command started leaves when nobody needs it`(command: String) throws {
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
    #expect(log.contains("nothing to do, nobody connected: leaving"))
  }

  @Test func `without its coordinator's program imgctl says which file is missing`() throws {
    let programs = try TestDirectory()
    try FileManager.default.copyItem(
      atPath: Programs.path(of: "imgctl"), toPath: programs.file("imgctl"))
    let cluster = try Cluster(executableDirectory: programs.path, isStarted: false)
    let result = try cluster.imgctl("submit", try cluster.list(["http://example.org/"]))
    #expect(result.exitCode == 3)
    #expect(result.messages.contains(programs.file("imgcoordinator")))
    #expect(result.messages.contains("No such file or directory"))
  }

  @Test func `without a worker's program start fails and says which file is missing`() throws {
    let programs = try TestDirectory()
    let worker = programs.file("imgworker")
    let cluster = try Cluster(["WORKER_EXECUTABLE": worker], isStarted: false)
    let result = try cluster.imgctl("start")
    #expect(result.exitCode == 3)
    #expect(result.messages.contains("no worker can be started"))
    #expect(result.messages.contains("\(worker) cannot be started"))
    #expect(result.messages.contains("No such file or directory"))
    // It has not left a coordinator behind that can do nothing.
    #expect(try cluster.imgctl("status").exitCode == 3)
  }

  @Test func `without a worker's program a job says what it waits for`() throws {
    let programs = try TestDirectory()
    let worker = programs.file("imgworker")
    let cluster = try Cluster(["WORKER_EXECUTABLE": worker])
    #expect(try cluster.waitUntil { $0.wait?.kind == .noWorker })
    let list = try cluster.list(["http://example.org/"])
    let submit = try cluster.begin(["submit", "--wait", list])
    let reason = "waiting: no worker is ready: \(worker) cannot be started"
    #expect(try eventually { try submit.messages().contains(reason) })
    let status = try cluster.status(of: JobID(rawValue: 1))
    #expect(status.wait?.kind == .noWorker)
    #expect(status.wait?.detail?.contains(worker) == true)
    let text = try cluster.imgctl("status").output
    #expect(text.contains("no worker is ready: \(worker) cannot be started"))
  }

  @Test func `status and limits ask nobody to start, and say how`() throws {
    let cluster = try Cluster(isStarted: false)
    for arguments in [["status"], ["status", "--limits"]] {
      let result = try cluster.begin(arguments).wait()
      #expect(result.exitCode == 3)
      #expect(result.messages.contains("no coordinator answers at \(cluster.socketPath)"))
      #expect(result.messages.contains("imgctl start"))
    }
  }

  @Test func `start in the background returns when the coordinator listens`() throws {
    let cluster = try Cluster(isStarted: false)
    #expect(try cluster.imgctl("start").exitCode == 0)
    #expect(try cluster.imgctl("status", "--json").decoded(ClusterStatus.self).workers.count == 2)
    let second = try cluster.imgctl("start")
    #expect(second.exitCode == 0)
    #expect(second.messages.contains("a coordinator runs already"))
    #expect(try cluster.imgctl("stop").exitCode == 0)
  }
}
