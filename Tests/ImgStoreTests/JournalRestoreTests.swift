import FoundationEssentials
import Glibc
import ImgModel
import TestFiles
import Testing

@testable import ImgStore

/// A journal whose files are removed while it is open.
@Suite(.timeLimit(.minutes(20)))
struct JournalRestoreTests {
  private let directory: TestDirectory
  private let path: String
  private let id = JobID(rawValue: 1)
  private let next = JobID(rawValue: 2)

  init() throws {
    directory = try TestDirectory()
    path = directory.path + "/journal"
  }

  private func removeFiles() throws {
    try FileManager.default.removeItem(atPath: path)
  }

  @Test func `what was applied before the removal, after it and after the restoring is all there`()
    throws
  {
    do {
      let journal = try Journal(directory: path)
      try journal.submit(id, lineCount: 1_000)
      try journal.apply([.createJob(.sample(next)), .appendURLs(next, ["a", "b"])])
      #expect(!journal.isDetached)
      try removeFiles()
      #expect(journal.isDetached)
      try journal.apply(.record(id, index: 0, .cancelled))
      try journal.restore()
      #expect(!journal.isDetached)
      try journal.apply(.record(id, index: 1, .cancelled))
      // A list that was being received when the files went is received to its end.
      try journal.apply([.appendURLs(next, ["c"]), .seal(next)])
      #expect(try journal.openLines(of: id).count == 998)
    }
    let journal = try Journal(directory: path)
    #expect(try journal.openLines(of: id).count == 998)
    #expect(try journal.openLines(of: next).map(\.url) == ["a", "b", "c"])
    #expect(try journal.nextJobID() == JobID(rawValue: 3))
    #expect(try FileManager.default.contentsOfDirectory(atPath: path).count == 2)
  }

  @Test func `a lock file that was left behind is no obstacle, nor what an attempt has left`()
    throws
  {
    let journal = try Journal(directory: path)
    try journal.submit(id, lineCount: 10)
    try FileManager.default.removeItem(atPath: path + "/data.mdb")
    try Data("cut short".utf8).write(to: URL(filePath: path + "/data.mdb.copy"))
    try journal.restore()
    try journal.apply(.record(id, index: 0, .cancelled))
    #expect(try journal.openLines(of: id).count == 9)
    let names = try FileManager.default.contentsOfDirectory(atPath: path)
    #expect(names.sorted() == ["data.mdb", "lock.mdb"])
  }

  @Test func `another journal in its place is not touched, and this one goes on unseen`() throws {
    let journal = try Journal(directory: path)
    try journal.submit(id, lineCount: 10)
    try removeFiles()
    do {
      let other = try Journal(directory: path)
      try other.submit(next, lineCount: 3)
    }
    let error = #expect(throws: StoreError.self) { try journal.restore() }
    #expect(error?.reason == .replaced)
    #expect(error?.path == path)
    try journal.apply(.record(id, index: 0, .cancelled))
    #expect(try journal.openLines(of: id).count == 9)
    let other = try Journal(directory: path)
    #expect(try other.openLines(of: next).count == 3)
  }

  @Test func `where it cannot be written now, it is restored later with nothing lost`() throws {
    let journal = try Journal(directory: path)
    try journal.submit(id, lineCount: 10)
    try removeFiles()
    try Data("a file".utf8).write(to: URL(filePath: path))
    for _ in 0..<2 {
      let error = #expect(throws: StoreError.self) { try journal.restore() }
      #expect(error?.code == StoreError.Code(rawValue: ENOTDIR))
      #expect(try journal.openLines(of: id).count == 10)
    }
    try removeFiles()
    try journal.restore()
    #expect(try journal.openLines(of: id).count == 10)
    #expect(!journal.isDetached)
  }

  @Test func `who reads meanwhile sees the whole journal at any time`() async throws {
    let journal = try Journal(directory: path)
    try journal.submit(id, lineCount: 500)
    try await withThrowingTaskGroup { group in
      for _ in 0..<2 {
        group.addTask { [id] in
          for _ in 0..<200 {
            let count = try journal.openLines(of: id).count
            #expect(count == 500)
          }
        }
      }
      for _ in 0..<20 {
        try removeFiles()
        try journal.restore()
      }
      try await group.waitForAll()
    }
    #expect(!journal.isDetached)
  }
}
