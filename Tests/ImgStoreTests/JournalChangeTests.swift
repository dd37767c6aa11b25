import ImgModel
import TestFiles
import Testing

@testable import ImgStore

/// What people ask of a job that was accepted, and outcomes around it.
@Suite(.timeLimit(.minutes(20))) struct JournalChangeTests {
  private let directory = TestDirectory()
  private let journal: Journal
  private let id = JobID(rawValue: 1)
  private let done = Outcome.done(.sample, fromCache: false, bytesFetched: 1)

  init() throws {
    journal = try Journal(directory: directory.path)
  }

  // MARK: - Changes

  @Test func `changes of unknown and unaccepted jobs have no effect`() throws {
    try journal.apply([.createJob(.sample(id)), .appendURLs(id, ["a"])])
    try change(.pause, .cancel, .remove)
    #expect(try journal.job(id)?.state == .submitting)
    try journal.apply(.discard(id))
    try change(.pause, .cancel, .retry(includesFinal: true), .remove)
    #expect(try journal.job(id) == nil)
  }

  @Test func `the lines of a job that name local files are counted`() throws {
    var job = JobRecord.sample(id)
    job.counts.localFiles = 0
    let file = FileURL.text(ofPath: Array("/a.jpg".utf8), state: [1])
    try journal.apply([
      .createJob(job), .appendURLs(id, [file, "https://h/a.jpg#imgctl-1", "file:///a.jpg"]),
      .appendURLs(id, [file]), .seal(id),
    ])
    #expect(try journal.job(id)?.counts.localFiles == 2)
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

  // MARK: - Retries

  @Test func `a retry reopens temporary failures`() throws {
    try endWithFailures()
    try change(.retry(includesFinal: false))
    #expect(try journal.openLines(of: id).map(\.index) == [1, 4])
    #expect(try journal.openLines(of: id, order: .lastInFirstOut, limit: 1).map(\.index) == [4, 1])
    #expect(try journal.outcomes(of: id) == [done, nil, .failed(.sample), done, nil])
    #expect(try journal.allResults(of: id, isFailedOnly: true).map(\.index) == [2])
    #expect(try journal.job(id)?.lowWater == 1)
    var expected = JobCounts(total: 5)
    for outcome in [done, done, .failed(.sample)] { expected.count(outcome, keep: .thumbnail) }
    #expect(try journal.job(id)?.counts == expected)
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

  private func change(_ changes: ImageJobChange...) throws {
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

@Suite(.timeLimit(.minutes(20))) struct JournalPagingTests {
  private let directory = TestDirectory()
  private let journal: Journal
  private let id = JobID(rawValue: 7)

  init() throws {
    journal = try Journal(directory: directory.path)
  }

  @Test(arguments: LineOrder.allCases)
  func `pages of 100,000 lines have each open line once, in order`(order: LineOrder) throws {
    try journal.submit(id, lineCount: 100_000)
    // Every third line is done; those of the last page, too.
    try recordOutcomes(stride(from: 0, to: 100_000, by: 3).map { $0 })
    let entries = try journal.openLines(of: id, order: order, limit: 4_000)
    #expect(entries.allSatisfy { $0.url == "https://example.org/\($0.index)" })
    let open = (0..<100_000).filter { $0 % 3 != 0 }
    #expect(entries.map(\.index) == (order == .firstInFirstOut ? open : open.reversed()))
  }

  @Test(arguments: LineOrder.allCases)
  func `scattered positions are read alone, without lines that ended`(order: LineOrder) throws {
    try journal.submit(id, lineCount: 5_000)
    try recordOutcomes([order.line(at: 700, of: 5_000)])
    let positions = [3..<4, 300..<303, 700..<702, 4_999..<5_000]
    func read(limit: Int) throws -> URLPage {
      try journal.urls(of: id, positions: positions, order: order, limit: limit)
    }
    let wanted = [3, 300, 301, 302, 701, 4_999].map { order.line(at: $0, of: 5_000) }
    let whole = try read(limit: 100)
    #expect(whole.entries.map(\.index) == wanted)
    #expect(whole.entries.allSatisfy { $0.url == "https://example.org/\($0.index)" })
    #expect(whole.next == 5_000)
    let part = try read(limit: 2)
    #expect(part.entries.map(\.index) == Array(wanted.prefix(2)))
    #expect(part.next == 301)
  }

  @Test func `a page of long lines ends at 256 KiB of text`() throws {
    let line = String(repeating: "x", count: 8_000)
    try journal.apply([
      .createJob(.sample(id)),
      .appendURLs(id, ListLines([String](repeating: line, count: 100))), .seal(id),
    ])
    for order in LineOrder.allCases {
      let first = try journal.urls(of: id, positions: [0..<100], order: order, limit: 1_000)
      #expect(first.entries.count == 33)
      #expect(first.next == 33)
      let last = try journal.urls(of: id, positions: [99..<100], order: order, limit: 1_000)
      #expect(last.entries.count == 1)
      #expect(last.next == 100)
    }
  }

  @Test func `jobs are listed newest first, in pages, without unsealed submissions`() throws {
    for number in UInt64(1)...300 {
      let job = JobID(rawValue: number)
      try journal.apply([
        .createJob(.sample(job)),
        .appendURLs(job, ["a"]),
      ])
      if number != 299 { try journal.apply([.seal(job)]) }
    }
    #expect(try journal.jobs(limit: 3).map(\.id.rawValue) == [300, 298, 297])
    #expect(
      try journal.jobs(before: JobID(rawValue: 256), limit: 2).map(\.id.rawValue) == [255, 254])
    #expect(try journal.jobs(before: JobID(rawValue: 900), limit: 1).map(\.id.rawValue) == [300])
    #expect(try journal.jobs(before: JobID(rawValue: 3), limit: 9).map(\.id.rawValue) == [2, 1])
    #expect(try journal.jobs(before: JobID(rawValue: 1), limit: 9) == [])
  }

  @Test func `unfinished jobs are accepted and have not ended`() throws {
    let jobs = (UInt64(1)...5).map(JobID.init(rawValue:))
    for job in jobs.dropLast() { try journal.submit(job, lineCount: 1) }
    try journal.apply([
      .createJob(.sample(jobs[4])), .finish(jobs[1], at: .now),
      .change(jobs[2], .pause, at: .now), .change(jobs[3], .cancel, at: .now),
    ])
    #expect(try journal.unfinishedJobs().map(\.id.rawValue) == [1, 3])
  }

  @Test func `open lines far behind are found by following the pages`() throws {
    try journal.submit(id, lineCount: 70_000)
    try recordOutcomes(Array(1..<69_999))
    let first = try page(0..<70_000)
    #expect(first.entries.map(\.index) == [0])
    #expect(first.next < 70_000)
    let rest = try page(first.next..<70_000)
    #expect(rest.entries.map(\.index) == [69_999])
    #expect(rest.next == 70_000)
    let last = try page(0..<70_000, .lastInFirstOut)
    #expect(last.entries.map(\.index) == [69_999])
    #expect(last.next < 70_000)
    #expect(try page(last.next..<70_000, .lastInFirstOut).entries.map(\.index) == [0])
  }

  @Test func `a page contains only its positions and the start of the next one`() throws {
    try journal.submit(id, lineCount: 10)
    try recordOutcomes([4])
    let middle = try page(2..<7)
    #expect(middle.entries.map(\.index) == [2, 3, 5, 6])
    #expect(middle.next == 7)
    let reversed = try page(2..<7, .lastInFirstOut)
    #expect(reversed.entries.map(\.index) == [7, 6, 5, 3])
    #expect(reversed.next == 7)
    let full = try page(2..<7, .lastInFirstOut, limit: 3)
    #expect(full.entries.map(\.index) == [7, 6, 5])
    #expect(full.next == 5)
    #expect(try page(2..<7, limit: 4).next == 7)
    #expect(try page(5..<5) == URLPage(next: 5))
  }

  @Test(arguments: LineOrder.allCases)
  func `positions behind the end are empty`(order: LineOrder) throws {
    try journal.submit(id, lineCount: 3)
    let across = try page(2..<1_000, order)
    #expect(across.entries.count == 1)
    #expect(across.next == 1_000)
    #expect(try page(3..<9, order) == URLPage(next: 9))
    #expect(try page(7..<9, order) == URLPage(next: 9))
    try recordOutcomes([0, 1, 2])
    #expect(try page(0..<3, order) == URLPage(next: 3))
  }

  @Test func `lines below the low-water mark are skipped at once`() throws {
    try journal.submit(id, lineCount: 200_000)
    for start in stride(from: 0, to: 150_000, by: 10_000) {
      try recordOutcomes(Array(start..<start + 10_000))
    }
    #expect(try page(0..<200_000, limit: 1).entries.map(\.index) == [150_000])
    let behind = try page(50_000..<200_000, .lastInFirstOut)
    #expect(behind == URLPage(next: 200_000))
  }

  @Test func `a job that is not active has no lines to read`() throws {
    try journal.apply([.createJob(.sample(id)), .appendURLs(id, ["a", "b"])])
    #expect(try page(0..<2) == URLPage(next: 2))
    try journal.apply(.seal(id))
    #expect(try page(0..<2).entries.count == 2)
    try journal.apply(.change(id, .pause, at: .now))
    #expect(try page(0..<2).entries.count == 2)
    try journal.apply(.change(id, .cancel, at: .now))
    #expect(try page(0..<2) == URLPage(next: 2))
  }

  @Test(arguments: [1, 255, 256, 257, 1_000])
  func `results come in pages of any size`(limit: Int) throws {
    try journal.submit(id, lineCount: 600)
    try recordOutcomes(Array(0..<500))
    let first = try journal.results(of: id, from: 0, limit: limit, isFailedOnly: false)
    #expect(first.entries.count == min(limit, 600))
    let entries = try journal.allResults(of: id, limit: limit)
    #expect(entries.map(\.index) == Array(0..<600))
    #expect(entries.allSatisfy { $0.url == "https://example.org/\($0.index)" })
    #expect(entries.allSatisfy { $0.outcome == ($0.index < 500 ? outcome(of: $0.index) : nil) })
  }

  @Test func `results can be limited to failures`() throws {
    try journal.submit(id, lineCount: 600)
    try recordOutcomes(Array(0..<600))
    let entries = try journal.allResults(of: id, limit: 25, isFailedOnly: true)
    #expect(entries.map(\.index) == (0..<600).filter { $0 % 10 == 4 })
    #expect(entries.allSatisfy { $0.outcome == .failed(.sample) })
    #expect(entries.allSatisfy { $0.url == "https://example.org/\($0.index)" })
  }

  @Test func `reading beyond the end or of an unknown job returns nothing`() throws {
    try journal.submit(id, lineCount: 3)
    #expect(try journal.results(of: id, from: 3, limit: 5, isFailedOnly: false) == ResultPage())
    let unknown = JobID(rawValue: 8)
    #expect(
      try journal.urls(of: unknown, positions: [0..<5], order: .firstInFirstOut, limit: 5)
        == URLPage(next: 5))
    #expect(try journal.results(of: unknown, from: 0, limit: 5, isFailedOnly: true) == ResultPage())
  }

  @Test func `lines of neighbouring jobs do not mix`() throws {
    try journal.submit(id, lineCount: 3)
    let neighbour = JobID(rawValue: 8)
    try journal.apply([
      .createJob(.sample(neighbour)),
      .appendURLs(neighbour, ["a", "b"]), .seal(neighbour),
      .record(neighbour, index: 0, .failed(.sample)),
    ])
    #expect(try journal.results(of: id, from: 0, limit: 9, isFailedOnly: true) == ResultPage())
    #expect(try journal.openLines(of: id).count == 3)
    #expect(try journal.openLines(of: neighbour).map(\.url) == ["b"])
  }

  private func page(
    _ positions: Range<Int>, _ order: LineOrder = .firstInFirstOut, limit: Int = 1_000
  ) throws -> URLPage {
    try journal.urls(of: id, positions: [positions], order: order, limit: limit)
  }

  private func recordOutcomes(_ indices: [Int]) throws {
    try journal.apply(indices.map { .record(id, index: $0, outcome(of: $0)) })
  }

  private func outcome(of index: Int) -> Outcome {
    index % 10 == 4 ? .failed(.sample) : .done(.sample, fromCache: false, bytesFetched: index)
  }
}
