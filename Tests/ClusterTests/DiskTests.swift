import FoundationEssentials
import Glibc
import ImgClient
import ImgModel
import ImgSystem
import TestCluster
import TestFiles
import TestOrigin
import Testing

/// Disks that cannot be written.
@Suite(.timeLimit(.minutes(20)))
struct DiskTests {
  @Test func `start reports a data directory that cannot be created`() throws {
    let cluster = try Cluster(dataDirectory: "/dev/null/data", isStarted: false)
    let (run, reason) = try cluster.launch()
    #expect(reason.contains("the data directory /dev/null/data cannot be used"))
    #expect(reason.contains("Not a directory"))
    #expect(try run.wait().exitCode == 1)

    let submit = try cluster.imgctl("submit", try cluster.list(["http://example.org/"]))
    #expect(submit.exitCode == 3)
    #expect(submit.messages.contains("the data directory /dev/null/data cannot be used"))
    let get = try cluster.imgctl("get", "http://example.org/")
    #expect(get.exitCode != 0)
    #expect(get.messages.contains("/dev/null/data"))
  }

  @Test func `start reports a socket directory that cannot be created`() throws {
    let cluster = try Cluster(isStarted: false)
    let (run, reason) = try cluster.launch(["--socket", "/dev/null/control.sock"])
    #expect(reason.contains("the control socket /dev/null/control.sock cannot be opened"))
    #expect(try run.wait().exitCode == 1)
  }

  // A limit of the size of files (RLIMIT_FSIZE) stands in for a full disk. It is crueller: by
  // default the kernel kills a process that writes beyond it (SIGXFSZ, setrlimit(2)).

  @Test func `start reports the reason why the journal cannot be created`() throws {
    let cluster = try Cluster(isStarted: false)
    let (run, reason) = try cluster.launch(fileKibibytes: 4)
    #expect(reason.contains("\(cluster.dataDirectory)/journal"))
    #expect(try run.wait().exitCode == 1)
  }

  @Test(.enabled("a tmpfs of its own needs user namespaces") { try SmallDisk.isAvailable() })
  func `an automatic store budget is a quarter of the disk that the store is linked to`() throws {
    let cluster = try Cluster(["STORE_BUDGET": "auto"], isStarted: false)
    let mountPoint = cluster.directory.file("disk")
    for directory in [cluster.dataDirectory, mountPoint] {
      try Directory.createPrivate(directory)
    }
    try FileManager.default.createSymbolicLink(
      atPath: "\(cluster.dataDirectory)/store", withDestinationPath: mountPoint)
    try cluster.start(on: SmallDisk(directory: mountPoint, kibibytes: 64 << 10))
    let coordinator = try cluster.runningCoordinator().processID
    let status = try cluster.imgctl(besides: coordinator, "status")
    #expect(status.output.contains(" of 16.0 MiB"), "\(status.output)")
  }

  @Test func `when the store cannot grow, jobs end with store_full and workers survive`() throws {
    let cluster = try Cluster(isStarted: false)
    let origin = try ListOrigin()
    try cluster.start(fileKibibytes: 600)
    let status = try cluster.run(origin.pictures(600))
    #expect(status.total == 600)
    #expect(status.done > 0)
    #expect(status.failed > 0)
    #expect(status.done + status.failed == 600)
    let codes = Set(try cluster.failures(of: status.job).values)
    #expect(codes == [Failure.Code.storeFull.rawValue])
    #expect(try cluster.client().status().workers.map(\.deaths) == [0, 0])
  }

  @Test func `when the journal cannot grow, status shows the error and no outcome is lost`()
    throws
  {
    let cluster = try Cluster(isStarted: false)
    let count = 3_000
    try cluster.start(fileKibibytes: 192)
    let job = try cluster.submit((0..<count).map { "bad line \($0)" })
    #expect(try cluster.waitUntil { $0.journalError?.contains(cluster.dataDirectory) == true })
    #expect(try cluster.imgctl("status").output.contains("ERROR"))
    let refused = try cluster.imgctl("submit", try cluster.list(["another bad line"]))
    #expect(refused.exitCode == 3)
    #expect(refused.messages.hasPrefix("imgctl: the list cannot be written: "))

    // A change ends, made or refused, although outcomes wait for room.
    let change = try cluster.imgctl("priority", "\(job)", "2")
    #expect(change.exitCode == 0 || change.messages.contains("cannot be written: "), "\(change)")

    // Nothing runs, and no process waits for the disk.
    let coordinator = try cluster.runningCoordinator()
    coordinator.signal(SIGTERM)
    #expect(try coordinator.wait().exitCode == 0)

    try cluster.start()
    let status = try cluster.finished(job)
    #expect(status.total == count)
    #expect(status.failed == count)
    #expect(try cluster.failures(of: job).count == count)
  }
}
