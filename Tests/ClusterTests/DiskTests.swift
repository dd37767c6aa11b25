import FoundationEssentials
import Glibc
import ImgClient
import ImgModel
import ImgSystem
import TestCluster
import TestFiles
import TestOrigin
import TestPictures
import Testing

/// Disks that cannot be written.
@Suite(.timeLimit(.minutes(20))) struct DiskTests {
  @Test func `start reports a data directory that cannot be created`() throws {
    let cluster = try Cluster(dataDirectory: "/dev/null/data", isStarted: false)
    let (run, reason) = try cluster.launch()
    #expect(reason.contains("the data directory /dev/null/data cannot be used"))
    #expect(reason.contains("Not a directory"))
    #expect(reason.hasSuffix("; name another --data-dir"))
    #expect(try run.wait().exitCode == 1)

    let submit = try cluster.imgctl("submit", try cluster.list(["http://example.org/"]))
    #expect(submit.exitCode == 3)
    #expect(submit.messages.contains("the data directory /dev/null/data cannot be used"))
    let get = try cluster.imgctl("get", "http://example.org/")
    #expect(get.exitCode != 0)
    #expect(get.messages.contains("/dev/null/data"))
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
    try #require(cluster.waitUntil { $0.workers.contains { $0.state == .ready } })
    let status = try cluster.imgctl(besides: coordinator, "status")
    #expect(status.output.contains(" of 16.0 MiB"), "\(status.output)")
  }

  @Test func `if the journal cannot grow, status shows the error and no outcome is lost`() throws {
    let cluster = try Cluster(isStarted: false)
    let count = 3_000
    try cluster.start(fileKibibytes: 192)
    let job = try cluster.submit((0..<count).map { "bad line \($0)" })
    #expect(try cluster.waitUntil { $0.journalError?.contains(cluster.dataDirectory) == true })
    #expect(try cluster.imgctl("status").output.contains("ERROR"))
    let refused = try cluster.imgctl("submit", try cluster.list(["another bad line"]))
    #expect(refused.exitCode == 2)
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

/// A disk that fills up while a job runs, and has room again later. A list that pins would wait for room.
@Suite(.timeLimit(.minutes(20))) struct FillUpTests {
  private let cluster: Cluster
  private let origin = ListOrigin()

  private static let pictureCount = 600

  init() throws {
    cluster = try Cluster(isStarted: false)
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

  @Test(
    .enabled("a tmpfs of its own needs user namespaces") { try SmallDisk.isAvailable() })
  func `a list that pins waits while the disk is full, with the disk as the reason`() throws {
    try FileManager.default.createDirectory(
      atPath: cluster.dataDirectory, withIntermediateDirectories: false)
    let disk = SmallDisk(directory: cluster.dataDirectory, kibibytes: 16 << 10)
    try cluster.start(on: disk)
    try #require(try eventually { try cluster.readyWorkers().count == 2 })
    let ballast = disk.path("ballast", seenBy: try cluster.runningCoordinator().processID)
    try fill(ballast, leavingKibibytes: 500)
    let job = try cluster.submit(origin.pictures(3))
    let reason = "the disk of \(cluster.dataDirectory)/store/thumbnails is full; free space on it"
    #expect(try eventually { try cluster.status(of: job).wait?.detail == reason })
    #expect(try cluster.status(of: job).failed == 0)
    #expect(
      try cluster.runningCoordinator().messages().contains(
        "jobs wait for room in the store: \(reason)"))
    try FileManager.default.removeItem(atPath: ballast)
    #expect(try cluster.finished(job).done == 3)
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
  private func expectFull(_ status: ImageJob) throws {
    #expect(status.done + status.failed == Self.pictureCount)
    let codes = Set(try cluster.failures(of: status.job).values)
    #expect(codes.subtracting([Failure.Code.storeFull.rawValue]) == [])
    #expect(try cluster.client().answer(.status).workers.map(\.deaths) == [0, 0])
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
    #expect(try cluster.client().answer(.status).workers.map(\.deaths) == [0, 0])
    let verification = try cache("verify")
    #expect(verification.exitCode == 0, "\(verification)")
    let listed = try cache("ls")
    #expect(listed.lines.count == Self.pictureCount)
  }
}

/// A data directory on a disk that is smaller than the budget of the store. Lists that pin would wait for room.
@Suite(
  .timeLimit(.minutes(20)),
  .enabled("a tmpfs of its own needs user namespaces") { try SmallDisk.isAvailable() })
struct TightDiskTests {
  private let cluster: Cluster
  private let origin = ListOrigin()
  private let coordinator: Int32
  private let disk: SmallDisk

  private static let kibibytes = 12 << 10

  init() throws {
    cluster = try Cluster(isStarted: false)
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
    #expect(text.contains("; the disk has room for "))
    #expect(text.contains(/records, [0-9.]+ MiB; the disk/), "the room is told once: \(text)")
    #expect(text.contains(" of the store's budget of 400 MiB"))
    #expect(try cluster.runningCoordinator().messages().contains("the disk is short of space: "))
    let held = origin.holdPictures(1)
    let job = try cluster.submit(origin.pictures(1) + held.map(origin.url))
    _ = try cluster.client().watch(job, every: .milliseconds(100)) { $0.done == 0 }
    let cancel = try cluster.imgctl(besides: coordinator, "cancel", "\(job)")
    #expect(cancel.messages.contains("the store is full, and may evict what the job has made"))
    origin.release(held)
    #expect(try cluster.imgctl(besides: coordinator, "cache", "verify").exitCode == 0)
    #expect(try cluster.client().answer(.status).workers.map(\.deaths) == [0, 0])
  }

  @Test func `on a full disk, jobs can change and end, and a reset frees space`() throws {
    _ = try cluster.finished(try submitNoise(50))
    let held = origin.holdPictures(8)
    let job = try cluster.submit(held.map(origin.url) + origin.pictures(100), "--no-pin")
    try #require(origin.origin.waitUntil { $0.totals.inFlight == held.count })
    try fillDisk()

    let shown = try cluster.imgctl(besides: coordinator, "status").output
    #expect(
      shown.contains(
        " free in \(cluster.dataDirectory): long lists are refused until there is more\n"),
      "\(shown)")
    let json = try cluster.imgctl(besides: coordinator, "status", "--json").output
    #expect(json.contains("\"journal_free_bytes\":"), "\(json)")
    let set = try cluster.imgctl(besides: coordinator, "config", "set", "transfers", "5")
    #expect(set.exitCode == 2)
    let sentence =
      "cannot be kept in \(cluster.dataDirectory)/settings.json, and nothing was changed: "
    #expect(set.messages.contains(sentence))
    #expect(try cluster.status().limits.transfers == 64)
    #expect(try cluster.imgctl("pause", "\(job)").exitCode == 0)
    #expect(try cluster.imgctl("resume", "\(job)").exitCode == 0)
    origin.release(held)
    let ended = try cluster.finished(job)
    #expect(ended.done + ended.failed == 108)
    #expect(try cluster.imgctl("remove", "\(job)").exitCode == 0)
    // What is reserved is for jobs that were accepted.
    let long = (0..<30_000).map { origin.url("/none/\($0)/" + String(repeating: "x", count: 150)) }
    let refused = try cluster.imgctl("submit", try cluster.list(long))
    #expect(refused.exitCode == 2)
    #expect(refused.messages.contains("the list cannot be written: the disk of the journal in "))
    #expect(refused.messages.contains("imgctl cache reset removes all thumbnails, also pinned"))

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
