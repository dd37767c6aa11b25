import FoundationEssentials
import Glibc
import ImgClient
import ImgModel
import ImgSystem
import ImgTransport
import TestCluster
import TestFiles
import TestOrigin
import Testing

/// A control socket that is removed while its coordinator runs, as the end of a login session does.
@Suite(.timeLimit(.minutes(20)))
struct SocketRemovalTests {
  private let origin: ListOrigin

  private static let sentence = "had been removed; it is there again"

  init() throws {
    origin = try ListOrigin()
  }

  /// A cluster whose socket has a directory of its own.
  private func cluster() throws -> (cluster: Cluster, directory: String) {
    let cluster = try Cluster(socketName: "runtime/control.sock")
    return (cluster, cluster.directory.file("runtime"))
  }

  @Test func `a removed socket is recreated with its directory`() throws {
    let (cluster, directory) = try cluster()
    try origin.hold("/held")
    let early = try cluster.client()
    let job = try cluster.submit([origin.url("/held")] + origin.pictures(5))
    try FileManager.default.removeItem(atPath: directory)
    let coordinator = try cluster.runningCoordinator()
    #expect(try eventually { try coordinator.messages().contains(Self.sentence) })
    #expect(try Directory.requireExclusive(directory) == ThisProcess.userID)
    #expect(try early.status().processID == coordinator.processID)
    #expect(try cluster.status().processID == coordinator.processID)
    origin.origin.release("/held")
    #expect(try cluster.finished(job).done == 6)
    #expect(try cluster.imgctl("stop").exitCode == 0)
    #expect(try coordinator.wait().exitCode == 0)
    #expect(!FileManager.default.fileExists(atPath: cluster.socketPath))
  }

  @Test(arguments: [["start"], ["remove", "--older-than", "0s"]])
  func `a command that may start a coordinator waits for the recreated socket`(command: [String])
    throws
  {
    let (cluster, directory) = try cluster()
    try FileManager.default.removeItem(atPath: directory)
    let result = try cluster.begin(command).wait()
    #expect(result.exitCode == 0, "\(result.messages)")
    let process = try cluster.runningCoordinator().processID
    #expect(try cluster.client().coordinatorProcessID == process)
    if command == ["start"] {
      #expect(result.messages.contains("a coordinator already runs (process \(process))"))
    }
  }

  @Test func `a socket of another coordinator stays while that one runs`() throws {
    let (cluster, directory) = try cluster()
    let first = try cluster.runningCoordinator()
    // So that it does not notice first.
    first.signal(SIGSTOP)
    try FileManager.default.removeItem(atPath: directory)
    let (second, message) = try cluster.launch(["--data-dir", cluster.directory.file("other")])
    try #require(message == ReadinessMessage.ready)
    first.signal(SIGCONT)
    let sentence = "no client can connect: another coordinator answers at \(cluster.socketPath)"
    #expect(try eventually { try first.messages().contains(sentence) })
    #expect(try cluster.client().coordinatorProcessID == second.processID)
    second.signal(SIGTERM)
    #expect(try second.wait().exitCode == 0)
    #expect(
      try eventually { (try? cluster.client())?.coordinatorProcessID == first.processID })
    #expect(try first.messages().components(separatedBy: sentence).count == 2)
  }

  @Test func `without a socket, stop, status and start find the process by its lock`() throws {
    let (cluster, _) = try cluster()
    let coordinator = try cluster.runningCoordinator()
    // What is no socket is not the coordinator's to remove.
    try FileManager.default.removeItem(atPath: cluster.socketPath)
    try Data().write(to: URL(filePath: cluster.socketPath))
    let status = try cluster.imgctl("status")
    #expect(status.exitCode == 3)
    let owner = "process \(coordinator.processID) owns the data directory \(cluster.dataDirectory)"
    #expect(status.messages.contains(owner))
    let start = try cluster.imgctl("start")
    #expect(start.exitCode == 3)
    #expect(start.messages.contains("(process \(coordinator.processID)) owns the data directory"))
    let stop = try cluster.imgctl("stop")
    #expect(stop.exitCode == 0)
    #expect(stop.messages.contains("stopping process \(coordinator.processID)"))
    #expect(!coordinator.isRunning)
    #expect(try coordinator.wait().exitCode == 0)
    #expect(try cluster.imgctl("stop").messages == "no coordinator runs\n")
  }
}
