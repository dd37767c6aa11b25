import ImgModel
import TestFiles
import Testing

@testable import ImgStore

/// Records that the disk has changed: each costs what it holds, and nothing else.
@Suite(.timeLimit(.minutes(20)))
struct JournalDamageTests {
  private let directory: TestDirectory
  private let id = JobID(rawValue: 1)
  private let other = JobID(rawValue: 2)
  private let done = Outcome.done(.sample, fromCache: false, bytesFetched: 1_000)

  init() throws {
    directory = try TestDirectory()
  }

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
    let single = try journal.urls(
      of: id, positions: [300..<301], order: .firstInFirstOut, limit: 1)
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

  @Test func `a job with a damaged record is listed, can be removed and blocks no other job`()
    throws
  {
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
