import FoundationEssentials
import Glibc
import ImgModel
import ImgSystem
import TestCluster
import TestFiles
import TestOrigin
import Testing

/// A store whose pages are damaged in a way that ends the processes that read them.
@Suite(.timeLimit(.minutes(20))) struct StoreDamageTests {
  private let origin = ListOrigin()
  private let cluster: Cluster

  /// Enough for branch pages in every table.
  private static let pictureCount = 120

  init() throws {
    cluster = try Cluster()
  }

  private func stop() throws {
    try #require(try cluster.imgctl("stop").exitCode == 0)
    try #require(try cluster.runningCoordinator().wait().exitCode == 0)
  }

  @Test(arguments: PageDamage.allCases)
  func `verify names a damaged store, and its first user recreates it`(damage: PageDamage) throws {
    let list = origin.pictures(Self.pictureCount)
    try #require(try cluster.run(list).done == Self.pictureCount)
    try stop()
    try damage.apply(toStoreIn: cluster.storeDirectory)
    // Without workers, which would replace the store as soon as they read it.
    let result = try cluster.imgctl("cache", "verify")
    #expect(result.exitCode == 2)
    #expect(result.messages.contains("the store in \(cluster.storeDirectory) is damaged"))
    #expect(result.messages.contains("remove"))
    let file = URL(filePath: "\(cluster.storeDirectory)/data.mdb")
    let damaged = try Data(contentsOf: file)
    for use in [expectList, expectReset, expectGet] {
      try damaged.write(to: file)
      try cluster.start()
      try use(list)
      try stop()
    }
  }

  /// A list succeeds, with no suspect. Whatever crash there was, the store works again.
  private func expectList(_ list: [String]) throws {
    let status = try cluster.run(Array(list.prefix(60)))
    #expect(status.done == 60)
    let failures = try cluster.imgctl("failures", "\(status.job)").output
    #expect(failures.isEmpty)
    #expect(try cluster.imgctl("cache", "verify").exitCode == 0)
    #expect(try cluster.run(Array(list.prefix(60))).fromCache == 60)
  }

  private func expectReset(_ list: [String]) throws {
    let result = try cluster.imgctl("cache", "reset")
    #expect(result.exitCode == 0, "\(result.messages)")
    #expect(try cluster.imgctl("cache", "verify").exitCode == 0)
    #expect(try cluster.imgctl("get", list[0]).exitCode == 0)
  }

  private func expectGet(_ list: [String]) throws {
    let result = try cluster.imgctl("get", list[0])
    #expect(result.exitCode == 0, "\(result.messages)")
    #expect(!result.outputBytes.isEmpty)
  }
}

/// Damage to the headers of a store's pages that LMDB does not check before it relies on them: it
/// asserts (SIGABRT), reads outside of the map (SIGSEGV), or reports an internal error.
///
/// A page begins with its number (8 bytes), padding (2), flags (2) and the ends of the free room
/// inside it (2 each); the offsets of its entries follow, 2 bytes each (`MDB_page` in LMDB's
/// source).
enum PageDamage: String, CaseIterable {
  /// Branch pages say that they have a single entry.
  case branchCounts
  /// The entries of branch pages lead back to the page.
  case circles
  /// The entries of leaf pages lie behind the page.
  case entryOffsets
  /// Leaf pages have more entries than fit.
  case leafCounts

  private static let pageByteCount = 4_096
  private static let headerByteCount = 16
  private enum Flag {
    static let branch = 1
    static let leaf = 2
    static let overflow = 4
  }

  /// Damages every page of the kind. No process has the file open.
  func apply(toStoreIn directory: String) throws {
    let url = URL(filePath: "\(directory)/data.mdb")
    var bytes = [UInt8](try Data(contentsOf: url))
    var page = 0
    while (page + 1) * Self.pageByteCount <= bytes.count {
      let start = page * Self.pageByteCount
      let flags = Self.number(at: start + 10, of: bytes)
      let isNamed = Self.number(at: start, of: bytes) == page & 0xFFFF
      // The pages of a long value have one header.
      page +=
        isNamed && flags == Flag.overflow ? max(1, Self.number(at: start + 12, of: bytes)) : 1
      if isNamed { damage(flags, at: start, in: &bytes) }
    }
    try Data(bytes).write(to: url)
  }

  private func damage(_ flags: Int, at start: Int, in bytes: inout [UInt8]) {
    let end = Self.number(at: start + 12, of: bytes)
    let offsets = stride(from: start + Self.headerByteCount, to: start + end, by: 2)
    switch (self, flags) {
    case (.branchCounts, Flag.branch):
      Self.set(Self.headerByteCount + 2, at: start + 12, in: &bytes)
    case (.circles, Flag.branch):
      for offset in offsets {
        // An entry of a branch begins with the number of the page that it leads to.
        let entry = start + Self.number(at: offset, of: bytes)
        Self.set(start / Self.pageByteCount, at: entry, in: &bytes)
      }
    case (.entryOffsets, Flag.leaf):
      for offset in offsets { Self.set(0xFFFF, at: offset, in: &bytes) }
    case (.leafCounts, Flag.leaf):
      Self.set(0x7FF0, at: start + 12, in: &bytes)
    default:
      break
    }
  }

  private static func number(at offset: Int, of bytes: [UInt8]) -> Int {
    Int(bytes[offset]) | Int(bytes[offset + 1]) << 8
  }

  private static func set(_ value: Int, at offset: Int, in bytes: inout [UInt8]) {
    bytes[offset] = UInt8(value & 0xFF)
    bytes[offset + 1] = UInt8(value >> 8)
  }
}

/// What the journal's files hold: no more than they must, and what is damaged is told.
@Suite(.timeLimit(.minutes(20))) struct JournalUpkeepTests {
  private let origin = ListOrigin()

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

  @Test func `header values survive a crash and are erased with their job`() throws {
    let secret = "c2VjcmV0IG9mIGEgam9i"
    let cluster = try Cluster.inOrder()
    origin.hold("/held")
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
    origin.hold("/held")
    let waiting = try cluster.submit([origin.url("/held")])
    let ended = try cluster.run(["no URL"]).job
    try #require(try eventually { try cluster.jobs() == [waiting] })
    let log = try cluster.runningCoordinator().messages()
    #expect(log.contains("job \(ended): removed, because of --keep-jobs"))
    #expect(try cluster.imgctl("status", "\(ended)").exitCode == 2)
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
    let outside = try cluster.imgctl("recover", cluster.dataDirectory, output)
    #expect(outside.exitCode == 2)
    #expect(outside.messages.contains("is no journal; \(journal) is one"))
    let strange = cluster.directory.file("strange")
    try Directory.create(strange)
    try FileIO.replace(path: "\(strange)/data.mdb", with: Array("text\n".utf8))
    let unreadable = try cluster.imgctl("recover", strange, output)
    #expect(unreadable.exitCode == 1)
    #expect(unreadable.messages == "imgctl: nothing in the journal \(strange) is readable\n")
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
    try FileManager.default.createDirectory(atPath: output, withIntermediateDirectories: false)
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
