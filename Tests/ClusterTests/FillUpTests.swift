import FoundationEssentials
import Glibc
import ImgClient
import ImgModel
import ImgSystem
import TestCluster
import TestOrigin
import Testing

/// A disk that fills up while a job runs, and has room again later. A list that pins would wait for room.
@Suite(.timeLimit(.minutes(20)))
struct FillUpTests {
  private let cluster: Cluster
  private let origin: ListOrigin

  private static let pictureCount = 600

  init() throws {
    cluster = try Cluster(isStarted: false)
    origin = try ListOrigin()
  }

  @Test func `a retry fetches pictures that found the store full`()
    throws
  {
    try cluster.start(fileKibibytes: 600)
    let job = try cluster.submit(origin.pictures(Self.pictureCount), "--no-pin")
    try expectFull(try cluster.finished(job))
    try cluster.liftFileLimit()
    try expectAllDone(job) { try cluster.imgctl("cache", $0) }
  }

  /// Journal and store share the disk, so that the journal may be what finds no room.
  @Test(
    .enabled("a tmpfs of its own needs user namespaces") { try SmallDisk.isAvailable() })
  func `a job on a disk that fills up loses nothing and finishes when there is space`() throws {
    try FileManager.default.createDirectory(
      atPath: cluster.dataDirectory, withIntermediateDirectories: false)
    let disk = SmallDisk(directory: cluster.dataDirectory, kibibytes: 16 << 10)
    try cluster.start(on: disk)
    try #require(try eventually { try cluster.readyWorkers().count == 2 })
    let processID = try cluster.runningCoordinator().processID
    let ballast = disk.path("ballast", seenBy: processID)
    try fill(ballast, leavingKibibytes: 500)
    let job = try cluster.submit(origin.pictures(Self.pictureCount), "--no-pin")
    // Either the job ends without some thumbnails, or the journal waits for room.
    var isEnded = false
    try #require(
      try eventually {
        isEnded = try cluster.status(of: job).state == .finished
        return try isEnded || cluster.status().journalError != nil
      })
    if isEnded { #expect(try cluster.status(of: job).failed > 0) }
    try FileManager.default.removeItem(atPath: ballast)
    try expectFull(try cluster.finished(job))
    try expectAllDone(job) { try cluster.imgctl(besides: processID, "cache", $0) }
  }

  // MARK: - Room

  /// Makes a file that takes what a file system has but for so much.
  private func fill(_ path: String, leavingKibibytes: Int) throws {
    let file = try FileIO.create(path)
    var status = statvfs()
    try #require(unsafe fstatvfs(file.rawValue, &status) == 0)
    let freeByteCount = Int(status.f_bavail * status.f_frsize)
    try #require(freeByteCount > leavingKibibytes << 10)
    let code = posix_fallocate(file.rawValue, 0, off_t(freeByteCount - leavingKibibytes << 10))
    try #require(code == 0)
  }

  // MARK: - Checks

  /// Expects an outcome for every line, and `store_full` as the only reason for a missing
  /// thumbnail.
  private func expectFull(_ status: JobStatus) throws {
    #expect(status.done + status.failed == Self.pictureCount)
    let codes = Set(try cluster.failures(of: status.job).values)
    #expect(codes.subtracting([Failure.Code.storeFull.rawValue]) == [])
    #expect(try cluster.client().status().workers.map(\.deaths) == [0, 0])
  }

  /// Expects that a retry makes every thumbnail, and that all are in a sound store.
  ///
  /// - Parameter cache: runs a subcommand of `imgctl cache` where the store is seen.
  private func expectAllDone(_ job: JobID, _ cache: (String) throws -> ProgramResult) throws {
    if try cluster.status(of: job).failed > 0 {
      #expect(try cluster.imgctl("retry", "\(job)").exitCode == 0)
    }
    let status = try cluster.finished(job)
    #expect(status.done == Self.pictureCount)
    #expect(status.failed == 0)
    #expect(try cluster.client().status().workers.map(\.deaths) == [0, 0])
    let verification = try cache("verify")
    #expect(verification.exitCode == 0, "\(verification)")
    let listed = try cache("ls")
    #expect(listed.lines.count == Self.pictureCount)
  }
}
