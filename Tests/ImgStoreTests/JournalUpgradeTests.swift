import ImgWire
import Testing

@testable import ImgStore

/// Journals as the first release wrote them, spelled out so that no later type can change them.
@Suite(.timeLimit(.minutes(20)))
struct JournalUpgradeTests {
  private let directory: TemporaryDirectory
  private let id = JobID(rawValue: 1)

  init() throws {
    directory = try TemporaryDirectory()
  }

  @Test func `a running job goes on where it was`() throws {
    let journal = try open(jobs: [1: Self.running], outcomes: Self.outcomes)
    var counts = JobCounts(total: 6)
    counts.done = 1
    counts.failed = 2
    counts.retryable = 1
    counts.cancelled = 1
    counts.bytesFetched = 70_000
    counts.bytesStored = 9_321
    let variant = try Variant(width: 100, height: 50, mode: .fill, isCropped: true, format: .webp)
    #expect(
      try journal.job(id)
        == JobRecord(
          id: id, name: "nightly",
          options: RequestOptions(
            variant: variant, expiry: Expiry(.after(milliseconds: 86_400_000)), priority: -1),
          state: .queued, counts: counts, submittedAt: .now, startedAt: .now(plusSeconds: 2),
          lowWater: 4))
    let expected: [Outcome?] = [
      .done(.sample, fromCache: false, bytesFetched: 70_000), .failed(.passing),
      .failed(.sample), .cancelled, nil, nil,
    ]
    #expect(try journal.outcomes(of: id) == expected)
    #expect(try journal.unfinishedJobs().map(\.id) == [id])
    #expect(try journal.openLines(of: id).map(\.url) == ["e", "f"])
    #expect(try journal.nextJobID() == JobID(rawValue: 6))
  }

  @Test func `old failures can be tried again`() throws {
    let journal = try open(jobs: [1: Self.running], outcomes: Self.outcomes)
    try journal.apply([
      .change(id, .cancel, at: .now), .change(id, .retry(includesFinal: false), at: .now),
    ])
    #expect(try journal.openLines(of: id).map(\.url) == ["b", "d", "e", "f"])
    #expect(try journal.job(id)?.counts.finished == 2)
  }

  @Test func `a job that has ended keeps its end, and one never sealed goes`() throws {
    let journal = try open(
      jobs: [
        2: Self.ended(2, state: "finished"), 3: Self.ended(3, state: "cancelled"),
        4: Self.ended(4, state: "submitting"),
      ], outcomes: [])
    #expect(try journal.jobs(limit: 9).map(\.id.rawValue) == [3, 2])
    let finished = try #require(try journal.job(JobID(rawValue: 2)))
    #expect(finished.state == .finished)
    #expect(finished.name == nil)
    #expect(finished.finishedAt == .now(plusSeconds: 60))
    #expect(finished.options == RequestOptions(variant: .standard))
    #expect(try journal.job(JobID(rawValue: 3))?.state == .cancelled)
  }

  @Test func `more failures than are held in memory at once are upgraded, once`() throws {
    let outcomes = [[UInt8]](repeating: Self.failure(isRetryable: true, Self.passing), count: 9_000)
    for _ in 0..<2 {
      let journal = try open(jobs: [1: Self.running], outcomes: outcomes)
      #expect(try journal.job(id)?.counts.retryable == 9_000)
      let records = try recordByteCounts(in: journal)
      #expect(records == [Int](repeating: outcomes[0].count + 7, count: 9_000))
    }
  }

  @Test func `an upgrade that fails leaves the journal as it was`() throws {
    let damaged = [Self.failure(isRetryable: true, Self.passing), [2, 0x7B]]
    for _ in 0..<2 {
      let error = #expect(throws: StoreError.self) {
        try open(jobs: [1: Self.running], outcomes: damaged)
      }
      #expect(error?.reason == .damaged)
    }
    let options = Environment.Options(content: .jobs)
    let environment = try Environment(directory: directory.path, options: options)
    let version = try environment.read { transaction throws(StoreError) in
      let meta = try transaction.openDatabase("meta", isCreated: false)
      return try transaction.withValue(of: Array("schema".utf8), in: meta) { $0.copy() }
    }
    #expect(version == [1, 0, 0, 0])
  }

  // MARK: - The first release's records

  private static let running = """
    {"job":1,"name":"nightly","options":{"variant":{"width":100,"height":50,"mode":"fill",\
    "crop":true,"format":"webp","quality":80},"expire_after_ms":86400000,"priority":-1},\
    "state":"queued","counts":{"total":6,"done":1,"failed":2,"cancelled":1,"from_cache":0,\
    "bytes_fetched":70000,"bytes_stored":9321},"submitted_at":"2027-01-15T08:00:00.000Z",\
    "started_at":"2027-01-15T08:00:02.000Z","low_water":4}
    """

  private static func ended(_ id: Int, state: String) -> String {
    """
    {"job":\(id),"options":{"variant":{"width":256,"height":256,"mode":"fit","crop":false,\
    "format":"auto","quality":80},"priority":0},"state":"\(state)","counts":{"total":0,"done":0,\
    "failed":0,"cancelled":0,"from_cache":0,"bytes_fetched":0,"bytes_stored":0},\
    "submitted_at":"2027-01-15T08:00:00.000Z","finished_at":"2027-01-15T08:01:00.000Z",\
    "low_water":0}
    """
  }

  private static let passing = #""stage":"fetch","code":"timeout","detail":"no answer in 30 s""#
  private static let staying =
    #""stage":"fetch","code":"http_status","http_status":404,"detail":"Not Found""#

  private static func failure(isRetryable: Bool, _ rest: String) -> [UInt8] {
    [2] + Array("{\(rest),\"retryable\":\(isRetryable)}".utf8)
  }

  private static let outcomes: [[UInt8]] = [
    [1, 0, 1, 0, 0, 1, 0, 0, 144, 0, 0, 0, 0x69, 0x24, 0, 0, 0x70, 0x11, 1, 0, 0, 0, 0, 0],
    failure(isRetryable: true, passing), failure(isRetryable: false, staying), [3],
  ]

  /// Writes a journal of the first release, unless there is a journal already, and opens it.
  private func open(jobs: [UInt64: String], outcomes: [[UInt8]]) throws -> Journal {
    try write(jobs: jobs, outcomes: outcomes)
    return try Journal(directory: directory.path)
  }

  private func write(jobs: [UInt64: String], outcomes: [[UInt8]]) throws {
    var options = Environment.Options(content: .jobs)
    options.mapByteCount = 1 << 26
    let environment = try Environment(directory: directory.path, options: options)
    try environment.write { transaction throws(StoreError) in
      let meta = try transaction.openDatabase("meta", isCreated: true)
      let isNew = try transaction.insert([1, 0, 0, 0], for: Array("schema".utf8), in: meta)
      guard isNew else { return }
      try transaction.put([5, 0, 0, 0, 0, 0, 0, 0], for: Array("last_job".utf8), in: meta)
      let records = try transaction.openDatabase("jobs", isCreated: true)
      for (job, record) in jobs {
        let key = JournalKey.job(JobID(rawValue: job))
        try transaction.put(Array(record.utf8), for: key, in: records)
      }
      let lines = try transaction.openDatabase("lines", isCreated: true)
      let chunk = "abcdef".utf8.flatMap { [1, 0, $0] as [UInt8] }
      try transaction.put(chunk, for: JournalKey.line(id, index: 0), in: lines)
      let table = try transaction.openDatabase("outcomes", isCreated: true)
      for (index, outcome) in outcomes.enumerated() {
        try transaction.put(outcome, for: JournalKey.line(id, index: index), in: table)
      }
    }
  }

  private func recordByteCounts(in journal: Journal) throws -> [Int] {
    var counts: [Int] = []
    try journal.environment.read { transaction throws(StoreError) in
      try journal.tables.scanOutcomes(of: id, from: 0, transaction) { _, record in
        counts.append(record.count)
        return true
      }
    }
    return counts
  }
}
