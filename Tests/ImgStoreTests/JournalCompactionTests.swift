import FoundationEssentials
import Glibc
import ImgModel
import TestFiles
import Testing

@testable import ImgStore

/// A journal whose file gives its free pages back to the disk.
@Suite(.timeLimit(.minutes(20)))
struct JournalCompactionTests {
  private let directory: TestDirectory
  private let path: String
  private let id = JobID(rawValue: 1)
  private let next = JobID(rawValue: 2)

  init() throws {
    directory = try TestDirectory()
    path = directory.path + "/journal"
  }

  private func fileByteCount() throws -> Int {
    try #require(
      try FileManager.default.attributesOfItem(atPath: path + "/data.mdb")[.size] as? Int)
  }

  /// One small job, and 8 MiB of a submission that was given up.
  private func journalWithRoom() throws -> Journal {
    let journal = try Journal(directory: path)
    try journal.submit(id, lineCount: 1_000)
    try journal.apply([
      .createJob(.sample(next)),
      .appendURLs(next, (0..<4_096).map { "\($0)" + String(repeating: "x", count: 2_048) }),
      .discard(next),
    ])
    while try journal.removeLeftovers() {}
    return journal
  }

  @Test func `the file shrinks after a large submission was discarded`() throws {
    let journal = try journalWithRoom()
    #expect(try fileByteCount() > 8 << 20)
    #expect(try journal.isMostlyFree())
    try journal.compact()
    #expect(try fileByteCount() < 1 << 20)
    #expect(try !journal.isMostlyFree())
    #expect(!journal.isDetached)
    let names = try FileManager.default.contentsOfDirectory(atPath: path)
    #expect(names.sorted() == ["data.mdb", "lock.mdb"])
    try journal.apply(.record(id, index: 0, .cancelled))
    #expect(try journal.openLines(of: id).count == 999)
    #expect(try journal.nextJobID() == JobID(rawValue: 3))
  }

  @Test func `a small or fully used journal is not compacted`() throws {
    let journal = try Journal(directory: path)
    #expect(try !journal.isMostlyFree())
    let lines = (0..<4_096).map { "\($0)" + String(repeating: "x", count: 2_048) }
    try journal.apply([.createJob(.sample(id)), .appendURLs(id, lines), .seal(id)])
    #expect(try !journal.isMostlyFree())
  }

  @Test func `concurrent readers always see the whole journal`() async throws {
    let journal = try journalWithRoom()
    try await withThrowingTaskGroup { group in
      for _ in 0..<2 {
        group.addTask { [id] in
          for _ in 0..<100 {
            let count = try journal.openLines(of: id).count
            #expect(count == 1_000)
          }
        }
      }
      for _ in 0..<10 { try journal.compact() }
      try await group.waitForAll()
    }
    #expect(!journal.isDetached)
  }

  /// The states that the directory goes through, as a kill would leave them.
  @Test(arguments: ["copy is begun", "lock file has gone", "files have changed places"])
  func `a kill at any step loses nothing`(step: String) throws {
    let copy = path + "/data.mdb.copy"
    do {
      let journal = try journalWithRoom()
      switch step {
      case "copy is begun":
        try Data("a part".utf8).write(to: URL(filePath: copy))
      case "lock file has gone":
        try FileManager.default.copyItem(atPath: path + "/data.mdb", toPath: copy)
        try FileManager.default.removeItem(atPath: path + "/lock.mdb")
      default:
        let before = directory.path + "/before"
        try FileManager.default.copyItem(atPath: path + "/data.mdb", toPath: before)
        try journal.compact()
        try FileManager.default.moveItem(atPath: before, toPath: copy)
        try FileManager.default.removeItem(atPath: path + "/lock.mdb")
      }
    }
    let journal = try Journal(directory: path)
    #expect(try journal.openLines(of: id).count == 1_000)
    #expect(!FileManager.default.fileExists(atPath: copy))
  }

  @Test func `without space for a copy, nothing changes`() throws {
    let journal = try journalWithRoom()
    // What is in the way of the copy: a directory of its name that is not empty.
    try FileManager.default.createDirectory(
      atPath: path + "/data.mdb.copy/x", withIntermediateDirectories: true)
    #expect(throws: StoreError.self) { try journal.compact() }
    #expect(!journal.isDetached)
    try journal.apply(.record(id, index: 0, .cancelled))
    #expect(try journal.openLines(of: id).count == 999)
  }

  @Test func `a journal whose files were removed is not compacted`() throws {
    let journal = try journalWithRoom()
    try FileManager.default.removeItem(atPath: path)
    let error = #expect(throws: StoreError.self) { try journal.compact() }
    #expect(error?.reason == .replaced)
    #expect(journal.isDetached)
    #expect(!FileManager.default.fileExists(atPath: path))
    #expect(try journal.openLines(of: id).count == 1_000)
  }
}
