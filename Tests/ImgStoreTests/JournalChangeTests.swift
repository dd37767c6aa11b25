import ImgModel
import TestFiles
import Testing

@testable import ImgStore

/// What people ask of a job that was accepted, and outcomes around it.
@Suite(.timeLimit(.minutes(20)))
struct JournalChangeTests {
  private let directory: TestDirectory
  private let journal: Journal
  private let id = JobID(rawValue: 1)
  private let done = Outcome.done(.sample, fromCache: false, bytesFetched: 1)

  init() throws {
    directory = try TestDirectory()
    journal = try Journal(directory: directory.path)
  }

  // MARK: - Changes

  @Test func `a late change has no effect`() throws {
    try journal.submit(id, lineCount: 2)
    try change(.resume, .retry(includesFinal: true), .remove)
    #expect(try journal.job(id)?.state == .queued)
    try change(.pause)
    try change(.pause)
    #expect(try journal.job(id)?.state == .paused)
    try change(.resume)
    #expect(try journal.job(id)?.state == .queued)
    try change(.prioritise(2))
    #expect(try journal.job(id)?.options.priority == 2)
    try journal.apply(.finish(id, at: .now))
    let finished = try journal.job(id)
    try change(.pause, .resume, .cancel, .prioritise(-1))
    #expect(try journal.job(id) == finished)
  }

  @Test func `changes of unknown and unaccepted jobs have no effect`() throws {
    try journal.apply([.createJob(.sample(id)), .appendURLs(id, ["a"])])
    try change(.pause, .cancel, .remove)
    #expect(try journal.job(id)?.state == .submitting)
    try journal.apply(.discard(id))
    try change(.pause, .cancel, .retry(includesFinal: true), .remove)
    #expect(try journal.job(id) == nil)
  }

  @Test func `a paused job records outcomes of running URLs and may finish`() throws {
    try journal.submit(id, lineCount: 2)
    try change(.pause)
    try journal.apply([.start(id, at: .now), .record(id, index: 0, done)])
    #expect(try journal.job(id)?.counts.done == 1)
    #expect(try journal.job(id)?.startedAt == .now)
    #expect(try journal.openLines(of: id).map(\.index) == [1])
    try journal.apply([.record(id, index: 1, done), .finish(id, at: .now(plusSeconds: 3))])
    #expect(try journal.job(id)?.state == .finished)
    #expect(try journal.job(id)?.finishedAt == .now(plusSeconds: 3))
  }

  @Test func `a removed job leaves nothing`() throws {
    try journal.submit(id, lineCount: 10_000)
    try journal.apply((0..<10_000).map { .record(id, index: $0, done) })
    try journal.apply([
      .finish(id, at: .now), .change(id, .remove, at: .now), .record(id, index: 0, .cancelled),
      .change(id, .retry(includesFinal: true), at: .now),
    ])
    #expect(try journal.job(id) == nil)
    #expect(try journal.jobs(limit: 10) == [])
    #expect(try journal.allResults(of: id) == [])
    for _ in 0..<5 { try journal.apply([]) }
    for table in [journal.tables.lines, journal.tables.outcomes, journal.tables.leftovers] {
      #expect(try entryCount(of: table) == 0)
    }
    #expect(try journal.nextJobID() == JobID(rawValue: 2))
  }

  @Test func `an outcome of an ended job has no effect`() throws {
    try journal.submit(id, lineCount: 2)
    try journal.apply([.record(id, index: 0, .failed(.passing)), .finish(id, at: .now)])
    let finished = try journal.job(id)
    try journal.apply([.record(id, index: 0, done), .record(id, index: 1, done)])
    #expect(try journal.job(id) == finished)
    #expect(try journal.outcomes(of: id) == [.failed(.passing), nil])
  }

  // MARK: - Retries

  @Test func `a retry reopens temporary failures`() throws {
    try endWithFailures()
    try change(.retry(includesFinal: false))
    #expect(try journal.openLines(of: id).map(\.index) == [1, 4])
    #expect(
      try journal.openLines(of: id, order: .lastInFirstOut, limit: 1).map(\.index) == [4, 1])
    #expect(try journal.outcomes(of: id) == [done, nil, .failed(.sample), done, nil])
    #expect(try journal.allResults(of: id, isFailedOnly: true).map(\.index) == [2])
    #expect(try journal.job(id)?.lowWater == 1)
    var expected = JobCounts(total: 5)
    for outcome in [done, done, .failed(.sample)] { expected.count(outcome, keep: .thumbnail) }
    #expect(try journal.job(id)?.counts == expected)
  }

  @Test func `a retry of every failure also reopens permanent ones`() throws {
    try endWithFailures()
    try change(.retry(includesFinal: true))
    #expect(try journal.openLines(of: id).map(\.index) == [1, 2, 4])
    #expect(try journal.outcomes(of: id) == [done, nil, nil, done, nil])
    #expect(try journal.job(id)?.counts.failed == 0)
  }

  @Test func `a reopened line records one new outcome`() throws {
    try endWithFailures()
    try change(.retry(includesFinal: false))
    try journal.apply([
      .record(id, index: 1, done), .record(id, index: 4, .failed(.passing)),
      .record(id, index: 1, .failed(.sample)), .record(id, index: 4, done),
      .record(id, index: 0, .failed(.sample)), .record(id, index: 2, done),
    ])
    let outcomes = [done, done, .failed(.sample), done, .failed(.passing)]
    #expect(try journal.outcomes(of: id) == outcomes)
    #expect(try journal.openLines(of: id) == [])
    var expected = JobCounts(total: 5)
    for outcome in outcomes { expected.count(outcome, keep: .thumbnail) }
    #expect(try journal.job(id)?.counts == expected)
    #expect(try journal.job(id)?.lowWater == 5)
    // The failure of the second round is open again in the third; the final one never was.
    try journal.apply([.finish(id, at: .now)])
    try change(.retry(includesFinal: false))
    #expect(try journal.openLines(of: id).map(\.index) == [4])
  }

  @Test func `a retry of a cancelled job reopens its unfinished lines`() throws {
    try journal.submit(id, lineCount: 4)
    try journal.apply([
      .record(id, index: 0, done), .record(id, index: 1, .failed(.sample)),
      .record(id, index: 2, .cancelled), .change(id, .cancel, at: .now),
    ])
    #expect(try journal.job(id)?.counts.cancelled == 2)
    try change(.retry(includesFinal: false))
    #expect(try journal.openLines(of: id).map(\.index) == [2, 3])
    try journal.apply([.record(id, index: 2, done), .record(id, index: 3, done)])
    #expect(try journal.job(id)?.counts.done == 3)
    #expect(try journal.job(id)?.counts.finished == 4)
  }

  @Test func `a retry survives being closed and opened`() throws {
    let path = directory.path + "/other"
    do {
      let first = try Journal(directory: path)
      try first.submit(id, lineCount: 2)
      try first.apply([
        .record(id, index: 0, .failed(.passing)), .record(id, index: 1, done),
        .finish(id, at: .now), .change(id, .retry(includesFinal: false), at: .now),
      ])
    }
    let second = try Journal(directory: path)
    #expect(try second.unfinishedJobs().map(\.id) == [id])
    #expect(try second.openLines(of: id).map(\.index) == [0])
  }

  @Test func `a retry changes the job's record and no outcome`() throws {
    try journal.submit(id, lineCount: 50_000)
    for start in stride(from: 0, to: 50_000, by: 10_000) {
      try journal.apply((start..<start + 10_000).map { .record(id, index: $0, .failed(.passing)) })
    }
    try journal.apply(.finish(id, at: .now))
    let before = try firstOutcomeRecord()
    try change(.retry(includesFinal: true))
    #expect(try firstOutcomeRecord() == before)
    #expect(try entryCount(of: journal.tables.outcomes) == 50_000)
    #expect(try journal.openLines(of: id).count == 50_000)
  }

  /// The mark would otherwise run over millions of lines in the transaction that fills a gap.
  @Test func `the low-water mark follows in steps`() throws {
    let step = JournalChange.lowWaterStepMaximum
    try journal.submit(id, lineCount: step + 100)
    try journal.apply((1..<step + 50).map { .record(id, index: $0, done) })
    try journal.apply(.record(id, index: 0, done))
    #expect(try journal.job(id)?.lowWater == step)
    try journal.apply(.record(id, index: step + 50, done))
    #expect(try journal.job(id)?.lowWater == step + 51)
  }

  /// Lines 0 and 3 are done, 1 and 4 may pass, 2 stays.
  private func endWithFailures() throws {
    try journal.submit(id, lineCount: 5)
    try journal.apply([
      .record(id, index: 0, done), .record(id, index: 1, .failed(.passing)),
      .record(id, index: 2, .failed(.sample)), .record(id, index: 3, done),
      .record(id, index: 4, .failed(.passing)), .finish(id, at: .now),
    ])
  }

  private func change(_ changes: JobChange...) throws {
    try journal.apply(changes.map { .change(id, $0, at: .now) })
  }

  private func firstOutcomeRecord() throws -> [UInt8]? {
    try journal.environment.read { transaction throws(StoreError) in
      try transaction.withValue(
        of: JournalKey.line(id, index: 0), in: journal.tables.outcomes
      ) { $0.copy() }
    }
  }

  private func entryCount(of table: Database) throws -> Int {
    try journal.environment.read { transaction throws(StoreError) in
      try transaction.statistics(of: table).entryCount
    }
  }
}
