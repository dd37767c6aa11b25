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

/// A data directory that is removed whole, as that of any cache may be, while a coordinator runs.
@Suite(.timeLimit(.minutes(20)))
struct DataDirectoryTests {
  private let origin: ListOrigin

  private static let sentence = "had been removed; its jobs are there again"

  init() throws {
    origin = try ListOrigin(headerDelay: .milliseconds(5))
  }

  /// Removes the data directory as a person would. Who writes there meanwhile may make `rm` leave
  /// something, and say so.
  ///
  /// - Parameter part: a directory in it that is removed instead of all.
  private func removeData(of cluster: Cluster, part: String = "") throws {
    let run = try ProgramRun(
      "/bin/rm", ["-rf", cluster.dataDirectory + part], environment: cluster.environment,
      in: cluster.directory)
    try #require(try run.wait().status != nil)
  }

  private func exists(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: path)
  }

  @Test(arguments: ["", "/store", "/journal"])
  func `U18: removed under load, it costs no job and no line, and gets go on`(part: String) throws {
    let cluster = try Cluster()
    let ended = try cluster.run(["no URL"]).job
    let job = try cluster.submit(origin.pictures(600))
    for count in [100, 300] {
      try #require(origin.origin.waitUntil { $0.totals.requests >= count })
      try removeData(of: cluster, part: part)
    }
    let status = try cluster.finished(job)
    #expect(status.total == 600)
    #expect(status.done == 600)
    #expect(try cluster.client().status().workers.map(\.deaths) == [0, 0])
    let isJournalGone = part != "/store"
    #expect(
      try cluster.runningCoordinator().messages().contains(Self.sentence) == isJournalGone)

    // The first picture went with the store.
    let isStoreGone = part != "/journal"
    #expect(try cluster.imgctl("get", origin.url("/p/0")).exitCode == 0)
    #expect(origin.origin.counters("/p/0").requests == (isStoreGone ? 2 : 1))
    #expect(exists(cluster.storeDirectory))

    let coordinator = try cluster.runningCoordinator()
    coordinator.signal(SIGTERM)
    #expect(try coordinator.wait().exitCode == 0)
    try cluster.start()
    #expect(try cluster.status(of: job) == status)
    #expect(try cluster.jobs() == [job, ended])
    #expect(try cluster.submit(["no URL"]) > job)
  }

  @Test func `U18: removed while nothing runs, its jobs are known to the next coordinator`() throws
  {
    let cluster = try Cluster(isStarted: false)
    #expect(try cluster.imgctl("start").exitCode == 0)
    let job = try cluster.run(["no URL"]).job
    try removeData(of: cluster)
    #expect(try cluster.imgctl("stop").exitCode == 0)
    // Its log went as well, and went on in a new file.
    let log = try FileIO.contents(of: cluster.logPath, upTo: 1 << 20)
    #expect(String(decoding: log, as: UTF8.self).contains(Self.sentence))

    try cluster.start()
    #expect(try cluster.status(of: job).failed == 1)
  }

  @Test func `a killed coordinator has lost nothing once it has noticed`() throws {
    let cluster = try Cluster()
    let job = try cluster.run(["no URL"]).job
    try removeData(of: cluster)
    let coordinator = try cluster.runningCoordinator()
    #expect(try eventually { try coordinator.messages().contains(Self.sentence) })
    try cluster.killCoordinator()
    try cluster.start()
    #expect(try cluster.status(of: job).failed == 1)
  }

  @Test
  func `when another coordinator has taken the directory meanwhile, this one says so and ends`()
    throws
  {
    let cluster = try Cluster()
    let first = try cluster.runningCoordinator()
    // So that it does not notice first.
    first.signal(SIGSTOP)
    try removeData(of: cluster)
    let otherSocket = cluster.directory.file("other.sock")
    let (second, message) = try cluster.launch(["--socket", otherSocket])
    try #require(message == StartSignal.ready)
    first.signal(SIGCONT)
    let refused = try cluster.imgctl("submit", try cluster.list(["no URL"]))
    #expect(refused.exitCode == 3)
    let end = try first.wait()
    #expect(end.exitCode == 1)
    #expect(
      end.messages.contains(
        "giving up: its jobs cannot be kept: another coordinator (process \(second.processID)) "
          + "owns the data directory \(cluster.dataDirectory)"))
    #expect(try cluster.imgctl("list", "--socket", otherSocket, "--json").output.isEmpty)
    second.signal(SIGTERM)
    #expect(try second.wait().exitCode == 0)
  }

  @Test func `as long as it cannot be written again, that is shown, and nothing is lost`() throws {
    let cluster = try Cluster()
    try origin.hold("/held")
    let job = try cluster.submit([origin.url("/held")])
    try #require(origin.origin.waitUntil { $0.totals.inFlight == 1 })
    let coordinator = try cluster.runningCoordinator()
    coordinator.signal(SIGSTOP)
    // Its workers go on, and may make the directory anew before the file is there.
    try #require(
      try eventually {
        try removeData(of: cluster)
        return (try? Data("a file".utf8).write(to: URL(filePath: cluster.dataDirectory))) != nil
      })
    coordinator.signal(SIGCONT)
    let refused = try cluster.imgctl("submit", try cluster.list(["no URL"]))
    #expect(refused.exitCode == 3)
    #expect(refused.messages.contains("the data directory \(cluster.dataDirectory) cannot be used"))
    for command in ["pause", "cancel"] {
      let change = try cluster.imgctl(command, "\(job)")
      #expect(change.exitCode == 3)
      #expect(change.messages.contains("the change of job \(job) cannot be written: "))
      #expect(try cluster.status(of: job).state == .running)
    }
    origin.origin.release("/held")
    #expect(try cluster.waitUntil { $0.journalError?.contains(cluster.dataDirectory) == true })

    try removeData(of: cluster)
    let status = try cluster.finished(job)
    #expect(status.total == 1)
    #expect(status.done + status.failed == 1)
    #expect(try cluster.run([origin.url("/p/1")]).done == 1)
    #expect(try cluster.status().journalError == nil)
  }

  @Test func `a lock that was removed is taken again before anybody else can`() throws {
    let cluster = try Cluster()
    try FileManager.default.removeItem(atPath: "\(cluster.dataDirectory)/coordinator.lock")
    #expect(try cluster.run(["no URL"]).failed == 1)
    let (second, message) = try cluster.launch(["--socket", cluster.directory.file("other.sock")])
    let first = try cluster.runningCoordinator().processID
    #expect(message.hasPrefix("another coordinator (process \(first)) owns the data directory"))
    #expect(try second.wait().exitCode == 1)
  }
}
