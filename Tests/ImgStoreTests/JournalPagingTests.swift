import ImgWire
import Testing

@testable import ImgStore

@Suite(.timeLimit(.minutes(1)))
struct JournalPagingTests {
  private let directory: TemporaryDirectory
  private let journal: Journal
  private let id = JobID(rawValue: 7)

  init() throws {
    directory = try TemporaryDirectory()
    journal = try Journal(directory: directory.path)
  }

  @Test func `pages of 100,000 lines have each open line once`() throws {
    try submit(lineCount: 100_000)
    // Every third line is done; those of the last page, too.
    try recordOutcomes(stride(from: 0, to: 100_000, by: 3).map { $0 })
    var seen: [Int] = []
    var next: Int? = 0
    while let from = next {
      let page = try journal.urls(of: id, from: from, limit: 4_000)
      #expect(page.entries.count <= 4_000)
      #expect(page.entries.allSatisfy { $0.url == "https://example.org/\($0.index)" })
      seen += page.entries.map(\.index)
      next = page.next
    }
    #expect(seen == (0..<100_000).filter { $0 % 3 != 0 })
  }

  @Test func `a page of long lines ends at 256 KiB of text`() throws {
    let line = String(repeating: "x", count: 8_000)
    try journal.apply([
      .createJob(JobRecord(id: id, options: options, submittedAt: .now)),
      .appendURLs(id, [String](repeating: line, count: 100)), .seal(id),
    ])
    let first = try journal.urls(of: id, from: 0, limit: 1_000)
    #expect(first.entries.count == 33)
    #expect(first.next == 33)
    #expect(try journal.urls(of: id, from: 99, limit: 1_000).next == nil)
  }

  @Test func `jobs come newest first, in pages, without those never sealed`() throws {
    for number in UInt64(1)...300 {
      let job = JobID(rawValue: number)
      try journal.apply([
        .createJob(JobRecord(id: job, options: options, submittedAt: .now)),
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

  @Test func `unfinished are the jobs that were accepted and have not ended`() throws {
    for number in UInt64(1)...4 {
      let job = JobID(rawValue: number)
      try journal.apply([.createJob(JobRecord(id: job, options: options, submittedAt: .now))])
      if number != 4 { try journal.apply([.seal(job)]) }
    }
    try journal.apply([.finish(JobID(rawValue: 2), at: .now)])
    #expect(try journal.unfinishedJobs().map(\.id.rawValue) == [1, 3])
  }

  @Test func `a list whose open lines lie far behind is found by following the pages`() throws {
    try submit(lineCount: 70_000)
    try recordOutcomes(Array(1..<69_999))
    let first = try journal.urls(of: id, from: 0, limit: 10)
    #expect(first.entries.map(\.index) == [0])
    let rest = try journal.urls(of: id, from: try #require(first.next), limit: 10)
    #expect(rest.entries.map(\.index) == [69_999])
    #expect(rest.next == nil)
  }

  @Test(arguments: [1, 255, 256, 257, 1_000])
  func `results come in pages of any size`(limit: Int) throws {
    try submit(lineCount: 600)
    try recordOutcomes(Array(0..<500))
    var entries: [ResultPage.Entry] = []
    var next: Int? = 0
    while let from = next {
      let page = try journal.results(of: id, from: from, limit: limit, isFailedOnly: false)
      #expect(page.entries.count == min(limit, 600 - from))
      entries += page.entries
      next = page.next
    }
    #expect(entries.map(\.index) == Array(0..<600))
    #expect(entries.allSatisfy { $0.url == "https://example.org/\($0.index)" })
    #expect(entries.allSatisfy { $0.outcome == ($0.index < 500 ? outcome(of: $0.index) : nil) })
  }

  @Test func `of the results only the failed ones can be read`() throws {
    try submit(lineCount: 600)
    try recordOutcomes(Array(0..<600))
    var entries: [ResultPage.Entry] = []
    var next: Int? = 0
    while let from = next {
      let page = try journal.results(of: id, from: from, limit: 25, isFailedOnly: true)
      entries += page.entries
      next = page.next
    }
    #expect(entries.map(\.index) == (0..<600).filter { $0 % 10 == 4 })
    #expect(entries.allSatisfy { $0.outcome == .failed(.sample) })
    #expect(entries.allSatisfy { $0.url == "https://example.org/\($0.index)" })
  }

  @Test func `beyond the end and of an unknown job there is nothing`() throws {
    try submit(lineCount: 3)
    #expect(try journal.urls(of: id, from: 3, limit: 5) == URLPage())
    #expect(try journal.results(of: id, from: 3, limit: 5, isFailedOnly: false) == ResultPage())
    let unknown = JobID(rawValue: 8)
    #expect(try journal.urls(of: unknown, from: 0, limit: 5) == URLPage())
    #expect(
      try journal.results(of: unknown, from: 0, limit: 5, isFailedOnly: true) == ResultPage())
  }

  @Test func `neighbouring jobs do not mix`() throws {
    try submit(lineCount: 3)
    let neighbour = JobID(rawValue: 8)
    try journal.apply([
      .createJob(JobRecord(id: neighbour, options: options, submittedAt: .now)),
      .appendURLs(neighbour, ["a", "b"]), .seal(neighbour),
      .record(neighbour, index: 0, .failed(.sample)),
    ])
    #expect(
      try journal.results(of: id, from: 0, limit: 9, isFailedOnly: true) == ResultPage())
    #expect(try journal.urls(of: id, from: 0, limit: 9).entries.count == 3)
    #expect(try journal.urls(of: neighbour, from: 0, limit: 9).entries.map(\.url) == ["b"])
  }

  @Test(
    arguments: [
      .done(.sample, fromCache: true, bytesFetched: 0),
      .done(
        Thumbnail(format: .avif, width: 16_383, height: 1, byteCount: 4_000_000_000),
        fromCache: false, bytesFetched: 5_000_000_000),
      .failed(.sample),
      .failed(Failure(stage: .decode, code: .corruptImage, detail: "")),
      .cancelled,
    ] as [Outcome])
  func `an outcome survives its record`(outcome: Outcome) throws {
    let record = try OutcomeRecord.encode(outcome)
    #expect(try decode(record) == outcome)
    if case .done = outcome { #expect(record.count == 24) }
  }

  @Test(arguments: [
    [], [0], [4], [1, 0, 1, 0], [2, 0x7B], [1] + [UInt8](repeating: 0, count: 23),
  ])
  func `a damaged outcome is an error`(record: [UInt8]) throws {
    let error = #expect(throws: StoreError.self) { try decode(record) }
    #expect(error?.reason == .damaged)
  }

  private var options: RequestOptions { RequestOptions(variant: .standard) }

  private func submit(lineCount: Int) throws {
    let lines = (0..<lineCount).map { "https://example.org/\($0)" }
    try journal.apply([
      .createJob(JobRecord(id: id, options: options, submittedAt: .now)),
      .appendURLs(id, lines), .seal(id),
    ])
  }

  private func recordOutcomes(_ indices: [Int]) throws {
    try journal.apply(indices.map { .record(id, index: $0, outcome(of: $0)) })
  }

  private func outcome(of index: Int) -> Outcome {
    index % 10 == 4 ? .failed(.sample) : .done(.sample, fromCache: false, bytesFetched: index)
  }

  /// A span cannot pass through `#expect`.
  private func decode(_ record: [UInt8]) throws -> Outcome {
    try OutcomeRecord.decode(record.span)
  }
}
