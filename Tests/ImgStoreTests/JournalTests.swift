import ImgModel
import SeededRandom
import TestFiles
import Testing

@testable import ImgStore

@Suite(.timeLimit(.minutes(20))) struct JournalTests {
  private let directory = TestDirectory()
  private let journal: Journal
  private let id = JobID(rawValue: 1)

  init() throws {
    journal = try Journal(directory: directory.path + "/journal")
  }

  // MARK: - Submissions

  @Test func `a sealed job is queued with all its lines`() throws {
    try journal.submit(id, lineCount: 3)
    let job = try #require(try journal.job(id))
    #expect(job.state == .queued)
    #expect(job.counts == JobCounts(total: 3))
    #expect(job.submittedAt == .now)
    #expect(try journal.jobs(limit: 10) == [job])
  }

  @Test func `lines come back as they were written`() throws {
    let lines = [
      "", "  spaces ", "ünï ✓", "not a url",
      String(repeating: "x", count: LineChunk.maximumLineByteCount),
    ]
    try journal.apply([.createJob(.sample(id)), .appendURLs(id, ListLines(lines)), .seal(id)])
    #expect(try journal.openLines(of: id).map(\.url) == lines)
  }

  @Test func `each line has its place in the lists, wherever parts and chunks end`() throws {
    var expected: [LinePlace?] = []
    var operations: [JournalOperation] = [.createJob(.sample(id))]
    for (list, count) in [3, 300, 1, 600].enumerated() {
      var lines = ListLines()
      for number in 0..<count {
        // Two of three lines of a list are URLs.
        expected.append(LinePlace(line: number / 2 * 3 + number % 2 + 1, list: list))
        lines.append(ListLine("line \(number)", at: expected.last ?? nil))
      }
      // Pictures between the lists are in none.
      lines.append(ListLine("picture \(list)"))
      expected.append(nil)
      operations.append(.appendURLs(id, lines))
    }
    try journal.apply(operations + [.seal(id)])
    #expect(try journal.allResults(of: id, limit: 100).map(\.place) == expected)
    #expect(try journal.openLines(of: id).map(\.url).last == "picture 3")
    let later = try journal.urls(
      of: id, positions: [700..<701], order: .firstInFirstOut, limit: 1)
    #expect(later.entries.map(\.url) == ["line 393"])
  }

  @Test func `lines come with what they have in columns, and a removed job leaves none`() throws {
    let other = JobID(rawValue: id.rawValue + 1)
    try journal.submit(id, lineCount: 1_000, columns: ["number", "caption"])
    try journal.submit(other, lineCount: 400, columns: ["number", "caption"])
    for (job, count) in [(id, 1_000), (other, 400)] {
      let results = try journal.allResults(of: job, limit: 70)
      #expect(results.count == count)
      for result in results {
        let json = "[\"\(result.index)\",\"Picture \(result.index)\"]"
        #expect(result.line.columns.json == (result.index < 300 ? "" : json))
      }
    }
    #expect(try journal.job(id)?.columns == ["number", "caption"])
    try journal.apply(.record(id, index: 777, .failed(.passing)))
    let failed = try journal.results(of: id, from: 0, limit: 10, isFailedOnly: true)
    #expect(failed.entries.map(\.line.columns.json) == ["[\"777\",\"Picture 777\"]"])
    try journal.apply([.change(id, .cancel, at: .now), .change(id, .remove, at: .now)])
    while try journal.removeLeftovers() {}
    var keys = 0
    try journal.environment.read { transaction throws(StoreError) in
      try transaction.scan(journal.tables.lines) { key, _ in
        if key.bigEndian(at: 0, as: UInt64.self) == id.rawValue { keys += 1 }
        return true
      }
    }
    #expect(keys == 0)
  }

  @Test func `lines of an earlier release are readable, and have no place`() throws {
    let key = JournalKey.line(id, index: 0)
    let record = JournalRecord.encode([4, 1, 0, 0x61, 2, 0, 0x62, 0x63], for: key)
    let lines = try LineChunk.lines(in: record.span, for: key.span)
    #expect(lines == [ListLine("a"), ListLine("bc")])
  }

  @Test func `failures are counted by code, and a retry takes back what it repeats`() throws {
    try journal.submit(id, lineCount: 4)
    let gone = Failure(stage: .fetch, code: .httpStatus, httpStatus: 404, detail: "HTTP 404")
    try journal.apply([
      .record(id, index: 0, .failed(.passing)), .record(id, index: 1, .failed(gone)),
      .record(id, index: 2, .failed(gone)), .record(id, index: 3, .failed(.passing)),
      .finish(id, at: .now),
    ])
    func groups() throws -> [String]? {
      try journal.job(id).map { job in
        ImageJob(job).failures.map { "\($0.count) \($0.code) \($0.isRetryable): \($0.message)" }
      }
    }
    #expect(
      try groups() == ["2 http_status false: HTTP 404", "2 timeout true: no answer in 30 s"])
    try journal.apply(.change(id, .retry(includesFinal: false), at: .now))
    #expect(try groups() == ["2 http_status false: HTTP 404"])
    try journal.apply([.record(id, index: 0, .failed(.passing)), .record(id, index: 3, .cancelled)])
    #expect(try groups()?.last == "1 timeout true: no answer in 30 s")
    try journal.apply([.finish(id, at: .now), .change(id, .retry(includesFinal: true), at: .now)])
    #expect(try groups() == [])
  }

  @Test func `the failures of a job that an earlier release began are counted by code`() throws {
    let path = directory.path + "/earlier"
    do {
      let earlier = try Journal(directory: path)
      try earlier.submit(id, lineCount: 2)
      try earlier.apply(.record(id, index: 0, .failed(.passing)))
      var job = try #require(try earlier.job(id))
      job.counts = JobCounts(total: 2)
      (job.counts.failed, job.counts.retryable) = (1, 1)
      try earlier.environment.write { transaction throws(StoreError) in
        try earlier.tables.put(job, transaction)
      }
    }
    let reopened = try #require(try Journal(directory: path).job(id))
    #expect(ImageJob(reopened).failures.map(\.code) == [.timeout])
  }

  @Test func `parts of any size make up one list`() throws {
    var operations: [JournalOperation] = [.createJob(.sample(id))]
    var expected: [String] = []
    for count in [1, 255, 0, 257, 100, 512, 3] {
      let lines = (0..<count).map { "line \(expected.count + $0)" }
      expected += lines
      operations.append(.appendURLs(id, ListLines(lines)))
      try journal.apply(operations)
      operations = []
    }
    try journal.apply([.seal(id)])
    let entries = try journal.openLines(of: id)
    #expect(entries.map(\.url) == expected)
    #expect(entries.map(\.index) == Array(0..<expected.count))
  }

  @Test func `a line that is too long refuses the whole group`() throws {
    let line = String(repeating: "x", count: LineChunk.maximumLineByteCount + 1)
    let error = #expect(throws: StoreError.self) {
      try journal.apply([.createJob(.sample(id)), .appendURLs(id, ["short", line])])
    }
    #expect(error?.code == .badValueSize)
    #expect(try journal.jobs(limit: 10) == [])
  }

  @Test func `a submission that was never sealed is gone after opening`() throws {
    let path = directory.path + "/other"
    do {
      let first = try Journal(directory: path)
      try first.submit(id, lineCount: 3)
      let unsealed = JobID(rawValue: 2)
      try first.apply([.createJob(.sample(unsealed)), .appendURLs(unsealed, ["a", "b"])])
      #expect(try first.job(unsealed) != nil)
    }
    let second = try Journal(directory: path)
    #expect(try second.jobs(limit: 10).map(\.id) == [id])
    #expect(try second.nextJobID() == JobID(rawValue: 3))
  }

  @Test func `a discarded submission leaves nothing`() throws {
    let lines = (0..<10_000).map { "line \($0)" }
    try journal.apply([.createJob(.sample(id)), .appendURLs(id, ListLines(lines)), .discard(id)])
    #expect(try journal.job(id) == nil)
    try journal.apply([])
    #expect(try entryCount(of: journal.tables.lines) == 0)
    #expect(try entryCount(of: journal.tables.leftovers) == 0)
    // What follows in the same queue changes nothing.
    try journal.apply([.appendURLs(id, ["late"]), .discard(id), .start(id, at: .now)])
    #expect(try journal.job(id) == nil)
  }

  @Test func `a sealed job cannot be discarded or grow`() throws {
    try journal.submit(id, lineCount: 3)
    try journal.apply([.discard(id), .appendURLs(id, ["more"])])
    #expect(try journal.job(id)?.counts.total == 3)
  }

  @Test func `sealing an unknown job and creating a job twice are errors`() throws {
    #expect(throws: StoreError.self) { try journal.apply([.seal(id)]) }
    try journal.submit(id, lineCount: 1)
    let error = #expect(throws: StoreError.self) { try journal.apply([.createJob(.sample(id))]) }
    #expect(error?.code == .keyExists)
  }

  @Test func `a job's number is never used again`() throws {
    #expect(try journal.nextJobID() == JobID(rawValue: 1))
    try journal.submit(JobID(rawValue: 1), lineCount: 1)
    #expect(try journal.nextJobID() == JobID(rawValue: 2))
    try journal.apply([.createJob(.sample(JobID(rawValue: 2))), .discard(JobID(rawValue: 2))])
    #expect(try journal.nextJobID() == JobID(rawValue: 3))
  }

  // MARK: - Outcomes

  @Test func `outcomes are counted exactly`() throws {
    try journal.submit(id, lineCount: 5)
    try journal.apply([
      .start(id, at: .now),
      .record(id, index: 0, .done(.sample, fromCache: false, bytesFetched: 70_000)),
      .record(id, index: 1, .done(.sample, fromCache: true, bytesFetched: 0)),
      .record(id, index: 2, .failed(.sample)),
    ])
    try journal.apply([.record(id, index: 3, .cancelled), .start(id, at: .now(plusSeconds: 9))])
    let job = try #require(try journal.job(id))
    var expected = JobCounts(total: 5)
    expected.count(.failed(.sample), keep: .thumbnail)
    #expect(expected.failed == 1)
    expected.done = 2
    expected.cancelled = 1
    expected.fromCache = 1
    expected.bytesFetched = 70_000
    expected.bytesStored = Int64(Thumbnail.sample.byteCount)
    #expect(job.counts == expected)
    #expect(job.startedAt == .now)
    #expect(job.lowWater == 4)
  }

  @Test func `the low-water mark stops at the first line without an outcome`() throws {
    try journal.submit(id, lineCount: 10)
    try journal.apply([3, 1, 2].map { .record(id, index: $0, .cancelled) })
    #expect(try journal.job(id)?.lowWater == 0)
    try journal.apply([.record(id, index: 0, .cancelled)])
    #expect(try journal.job(id)?.lowWater == 4)
  }

  @Test func `a group is applied as a whole or not at all`() throws {
    try journal.submit(id, lineCount: 2)
    #expect(throws: StoreError.self) {
      try journal.apply([.record(id, index: 0, .cancelled), .seal(JobID(rawValue: 9))])
    }
    #expect(try journal.job(id)?.counts.finished == 0)
    #expect(try entryCount(of: journal.tables.outcomes) == 0)
  }

  // MARK: - The environment

  @Test(arguments: [(UInt8(2), StoreError.Reason.olderVersion), (99, .newerVersion)])
  func `a journal of another schema is refused with advice and left as it is`(
    schema: UInt8, reason: StoreError.Reason
  ) throws {
    let path = directory.path + "/other"
    do {
      let first = try Journal(directory: path)
      try first.environment.write { transaction throws(StoreError) in
        try transaction.put([schema, 0, 0, 0], for: Array("schema".utf8), in: first.tables.meta)
      }
    }
    for _ in 0..<2 {
      let error = #expect(throws: StoreError.self) { try Journal(directory: path) }
      #expect(error?.reason == reason)
      #expect(
        error?.description.contains("move it away, run imgctl start, and submit its jobs again")
          == true)
    }
  }

  @Test func `the jobs of the schema before are kept`() throws {
    let path = directory.path + "/before"
    do {
      let first = try Journal(directory: path)
      try first.submit(id, lineCount: 3)
      try first.environment.write { transaction throws(StoreError) in
        try transaction.put([4, 0, 0, 0], for: Array("schema".utf8), in: first.tables.meta)
      }
    }
    #expect(try Journal(directory: path).openLines(of: id).count == 3)
  }

  @Test func `a map that is full grows`() throws {
    let small = try Journal(directory: directory.path + "/small", mapByteCount: 1 << 17)
    let lines = (0..<20_000).map { "https://example.org/\($0)" }
    try small.apply([.createJob(.sample(id)), .appendURLs(id, ListLines(lines)), .seal(id)])
    #expect(try small.environment.mapByteCount > 1 << 17)
    #expect(try small.job(id)?.counts.total == 20_000)
    let end = try small.urls(
      of: id, positions: [19_999..<20_000], order: .firstInFirstOut, limit: 1)
    #expect(end.entries.map(\.url) == [lines[19_999]])
  }

  private func entryCount(of table: Database) throws -> Int {
    try journal.environment.read { transaction throws(StoreError) in
      try transaction.statistics(of: table).entryCount
    }
  }
}

/// The journal against a model that keeps one outcome a line and clears those a retry reopens.
@Suite(.timeLimit(.minutes(20))) struct JournalModelTests {
  private let id = JobID(rawValue: 1)

  @Test(arguments: UInt64(0)..<8)
  func `the journal agrees with its model after any sequence of operations`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let directory = TestDirectory()
    var model = JobModel(lineCount: Int.random(in: 1...400, using: &random))
    try Journal(directory: directory.path).submit(id, lineCount: model.outcomes.count)
    // Each round reopens the journal.
    for _ in 0..<6 where !model.isRemoved {
      let journal = try Journal(directory: directory.path)
      for _ in 0..<10 where !model.isRemoved {
        let operations = (0..<Int.random(in: 1...4, using: &random)).flatMap { _ in
          model.step(of: id, &random)
        }
        try journal.apply(operations)
        try expectAgreement(of: journal, with: model, &random)
      }
    }
  }

  private func expectAgreement(
    of journal: Journal, with model: JobModel, _ random: inout SeededGenerator
  ) throws {
    let found = try journal.job(id)
    #expect((found == nil) == model.isRemoved)
    guard let job = found else { return }
    #expect(job.state == model.state)
    #expect(job.counts == model.counts)
    let limit = Int.random(in: 40...300, using: &random)
    let results = try journal.allResults(of: id, limit: limit)
    try #require(results.map(\.index) == Array(model.outcomes.indices))
    #expect(results.filter { $0.outcome != model.outcomes[$0.index] } == [])
    let failed = try journal.allResults(of: id, limit: limit, isFailedOnly: true)
    #expect(failed == results.filter { $0.outcome?.isFailure == true })
    let open = job.isActive ? model.outcomes.indices.filter { model.outcomes[$0] == nil } : []
    for order in LineOrder.allCases {
      let read = try journal.openLines(of: id, order: order, limit: limit).map(\.index)
      #expect(read == (order == .firstInFirstOut ? open : open.reversed()))
    }
    if job.isActive { #expect(!model.outcomes.prefix(job.lowWater).contains(nil)) }
  }
}

/// A job as simply as it can be told.
private struct JobModel {
  private(set) var outcomes: [Outcome?]
  private(set) var state = JobRecord.State.queued
  private(set) var isRemoved = false

  init(lineCount: Int) {
    outcomes = [Outcome?](repeating: nil, count: lineCount)
  }

  private var isActive: Bool { state == .queued || state == .paused }

  var counts: JobCounts {
    var counts = JobCounts(total: outcomes.count)
    for outcome in outcomes {
      if let outcome {
        counts.count(outcome, keep: .thumbnail)
      } else if state == .cancelled {
        counts.cancelled += 1
      }
    }
    return counts
  }

  /// Asks something at random.
  ///
  /// - Returns: the operations that ask the same of the journal.
  mutating func step(of id: JobID, _ random: inout SeededGenerator) -> [JournalOperation] {
    let change: ImageJobChange
    switch random.next() % 32 {
    case 0..<2: change = .pause
    case 2..<5: change = .resume
    case 5: change = .cancel
    case 6..<10: change = .retry(includesFinal: random.next() % 2 == 0)
    case 10: change = random.next() % 8 == 0 ? .remove : .setPriority(.high)
    default: return outcomesAtRandom(of: id, &random)
    }
    if !isRemoved { apply(change) }
    return [.change(id, change, at: .now)]
  }

  private mutating func outcomesAtRandom(
    of id: JobID, _ random: inout SeededGenerator
  ) -> [JournalOperation] {
    let first = outcomes.indices.randomElement(using: &random) ?? 0
    let indices = first..<min(outcomes.count, first + Int.random(in: 1...200, using: &random))
    var operations: [JournalOperation] = indices.map { index in
      let outcome = Outcome.random(&random)
      if isActive, outcomes[index] == nil { outcomes[index] = outcome }
      return .record(id, index: index, outcome)
    }
    if !outcomes.contains(nil) {
      if isActive { state = .finished }
      operations.append(.finish(id, at: .now))
    }
    return operations
  }

  private mutating func apply(_ change: ImageJobChange) {
    switch change {
    case .pause where state == .queued: state = .paused
    case .resume where state == .paused: state = .queued
    case .cancel where isActive: state = .cancelled
    case .retry(let includesFinal) where !isActive: retry(includesFinal: includesFinal)
    case .remove where !isActive: isRemoved = true
    default: break
    }
  }

  private mutating func retry(includesFinal: Bool) {
    let reopened = outcomes.map { outcome -> Outcome? in
      switch outcome {
      case .failed(let failure, _) where includesFinal || failure.isRetryable: nil
      case .cancelled: nil
      default: outcome
      }
    }
    guard reopened.contains(nil) else { return }
    outcomes = reopened
    state = .queued
  }
}

extension Outcome {
  fileprivate var isFailure: Bool {
    if case .failed = self { true } else { false }
  }

  fileprivate static func random(_ random: inout SeededGenerator) -> Outcome {
    switch random.next() % 8 {
    case 0: .failed(.sample)
    case 1..<3: .failed(.passing)
    case 3: .cancelled
    case 4: .done(.sample, fromCache: true, bytesFetched: 0)
    default: .done(.sample, fromCache: false, bytesFetched: 70_000)
    }
  }
}
