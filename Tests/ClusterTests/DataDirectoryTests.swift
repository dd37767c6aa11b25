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

/// Parts of the data directory that are removed while a coordinator runs, as those of any cache may
/// be.
@Suite(.timeLimit(.minutes(20))) struct DataDirectoryTests {
  private let origin = ListOrigin(headerDelay: .milliseconds(5))

  /// Removes the data directory as a person would. A process that writes there meanwhile may make
  /// `rm` leave something, and say so.
  ///
  /// - Parameter part: a directory or file in it that is removed instead of all.
  private func removeData(of cluster: Cluster, part: String = "") throws {
    let run = try ProgramRun(
      "/bin/rm", ["-rf", cluster.dataDirectory + part], environment: cluster.environment,
      in: cluster.directory)
    try #require(try run.wait().status != nil)
  }

  private static let sentence = "had been removed; it is there again"

  @Test func `a store that is removed under load costs no job, no line and no get`() throws {
    let cluster = try Cluster()
    let job = try cluster.submit(origin.pictures(600))
    for count in [100, 300] {
      try #require(origin.origin.waitUntil { $0.totals.requests >= count })
      try removeData(of: cluster, part: "/store/thumbnails")
    }
    let status = try cluster.finished(job)
    #expect(status.total == 600)
    #expect(status.done == 600)
    #expect(try cluster.client().answer(.status).workers.map(\.deaths) == [0, 0])
    // The first picture went with the store.
    #expect(try cluster.imgctl("get", origin.url("/p/0")).exitCode == 0)
    #expect(origin.origin.counters("/p/0").requests == 2)
    #expect(FileManager.default.fileExists(atPath: cluster.storeDirectory))
  }

  @Test(arguments: ["", "/store", "/journal"])
  func `what is removed under load is made again, and costs no job, no line and no get`(
    part: String
  ) throws {
    let cluster = try Cluster()
    let ended = try cluster.run(["no URL"]).job
    let coordinator = try cluster.runningCoordinator()
    let job = try cluster.submit(origin.pictures(1_000))
    for count in [100, 400] {
      try #require(origin.origin.waitUntil { $0.totals.requests >= count })
      try removeData(of: cluster, part: part)
    }
    let status = try cluster.finished(job)
    #expect(status.done == 1_000, "\(status)")
    #expect(try cluster.imgctl("get", origin.url("/p/0")).exitCode == 0)
    #expect(try cluster.client().coordinatorProcessID == coordinator.processID)
    #expect(try coordinator.messages().contains(Self.sentence))
    #expect(try cluster.client().answer(.status).settings.allowedNetworks == ["127.0.0.0/8"])

    coordinator.signal(SIGTERM)
    #expect(try coordinator.wait().exitCode == 0)
    try cluster.start()
    #expect(try cluster.jobs().sorted() == [ended, job])
  }

  @Test func `jobs are state and survive the cache; an earlier layout is taken over`() throws {
    let cluster = try Cluster(["DATA_DIR": ""], isStarted: false)
    let cache = cluster.directory.file(".cache/imgctl")
    let state = cluster.directory.file(".local/state/imgctl")
    let (earlier, message) = try cluster.launch(["--data-dir", cache])
    try #require(message == ReadinessMessage.ready)
    let job = try cluster.run([origin.url("/p/1")]).job
    let (refused, reason) = try cluster.launch()
    #expect(try refused.wait().exitCode == 1)
    #expect(reason.contains("(process \(earlier.processID)) owns the cache directory \(cache)"))
    #expect(
      reason.contains(
        ", end it with imgctl --socket \(cluster.socketPath) stop, or name another --cache"))
    earlier.signal(SIGTERM)
    #expect(try earlier.wait().exitCode == 0)

    try cluster.start()
    #expect(try cluster.jobs() == [job])
    #expect(try cluster.imgctl("get", origin.url("/p/1")).exitCode == 0)
    #expect(origin.origin.counters("/p/1").requests == 1)
    let coordinator = try cluster.runningCoordinator()
    #expect(
      try coordinator.messages().contains(
        "the jobs of an earlier version in \(cache)/journal were moved to \(state)/journal"))
    #expect(try cluster.imgctl("status").output.contains("cache        \(cache)\n"))

    let next = try cluster.submit(origin.pictures(300))
    try #require(origin.origin.waitUntil { $0.totals.requests >= 100 })
    for name in [".cache", ".local/state/imgctl"] { try cluster.directory.remove(name) }
    #expect(try cluster.finished(next).done == 300)
    #expect(try cluster.jobs() == [next, job])
    #expect(coordinator.isRunning)
  }

  @Test func `a removal while the coordinator drains costs no job`() throws {
    let cluster = try Cluster()
    let job = try cluster.run(["no URL"]).job
    let coordinator = try cluster.runningCoordinator()
    // So that the coordinator does not notice first.
    coordinator.signal(SIGSTOP)
    try removeData(of: cluster)
    coordinator.signal(SIGTERM)
    coordinator.signal(SIGCONT)
    #expect(try coordinator.wait().exitCode == 0)
    try cluster.start()
    #expect(try cluster.jobs() == [job])
  }

  @Test func `a directory that cannot be made again ends the coordinator, which says why`() throws {
    let cluster = try Cluster()
    let coordinator = try cluster.runningCoordinator()
    let client = try cluster.client()
    // So that it does not notice first.
    coordinator.signal(SIGSTOP)
    try removeData(of: cluster)
    let link = cluster.dataDirectory
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "elsewhere")
    coordinator.signal(SIGCONT)
    let reason =
      "the data directory \(cluster.dataDirectory), or its journal, was removed or replaced while "
      + "the coordinator ran, and cannot be made again"
    var list: ListLines? = ["no URL"]
    let error = #expect(throws: ClientError.self) {
      try client.submit(name: nil, options: RequestOptions(variant: .standard)) {
        defer { list = nil }
        return list
      }
    }
    #expect(error?.description.contains(reason) == true)
    let end = try coordinator.wait()
    #expect(end.exitCode == 1)
    #expect(end.messages.contains("giving up: \(reason)"))
    try FileManager.default.removeItem(atPath: link)
    try cluster.start()
    #expect(try cluster.run([origin.url("/p/1")]).done == 1)
  }

  @Test func `a coordinator takes over the store of an earlier release, and says so`() throws {
    let cluster = try Cluster()
    #expect(try cluster.run([origin.url("/p/1")]).done == 1)
    let first = try cluster.runningCoordinator()
    first.signal(SIGTERM)
    #expect(try first.wait().exitCode == 0)
    for name in ["data.mdb", "lock.mdb", "access"] {
      try Directory.move(
        "\(cluster.storeDirectory)/\(name)", to: "\(cluster.dataDirectory)/store/\(name)")
    }
    try cluster.start()
    #expect(try cluster.imgctl("get", origin.url("/p/1")).exitCode == 0)
    #expect(origin.origin.counters("/p/1").requests == 1)
    let second = try cluster.runningCoordinator()
    second.signal(SIGTERM)
    #expect(
      try second.wait().messages.contains(
        "the store of an earlier version in \(cluster.dataDirectory)/store was moved to "
          + cluster.storeDirectory))
  }

  @Test func `a log that was removed with the directory is written again`() throws {
    let cluster = try Cluster(isStarted: false)
    #expect(try cluster.imgctl("start").exitCode == 0)
    try removeData(of: cluster)
    #expect(
      try eventually {
        let log = (try? FileIO.contents(of: cluster.logPath, upTo: 1 << 20)) ?? []
        return String(decoding: log, as: UTF8.self).contains(Self.sentence)
      })
  }

  @Test func `when another coordinator has taken the directory, the first one ends`() throws {
    let cluster = try Cluster()
    let first = try cluster.runningCoordinator()
    // So that it does not notice first.
    first.signal(SIGSTOP)
    try removeData(of: cluster)
    let otherSocket = cluster.directory.file("other.sock")
    let (second, message) = try cluster.launch(["--socket", otherSocket])
    try #require(message == ReadinessMessage.ready)
    first.signal(SIGCONT)
    #expect(try first.wait().exitCode == 1)
    let job = try cluster.imgctl("submit", try cluster.list(["no URL"]), "--socket", otherSocket)
    #expect(job.exitCode == 0)
    second.signal(SIGTERM)
    #expect(try second.wait().exitCode == 0)
  }
}

/// A control socket that is removed while its coordinator runs, as the end of a login session does.
@Suite(.timeLimit(.minutes(20))) struct SocketRemovalTests {
  private let origin = ListOrigin()

  private static let sentence = "had been removed; it is there again"

  /// A cluster whose socket has a directory of its own.
  private func cluster() throws -> (cluster: Cluster, directory: String) {
    let cluster = try Cluster(socketName: "runtime/control.sock")
    return (cluster, cluster.directory.file("runtime"))
  }

  @Test func `a removed socket is recreated with its directory`() throws {
    let (cluster, directory) = try cluster()
    origin.hold("/held")
    let early = try cluster.client()
    let job = try cluster.submit([origin.url("/held")] + origin.pictures(5))
    try FileManager.default.removeItem(atPath: directory)
    let coordinator = try cluster.runningCoordinator()
    #expect(try eventually { try coordinator.messages().contains(Self.sentence) })
    #expect(try Directory.requireExclusive(directory) == ThisProcess.userID)
    #expect(try early.answer(.status).processID == coordinator.processID)
    #expect(try cluster.status().processID == coordinator.processID)
    origin.origin.release("/held")
    #expect(try cluster.finished(job).done == 6)
    #expect(try cluster.imgctl("stop").exitCode == 0)
    #expect(try coordinator.wait().exitCode == 0)
    #expect(!FileManager.default.fileExists(atPath: cluster.socketPath))
  }

  /// Its sandbox permits all below /tmp, so the directory is elsewhere.
  @Test(.enabled(if: ThisProcess.userID == 0, "only root makes a directory in /run"))
  func `a socket is recreated after a logout has removed the directory around its own`() throws {
    let place = "/run/imgctl-test-\(UUID())"
    let login = "\(place)/login"
    defer { try? FileManager.default.removeItem(atPath: place) }
    try Directory.create(login, mode: 0o700)
    let cluster = try Cluster(
      ["SOCKET": "\(login)/imgctl/control.sock"], variables: ["XDG_RUNTIME_DIR": login])
    let coordinator = try cluster.runningCoordinator()
    try FileManager.default.removeItem(atPath: login)
    #expect(try eventually { try coordinator.messages().contains(Self.sentence) })
    #expect(try cluster.status().processID == coordinator.processID)
    #expect(try cluster.imgctl("stop").exitCode == 0)
    #expect(try coordinator.wait().exitCode == 0)
  }

  @Test(arguments: [["start"], ["remove", "--older-than", "0s"]])
  func `a command that may start a coordinator waits for the new socket`(command: [String]) throws {
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

  @Test func `what is read without a coordinator is known for a copy, or for that of a service`()
    throws
  {
    let (cluster, _) = try cluster()
    let job = try cluster.submit(["http://192.0.2.1/a"], "--delay", "1h")
    #expect(try cluster.imgctl("stop").exitCode == 0)
    #expect(FileLock.holder(path: "\(cluster.dataDirectory)/coordinator.lock") == nil)
    let copy = cluster.directory.file("copy")
    try FileManager.default.copyItem(atPath: cluster.dataDirectory, toPath: copy)
    let listed = try cluster.imgctl("list", "--data-dir", copy)
    #expect(
      listed.messages.contains("this is a copy of \(cluster.dataDirectory): start no coordinator"))
    #expect(try cluster.imgctl("list").messages.contains("imgctl start continues it"))
    let list = try cluster.list(["no URL"])
    for command in [["wait", "\(job)"], ["submit", list], ["status"]] {
      let refused = try cluster.begin(command + ["--data-dir", copy]).wait()
      #expect(refused.exitCode == 3)
      #expect(
        refused.messages
          == "imgctl: no coordinator runs for \(copy), which is a copy of \(cluster.dataDirectory); only imgctl "
          + "--data-dir \(copy) start starts one in a copy, because both would fetch the same URLs\n"
      )
    }
    let asked = try cluster.imgctl("start", "--data-dir", copy)
    #expect(asked.exitCode == 0)
    #expect(asked.messages.contains("; this was a copy of \(cluster.dataDirectory): its "))
    #expect(try cluster.imgctl("stop", "--data-dir", copy).exitCode == 0)

    let service = [
      "--socket", "/run/imgctl-none/control.sock", "--data-dir", cluster.dataDirectory,
    ]
    for command in ["remove", "cancel"] {
      let unknown = try cluster.begin([command, "99"] + service).wait()
      #expect(unknown.messages.contains("there is no job 99"), "\(unknown.messages)")
      let known = try cluster.begin([command, "\(job)"] + service).wait()
      #expect(known.exitCode == 3 && known.messages.contains("systemctl start imgcoordinator"))
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
    #expect(try eventually { (try? cluster.client())?.coordinatorProcessID == first.processID })
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
