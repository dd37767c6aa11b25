import FoundationEssentials
import ImgModel
import ImgSystem
import TestCluster
import TestFiles
import TestOrigin
import Testing

/// What the journal's files hold: no more than they must, and what is damaged is told.
@Suite(.timeLimit(.minutes(20)))
struct JournalUpkeepTests {
  private let origin: ListOrigin

  init() throws {
    origin = try ListOrigin()
  }

  private func journalFile(of cluster: Cluster) -> URL {
    URL(filePath: "\(cluster.dataDirectory)/journal/data.mdb")
  }

  /// The files of the data directory whose bytes hold a text.
  private func files(of cluster: Cluster, with text: String) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: cluster.dataDirectory).filter { name in
      let bytes = FileManager.default.contents(atPath: "\(cluster.dataDirectory)/\(name)")
      return bytes?.firstRange(of: Data(text.utf8)) != nil
    }
  }

  /// Changes a bit of each place in the journal's file that holds a text.
  private func damage(_ text: String, of cluster: Cluster) throws {
    var bytes = try Data(contentsOf: journalFile(of: cluster))
    var start = bytes.startIndex
    while let found = bytes[start...].firstRange(of: Data(text.utf8)) {
      bytes[found.lowerBound] ^= 1
      start = found.upperBound
    }
    try bytes.write(to: journalFile(of: cluster))
  }

  @Test func `header values survive a crash and are erased with their job`() throws {
    let secret = "c2VjcmV0IG9mIGEgam9i"
    let cluster = try Cluster.inOrder()
    try origin.hold("/held")
    let list = try cluster.list([origin.url("/held"), origin.url("/p/1")])
    let submitted = try cluster.imgctl("submit", list, "--header", "Authorization: \(secret)")
    let job = try #require(submitted.lines.first.flatMap(JobID.init))
    try #require(origin.origin.waitUntil { $0.totals.inFlight == 1 })
    #expect(try files(of: cluster, with: secret) == ["journal/headers/\(job)"])
    try cluster.killCoordinator()
    origin.release(["/held"])
    try cluster.start()
    #expect(try cluster.imgctl("wait", "\(job)").exitCode == 0)
    #expect(origin.origin.counters("/p/1").headersSeen["authorization"] == secret)

    #expect(try cluster.imgctl("remove", "\(job)").exitCode == 0)
    #expect(try files(of: cluster, with: secret) == [])
  }

  @Test func `only jobs that ended long ago are removed`() throws {
    let cluster = try Cluster(["KEEP_JOBS": "1s"])
    try origin.hold("/held")
    let waiting = try cluster.submit([origin.url("/held")])
    let ended = try cluster.run(["no URL"]).job
    try #require(try eventually { try cluster.jobs() == [waiting] })
    let log = try cluster.runningCoordinator().messages()
    #expect(log.contains("job \(ended): removed, because of --keep-jobs"))
    #expect(try cluster.imgctl("status", "\(ended)").exitCode == 2)
  }

  @Test func `removing a job frees its disk space`() throws {
    let cluster = try Cluster()
    let lines = (0..<3_000).map { "no URL \($0)" + String(repeating: "x", count: 4_000) }
    let job = try cluster.run(lines).job
    let kept = try cluster.run(["no URL"]).job
    func byteCount() throws -> Int { try Data(contentsOf: journalFile(of: cluster)).count }
    #expect(try byteCount() > 8 << 20)
    #expect(try cluster.imgctl("remove", "\(job)").exitCode == 0)
    #expect(try eventually { try byteCount() < 2 << 20 })
    try cluster.killCoordinator()
    try cluster.start()
    #expect(try cluster.jobs() == [kept])
    #expect(try cluster.status(of: kept).failed == 1)
  }

  @Test func `the lines of a damaged list fail, and other jobs continue`() throws {
    let cluster = try Cluster.inOrder(["TRANSFERS": "1"])
    try origin.hold("/held")
    let first = try cluster.submit([origin.url("/held")])
    try #require(origin.origin.waitUntil { $0.totals.inFlight == 1 })
    let damaged = try cluster.submit([origin.url("/p/1"), origin.url("/p/3")])
    let sound = try cluster.submit([origin.url("/p/2")])
    try cluster.killCoordinator()
    try damage(origin.url("/p/1"), of: cluster)
    origin.release(["/held"])
    try cluster.start()
    let status = try cluster.finished(damaged)
    #expect([status.total, status.failed, status.done] == [2, 2, 0])
    let failures = try cluster.imgctl("failures", "\(damaged)").lines
    #expect(failures.count == 2 && failures.allSatisfy { $0.hasPrefix("internal") })
    #expect(try cluster.finished(sound).done == 1)
    #expect(try cluster.finished(first).done == 1)
    #expect(Set(origin.origin.startOrder()) == ["/held", "/p/2"])
  }

  @Test func `a journal that cannot be opened can be extracted and replaced`() throws {
    let cluster = try Cluster()
    let lines = origin.pictures(5) + ["no URL"]
    let job = try cluster.run(lines).job
    try cluster.killCoordinator()
    let journal = "\(cluster.dataDirectory)/journal"
    var bytes = try Data(contentsOf: journalFile(of: cluster))
    for offset in 0..<8_192 { bytes[offset] = 0x55 }
    try bytes.write(to: journalFile(of: cluster))
    let (refused, message) = try cluster.launch()
    #expect(message.contains("is damaged; run imgctl recover \(journal) DIR"))
    #expect(try refused.wait().exitCode == 1)

    let output = cluster.directory.file("jobs")
    let result = try cluster.imgctl("recover", journal, output)
    #expect(result.messages.contains("job \(job) (finished): 6 of 6 lines, 6 outcomes"))
    #expect(result.exitCode == 0)
    let list = try FileIO.contents(of: "\(output)/job-\(job).txt", upTo: 1 << 20)
    #expect(list == Array(lines.map { $0 + "\n" }.joined().utf8))
    let outcomes = try FileIO.contents(of: "\(output)/job-\(job).jsonl", upTo: 1 << 20)
    #expect(String(decoding: outcomes, as: UTF8.self).contains("invalid_url"))

    try FileManager.default.moveItem(atPath: journal, toPath: journal + ".damaged")
    try cluster.start()
    let again = try #require(
      try cluster.imgctl("submit", "\(output)/job-\(job).txt").lines.first.flatMap(JobID.init))
    #expect(try cluster.finished(again).fromCache == 5)
  }

  @Test func `an extracted list contains its passwords, readable only by its owner`() throws {
    let cluster = try Cluster()
    let line = origin.url("/p/1").replacing("http://", with: "http://ada:1234567890@")
    let missing = line.replacing("/p/1", with: "/missing/1")
    let job = try cluster.run([line, missing]).job
    try cluster.killCoordinator()
    let output = cluster.directory.file("jobs")
    let names = ["\(output)/job-\(job).txt", "\(output)/job-\(job).jsonl"]
    try FileManager.default.createDirectory(
      atPath: output, withIntermediateDirectories: false)
    for name in names { try Data().write(to: URL(filePath: name)) }
    let result = try cluster.imgctl("recover", "\(cluster.dataDirectory)/journal", output, "--json")
    #expect(result.exitCode == 0)
    let texts = try names.map {
      String(decoding: try FileIO.contents(of: $0, upTo: 1 << 20), as: UTF8.self)
    }
    #expect(texts[0] == "\(line)\n\(missing)\n")
    #expect(texts[1].contains("ada:***@"))
    for text in [texts[1], result.output, result.messages] {
      #expect(!text.contains("1234567890"))
    }
    for name in names {
      let attributes = try FileManager.default.attributesOfItem(atPath: name)
      #expect(attributes[.posixPermissions] as? Int == 0o600)
    }
  }
}
