import FoundationEssentials
import ImgModel
import ImgStore
import ImgWire
import TestFiles
import Testing

@testable import ImgClient

/// What a client reads without a coordinator.
@Suite struct ReadingTests {
  private let directory: TestDirectory
  private let first = JobID(rawValue: 1)
  private let second = JobID(rawValue: 2)

  init() throws {
    directory = try TestDirectory()
  }

  /// A journal with a finished job of two lines and a job whose list was never completed.
  private func writeJournal() throws {
    let journal = try Journal(directory: directory.file("journal"))
    let now = WallTime(rawValue: 0)
    for id in [first, second] {
      try journal.apply([
        .createJob(
          JobRecord(id: id, options: RequestOptions(variant: .standard), submittedAt: now)),
        .appendURLs(id, ["a", "b"]),
      ])
    }
    let failure = Failure(stage: .fetch, code: .timeout, detail: "no answer")
    try journal.apply([
      .seal(first), .record(first, index: 0, .failed(failure)),
      .record(first, index: 1, .cancelled), .finish(first, at: now),
    ])
  }

  @Test func `without a store there is nothing to read`() throws {
    #expect(try StoreReader(directory: directory.file("store")) == nil)
  }

  @Test func `without a journal there are no jobs`() throws {
    let source = try JobSource(journalIn: directory.file("journal"))
    try source.forEachJob { _ in Issue.record("there is no job") }
    #expect(throws: ClientError.self) { try source.status(of: first) }
    #expect(throws: ClientError.self) {
      try source.results(of: first, isFailedOnly: false) { _ in }
    }
    #expect(!FileManager.default.fileExists(atPath: directory.file("journal")))
  }

  @Test func `a journal shows the accepted jobs and their results`() throws {
    try writeJournal()
    let source = try JobSource(journalIn: directory.file("journal"))
    var jobs: [JobID] = []
    try source.forEachJob { jobs.append($0.job) }
    #expect(jobs == [first])
    #expect(try source.status(of: first).failed == 1)
    let error = #expect(throws: ClientError.self) { try source.status(of: second) }
    #expect(error?.description == "there is no job 2")
    var failed: [String] = []
    try source.results(of: first, isFailedOnly: true) { failed.append($0.url) }
    #expect(failed == ["a"])
  }
}
