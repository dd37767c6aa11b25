import FoundationEssentials
import Glibc
import ImgModel
import SeededRandom
import TestFiles
import Testing

@testable import ImgStore

/// Records that the disk has changed: each costs what it holds, and nothing else.
@Suite(.timeLimit(.minutes(20))) struct JournalDamageTests {
  private let directory = TestDirectory()
  private let id = JobID(rawValue: 1)
  private let other = JobID(rawValue: 2)
  private let done = Outcome.done(.sample, fromCache: false, bytesFetched: 1_000)

  private func open() throws -> Journal { try Journal(directory: directory.path) }

  @Test func `a damaged outcome counts as a failure of its line`() throws {
    let journal = try open()
    try journal.submit(id, lineCount: 3)
    try journal.apply((0..<3).map { .record(id, index: $0, done) } + [.finish(id, at: .now)])
    try journal.damage(JournalKey.line(id, index: 1), in: journal.tables.outcomes)
    #expect(try journal.outcomes(of: id) == [done, .failed(.damagedOutcome), done])
    #expect(
      try journal.allResults(of: id, isFailedOnly: true).map(\.outcome)
        == [.failed(.damagedOutcome)])
    #expect(try journal.job(id)?.counts.done == 3)

    try journal.apply(.change(id, .retry(includesFinal: false), at: .now))
    #expect(try journal.openLines(of: id).map(\.index) == [1])
    #expect(try journal.job(id)?.counts.done == 2)
    #expect(try journal.job(id)?.counts.failed == 0)
    try journal.apply(.record(id, index: 1, done))
    #expect(try journal.outcomes(of: id) == [done, done, done])
    #expect(try journal.job(id)?.counts.finished == 3)
  }

  @Test func `a retry also repeats a damaged outcome of a cancelled job`() throws {
    let journal = try open()
    try journal.submit(id, lineCount: 4)
    try journal.apply([
      .record(id, index: 0, done), .record(id, index: 1, done), .change(id, .cancel, at: .now),
    ])
    try journal.damage(JournalKey.line(id, index: 0), in: journal.tables.outcomes)
    try journal.apply(.change(id, .retry(includesFinal: false), at: .now))
    #expect(try journal.openLines(of: id).map(\.index) == [0, 2, 3])
    #expect(try journal.job(id)?.counts.finished == 1)
  }

  @Test func `opening turns damaged outcomes of an active job into failures`() throws {
    do {
      let journal = try open()
      try journal.submit(id, lineCount: 3)
      try journal.apply([
        .record(id, index: 0, .failed(.passing)), .record(id, index: 1, .failed(.passing)),
        .finish(id, at: .now), .change(id, .retry(includesFinal: false), at: .now),
        .record(id, index: 0, done),
      ])
      for index in 0..<2 {
        try journal.damage(JournalKey.line(id, index: index), in: journal.tables.outcomes)
      }
    }
    let journal = try open()
    #expect(try journal.openLines(of: id).map(\.index) == [2])
    var expected = JobCounts(total: 3)
    for _ in 0..<2 { expected.count(.failed(.damagedOutcome), keep: .thumbnail) }
    #expect(try journal.job(id)?.counts == expected)
  }

  @Test func `a damaged part of a list loses only its own lines`() throws {
    let journal = try open()
    try journal.submit(id, lineCount: 600)
    try journal.damage(JournalKey.line(id, index: 256), in: journal.tables.lines)
    let lines = try journal.openLines(of: id)
    #expect(lines.map(\.index) == Array(0..<600))
    #expect(lines.filter { $0.url == nil }.map(\.index) == Array(256..<512))
    #expect(lines[512].url == "https://example.org/512")
    let single = try journal.urls(of: id, positions: [300..<301], order: .firstInFirstOut, limit: 1)
    #expect(single.entries == [URLPage.Entry(index: 300, url: nil)])
    #expect(try journal.allResults(of: id).filter { $0.url.isEmpty }.count == 256)
  }

  @Test func `lines cannot be appended behind a damaged part`() throws {
    let journal = try open()
    try journal.apply([.createJob(.sample(id)), .appendURLs(id, ["a", "b"])])
    try journal.damage(JournalKey.line(id, index: 0), in: journal.tables.lines)
    let error = #expect(throws: StoreError.self) { try journal.apply(.appendURLs(id, ["c"])) }
    #expect(error?.reason == .damaged)
  }

  @Test func `a job with a damaged record is listed, can be removed and blocks no job`() throws {
    let path = directory.path + "/other"
    do {
      let journal = try Journal(directory: path)
      for job in [id, other] { try journal.submit(job, lineCount: 3) }
      try journal.damage(JournalKey.job(id), in: journal.tables.jobs)
      #expect(try journal.jobs(limit: 10).map(\.state) == [.queued, .damaged])
    }
    let journal = try Journal(directory: path)
    #expect(journal.damagedJobs == [id])
    #expect(try journal.unfinishedJobs().map(\.id) == [other])
    try journal.apply([
      .record(id, index: 0, done), .change(id, .cancel, at: .now), .record(other, index: 0, done),
    ])
    #expect(try journal.job(id)?.state == .damaged)
    #expect(try journal.job(other)?.counts.done == 1)
    try journal.apply(.change(id, .remove, at: .now))
    #expect(try journal.jobs(limit: 10).map(\.id) == [other])
    #expect(try journal.nextJobID() == JobID(rawValue: 3))
  }

  @Test func `a record under another key is damaged`() throws {
    let journal = try open()
    try journal.submit(id, lineCount: 2)
    try journal.apply([.record(id, index: 0, done), .record(id, index: 1, .failed(.sample))])
    let tables = journal.tables
    try journal.environment.write { transaction throws(StoreError) in
      let key = JournalKey.line(id, index: 0)
      let record = try transaction.withValue(of: key, in: tables.outcomes) { $0.copy() }
      try transaction.put(record ?? [], for: JournalKey.line(id, index: 1), in: tables.outcomes)
    }
    #expect(try journal.outcomes(of: id) == [done, .failed(.damagedOutcome)])
  }

  @Test func `if the last job's number is damaged, numbers in use are not reused`() throws {
    let journal = try open()
    for job in [id, other] { try journal.submit(job, lineCount: 1) }
    try journal.damage(Array("last_job".utf8), in: journal.tables.meta)
    #expect(try journal.nextJobID() == JobID(rawValue: 3))
  }
}

extension Journal {
  /// Changes the last bit of a record.
  func damage(_ key: [UInt8], in table: Database) throws {
    try environment.write { transaction throws(StoreError) in
      var record = try transaction.withValue(of: key, in: table) { $0.copy() } ?? []
      record[record.count - 1] ^= 1
      try transaction.put(record, for: key, in: table)
    }
  }
}

/// What is intact of a damaged journal is found, and nothing else.
@Suite(.timeLimit(.minutes(20))) struct JournalExtractTests {
  private let directory: TestDirectory
  private let file: URL
  private let id = JobID(rawValue: 1)
  private let other = JobID(rawValue: 2)
  private let results: [LineResult]

  private static let pageByteCount = 4_096

  /// A job of 2,000 lines that was taken up again, and one that waits.
  init() throws {
    let (id, other) = (JobID(rawValue: 1), JobID(rawValue: 2))
    directory = TestDirectory()
    file = URL(filePath: directory.path + "/data.mdb")
    let journal = try Journal(directory: directory.path)
    try journal.submit(id, lineCount: 2_000, columns: ["number", "caption"])
    try journal.submit(other, lineCount: 10)
    for start in stride(from: 0, to: 2_000, by: 100) {
      try journal.apply(
        (start..<start + 100).map { index in
          let outcome: Outcome =
            index % 3 == 0
            ? .failed(.passing) : .done(.sample, fromCache: false, bytesFetched: index)
          return .record(id, index: index, outcome)
        })
    }
    try journal.apply([.finish(id, at: .now), .change(id, .retry(includesFinal: false), at: .now)])
    try journal.apply([
      .record(id, index: 0, .failed(.sample)),
      .record(id, index: 3, .done(.sample, fromCache: true, bytesFetched: 0)),
    ])
    results = try journal.allResults(of: id)
  }

  private func extracted(_ job: JobID) throws -> [LineResult] {
    var entries: [LineResult] = []
    try JournalExtract(directory: directory.path).forEachLine(of: job) { index, line, outcome in
      entries.append(LineResult(index: index, line ?? ListLine(""), outcome))
    }
    return entries
  }

  private func littleEndian(_ number: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: UInt64(number))
    return bytes
  }

  private func change(_ change: (inout Data) -> Void) throws {
    var bytes = try Data(contentsOf: file)
    change(&bytes)
    try bytes.write(to: file)
  }

  @Test func `an intact journal is extracted completely`() throws {
    let extract = try JournalExtract(directory: directory.path)
    #expect(extract.jobIDs == [id, other])
    #expect(extract.job(id)?.name == "list")
    #expect(extract.job(id)?.state == .queued)
    #expect(try extracted(id) == results)
    #expect(results[1_999].line.columns.json == "[\"1999\",\"Picture 1999\"]")
    #expect(try extracted(other).map(\.url) == (0..<10).map { "https://example.org/\($0)" })
  }

  @Test func `extraction does not need LMDB's structures`() throws {
    try change { bytes in
      for (number, page) in stride(from: 0, to: bytes.count, by: Self.pageByteCount).enumerated() {
        // A page has its number first, unless it continues the value of the one before.
        guard bytes[page..<page + 8].elementsEqual(littleEndian(number)) else { continue }
        for offset in page..<page + 16 { bytes[offset] = 0xFF }
      }
    }
    #expect(throws: StoreError.self) { try Journal(directory: directory.path) }
    #expect(try extracted(id) == results)
  }

  @Test(arguments: UInt64(0)..<8)
  func `extraction of a damaged journal returns only written data`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    try change { bytes in
      for _ in 0..<12 {
        let offset = Int.random(in: 0..<bytes.count, using: &random)
        bytes[offset] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      }
      if seed % 2 == 1 { bytes = bytes.prefix(bytes.count * 3 / 4) }
    }
    var rightCount = 0
    for entry in try extracted(id) {
      let written = results[entry.index]
      #expect(entry.url.isEmpty || entry.url == written.url)
      #expect([.none, written.line.columns].contains(entry.line.columns))
      if entry == written { rightCount += 1 }
    }
    #expect(rightCount > 200)
  }

  @Test func `extraction without a file is an error`() throws {
    let error = #expect(throws: StoreError.self) {
      _ = try JournalExtract(directory: directory.path + "/none")
    }
    #expect(error?.reason == .absent)
  }
}

/// A journal whose file gives its free pages back to the disk.
@Suite(.timeLimit(.minutes(20))) struct JournalCompactionTests {
  private let directory: TestDirectory
  private let path: String
  private let id = JobID(rawValue: 1)
  private let next = JobID(rawValue: 2)

  init() throws {
    directory = TestDirectory()
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
      .appendURLs(
        next, ListLines((0..<4_096).map { "\($0)" + String(repeating: "x", count: 2_048) })),
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
    try journal.apply([.createJob(.sample(id)), .appendURLs(id, ListLines(lines)), .seal(id)])
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
