import FoundationEssentials
import Glibc
import ImgClient
import ImgModel
import ImgSystem
import TestCluster
import TestOrigin
import TestPictures
import Testing

/// A data directory on a disk that is smaller than the budget of the store. Lists that pin would wait for room.
@Suite(
  .timeLimit(.minutes(20)),
  .enabled("a tmpfs of its own needs user namespaces") { try SmallDisk.isAvailable() })
struct TightDiskTests {
  private let cluster: Cluster
  private let origin: ListOrigin
  private let coordinator: Int32
  private let disk: SmallDisk

  private static let kibibytes = 12 << 10

  init() throws {
    cluster = try Cluster(isStarted: false)
    origin = try ListOrigin()
    try FileManager.default.createDirectory(
      atPath: cluster.dataDirectory, withIntermediateDirectories: false)
    disk = SmallDisk(directory: cluster.dataDirectory, kibibytes: Self.kibibytes)
    try cluster.start(on: disk)
    coordinator = try cluster.runningCoordinator().processID
  }

  @Test func `the store keeps within its disk and leaves space for the journal`() throws {
    let status = try cluster.finished(try submitNoise(250))
    #expect([status.done, status.failed] == [250, 0])
    let shown = try cluster.status()
    #expect(shown.journalError == nil)
    #expect(shown.storeError == nil)
    let file = try FileIO.open(readingFrom: path("coordinator.lock"))
    #expect(try DiskSpace(of: file.rawValue).freeByteCount > 0)
    let text = try cluster.imgctl(besides: coordinator, "status").output
    #expect(text.contains("; the budget is 400 MiB, but the disk has no space"))
    #expect(try cluster.imgctl(besides: coordinator, "cache", "verify").exitCode == 0)
    #expect(try cluster.client().status().workers.map(\.deaths) == [0, 0])
  }

  @Test func `on a full disk, jobs can change and end, and a reset frees space`()
    throws
  {
    _ = try cluster.finished(try submitNoise(50))
    let held = try origin.holdPictures(8)
    let job = try cluster.submit(held.map(origin.url) + origin.pictures(100), "--no-pin")
    try #require(origin.origin.waitUntil { $0.totals.inFlight == held.count })
    try fillDisk()

    #expect(try cluster.imgctl("pause", "\(job)").exitCode == 0)
    #expect(try cluster.imgctl("resume", "\(job)").exitCode == 0)
    origin.release(held)
    let ended = try cluster.finished(job)
    #expect(ended.done + ended.failed == 108)
    #expect(try cluster.imgctl("remove", "\(job)").exitCode == 0)
    // What is reserved is for jobs that were accepted.
    let long = (0..<30_000).map { origin.url("/none/\($0)/" + String(repeating: "x", count: 150)) }
    let refused = try cluster.imgctl("submit", try cluster.list(long))
    #expect(refused.exitCode == 3)
    #expect(refused.messages.contains("the list cannot be written: the journal in "))
    #expect(refused.messages.contains("free space on it, for example with imgctl cache reset"))

    #expect(try cluster.imgctl(besides: coordinator, "cache", "reset").exitCode == 0)
    let last = try cluster.run(origin.pictures(20))
    #expect([last.done, last.failed] == [20, 0])
    #expect(try cluster.imgctl(besides: coordinator, "cache", "verify").exitCode == 0)
  }

  // MARK: - Lists and disks

  /// Pictures whose thumbnails have about 100 KB each.
  private func submitNoise(_ count: Int) throws -> JobID {
    let noise = try PictureMaker.start().noise(seed: 1, width: 400, height: 400)
    for number in 0..<count { origin.origin.serve("/noise/\(number)", .body(noise)) }
    return try cluster.submit(
      (0..<count).map { origin.url("/noise/\($0)") }, "--no-pin", "--size", "400")
  }

  private func path(_ name: String) -> String { disk.path(name, seenBy: coordinator) }

  /// Makes a file that grows until the disk has not even a page left.
  private func fillDisk() throws {
    let file = try FileIO.create(path("ballast"))
    for byteCount in [1 << 20, 4_096] {
      let zeros = [UInt8](repeating: 0, count: byteCount)
      let error = #expect(throws: SystemError.self) {
        while true { try FileIO.writeAll(file.rawValue, zeros) }
      }
      try #require(error?.code == ENOSPC)
    }
  }
}
