import FoundationEssentials
@_spi(Coding) import ImgModel
import Testing

/// The legal changes of a job in each state, and their effects.
@Suite struct JobRecordTests {
  /// The effect of a change.
  enum Expectation: Sendable {
    case becomes(JobRecord.State)
    case refused(String)
  }

  private static let submittedAt = WallTime(rawValue: 1_000)
  private static let startedAt = WallTime(rawValue: 2_000)
  private static let endedAt = WallTime(rawValue: 3_000)
  private static let changedAt = WallTime(rawValue: 4_000)

  /// A job of ten lines: five done, three failed (two of them retryable), and two without an outcome,
  /// or cancelled if the job is cancelled.
  private static func record(_ state: JobRecord.State) -> JobRecord {
    var counts = JobCounts(total: 10)
    counts.done = 5
    counts.failed = 3
    counts.retryable = 2
    counts.cancelled = state == .cancelled ? 2 : 0
    let hasEnded = state == .finished || state == .cancelled
    return JobRecord(
      id: JobID(rawValue: 3), options: RequestOptions(variant: .standard), state: state,
      counts: counts, submittedAt: submittedAt, startedAt: startedAt,
      finishedAt: hasEnded ? endedAt : nil, lowWater: 4)
  }

  @Test(arguments: Keep.allCases)
  func `stored bytes count for lines that store, but not for cache hits`(keep: Keep) throws {
    let thumbnail = Thumbnail(format: .jpeg, width: 64, height: 48, byteCount: 700)
    var record = JobRecord(
      id: JobID(rawValue: 3), options: RequestOptions(variant: .standard, keep: keep),
      state: .queued, counts: JobCounts(total: 3), submittedAt: Self.submittedAt)
    record.count(.done(thumbnail, fromCache: false, bytesFetched: 9_000))
    // The same picture, for a line that joined the fetch.
    record.count(.done(thumbnail, fromCache: false, bytesFetched: 0))
    record.count(.done(thumbnail, fromCache: true, bytesFetched: 0))
    #expect(record.counts.bytesStored == (keep == .none ? 0 : 1_400))
    #expect(record.counts.bytesFetched == 9_000)
    #expect(record.counts.done == 3)
  }

  @Test func `damaged pictures are done, and counted once more`() {
    var counts = JobCounts(total: 3)
    for isDamaged in [true, false, true] {
      let thumbnail = Thumbnail(
        format: .jpeg, width: 64, height: 48, byteCount: 700, isDamaged: isDamaged)
      counts.count(.done(thumbnail, fromCache: isDamaged, bytesFetched: 0), keep: .thumbnail)
    }
    #expect(counts.done == 3)
    #expect(counts.damaged == 2)
    #expect(counts.finished == 3)
  }

  @Test func `the local files of a job are counted, but not in the records of earlier releases`()
    throws
  {
    var record = Self.record(.queued)
    record.counts.localFiles = 7
    let json = Fields.json(of: record)
    #expect(try Fields.value(JobRecord.self, of: json[...]).counts.localFiles == 7)
    let old = String(decoding: json, as: UTF8.self).replacing(#""local_files":7,"#, with: "")
    #expect(try Fields.value(JobRecord.self, of: Array(old.utf8)[...]).counts.localFiles == nil)
  }

  private static let table: [(JobRecord.State, ImageJobChange, Expectation)] = [
    (.submitting, .pause, .refused("job 3 is submitting; it has no waiting URLs")),
    (.submitting, .resume, .refused("job 3 is submitting; it has no waiting URLs")),
    (.submitting, .cancel, .refused("job 3 is submitting; nothing is left to cancel")),
    (.submitting, .retry(includesFinal: false), refusedRetry("submitting")),
    (.submitting, .retry(includesFinal: true), refusedRetry("submitting")),
    (.submitting, .setPriority(.veryHigh), .refused("job 3 is submitting; it has no waiting URLs")),
    (.submitting, .remove, .refused("job 3 is submitting; cancel it first")),

    (.queued, .pause, .becomes(.paused)),
    (.queued, .resume, .refused("job 3 is running; only a paused job can be resumed")),
    (.queued, .cancel, .becomes(.cancelled)),
    (.queued, .retry(includesFinal: false), refusedRetry("running")),
    (.queued, .retry(includesFinal: true), refusedRetry("running")),
    (.queued, .setPriority(.veryHigh), .becomes(.queued)),
    (.queued, .remove, .refused("job 3 is running; cancel it first")),

    (.paused, .pause, .refused("job 3 is paused already")),
    (.paused, .resume, .becomes(.queued)),
    (.paused, .cancel, .becomes(.cancelled)),
    (.paused, .retry(includesFinal: false), refusedRetry("paused")),
    (.paused, .retry(includesFinal: true), refusedRetry("paused")),
    (.paused, .setPriority(.veryHigh), .becomes(.paused)),
    (.paused, .remove, .refused("job 3 is paused; cancel it first")),

    (.finished, .pause, .refused("job 3 is finished; it has no waiting URLs")),
    (
      .finished, .resume,
      .refused("job 3 is finished; imgctl retry 3 --all repeats its 3 failures")
    ),
    (.finished, .cancel, .refused("job 3 is finished; nothing is left to cancel")),
    (.finished, .retry(includesFinal: false), .becomes(.queued)),
    (.finished, .retry(includesFinal: true), .becomes(.queued)),
    (.finished, .setPriority(.veryHigh), .refused("job 3 is finished; it has no waiting URLs")),
    (.finished, .remove, .becomes(.finished)),

    (.cancelled, .pause, .refused("job 3 is cancelled; it has no waiting URLs")),
    (
      .cancelled, .resume,
      .refused("job 3 is cancelled; imgctl retry 3 continues its 2 cancelled URLs")
    ),
    (.cancelled, .cancel, .refused("job 3 is cancelled; nothing is left to cancel")),
    (.cancelled, .retry(includesFinal: false), .becomes(.queued)),
    (.cancelled, .retry(includesFinal: true), .becomes(.queued)),
    (.cancelled, .setPriority(.veryHigh), .refused("job 3 is cancelled; it has no waiting URLs")),
    (.cancelled, .remove, .becomes(.cancelled)),
  ]

  private static func refusedRetry(_ state: String) -> Expectation {
    .refused("job 3 is \(state); wait until it ends, or cancel it first")
  }

  @Test(arguments: table)
  func `each change in each state is a transition or a refusal`(
    state: JobRecord.State, change: ImageJobChange, expectation: Expectation
  ) throws {
    let before = Self.record(state)
    var record = before
    switch expectation {
    case .becomes(let next):
      try record.apply(change, at: Self.changedAt)
      #expect(record.state == next)
    case .refused(let sentence):
      #expect(throws: JobChangeRefusal(description: sentence)) {
        try record.apply(change, at: Self.changedAt)
      }
      #expect(record == before)
    }
  }

  @Test func `the table has each pair of state and change once`() {
    let pairs = Set(Self.table.map { "\($0.0) \($0.1)" })
    #expect(pairs.count == Self.table.count)
    #expect(pairs.count == 5 * 7)
  }

  @Test(arguments: [JobRecord.State.queued, .paused])
  func `a cancel counts lines without an outcome and ends the job`(state: JobRecord.State) throws {
    var record = Self.record(state)
    try record.apply(.cancel, at: Self.changedAt)
    #expect(record.counts.cancelled == 2)
    #expect(record.counts.finished == record.counts.total)
    #expect(record.finishedAt == Self.changedAt)
  }

  @Test(arguments: [(false, 1), (true, 0)])
  func `a retry reopens the failures that it includes and the cancelled lines`(
    includesFinal: Bool, failed: Int
  ) throws {
    var record = Self.record(.cancelled)
    try record.apply(.retry(includesFinal: includesFinal), at: Self.changedAt)
    #expect(record.counts.failed == failed)
    #expect(record.counts.retryable == 0)
    #expect(record.counts.cancelled == 0)
    #expect(record.counts.done == 5)
    #expect(record.retries.round == 1)
    #expect(record.retries.isOpen(failureOf: 0, isRetryable: true))
    #expect(record.retries.isOpen(failureOf: 0, isRetryable: false) == includesFinal)
    // Any line of the list may be open again.
    #expect(record.lowWater == 0)
    #expect(record.finishedAt == nil)
    #expect(record.startedAt == nil, "the job starts again")
  }

  @Test func `a retry without retryable failures is refused with a hint`() throws {
    var record = Self.record(.finished)
    record.counts.retryable = 0
    let before = record
    #expect(
      throws: JobChangeRefusal(description: "job 3 has no retryable failures; --all retries all 3")
    ) { try record.apply(.retry(includesFinal: false), at: Self.changedAt) }
    #expect(record == before)
    try record.apply(.retry(includesFinal: true), at: Self.changedAt)
    #expect(record.counts.failed == 0)
  }

  @Test(arguments: [false, true])
  func `a retry of a job without failures is refused`(includesFinal: Bool) {
    var record = Self.record(.finished)
    record.counts.failed = 0
    record.counts.retryable = 0
    #expect(throws: JobChangeRefusal(description: "job 3 has no failures")) {
      try record.apply(.retry(includesFinal: includesFinal), at: Self.changedAt)
    }
  }

  @Test func `a retry continues a cancelled job without failures`() throws {
    var record = Self.record(.cancelled)
    record.counts.failed = 0
    record.counts.retryable = 0
    try record.apply(.retry(includesFinal: false), at: Self.changedAt)
    #expect(record.state == .queued)
    #expect(record.counts.total - record.counts.finished == 5)
  }

  @Test func `a change of priority changes only the priority`() throws {
    var record = Self.record(.queued)
    try record.apply(.setPriority(.veryLow), at: Self.changedAt)
    var expected = Self.record(.queued)
    #expect(record.options.priority == -2)
    try expected.apply(.setPriority(.normal), at: Self.changedAt)
    try record.apply(.setPriority(.normal), at: Self.changedAt)
    #expect(record == expected)
  }

  @Test func `a delay starts at the submission`() {
    let record = JobRecord(
      id: JobID(rawValue: 3),
      options: RequestOptions(variant: .standard, delay: .milliseconds(250)),
      submittedAt: Self.submittedAt)
    #expect(record.notBefore == WallTime(rawValue: 1_250))
  }
}

@Suite struct JobRetriesTests {
  @Test func `no failure is open before the first retry`() {
    let retries = JobRetries()
    #expect(retries.round == 0)
    #expect(!retries.isOpen(failureOf: 0, isRetryable: true))
    #expect(!retries.isOpen(failureOf: 0, isRetryable: false))
  }

  @Test func `a retry opens the retryable failures of all earlier rounds`() {
    var retries = JobRetries()
    retries.add(includesFinal: false)
    retries.add(includesFinal: false)
    #expect(retries.round == 2)
    for round in 0...1 {
      #expect(retries.isOpen(failureOf: round, isRetryable: true))
      #expect(!retries.isOpen(failureOf: round, isRetryable: false))
    }
    #expect(!retries.isOpen(failureOf: 2, isRetryable: true))
  }

  @Test func `a retry of all failures opens those of earlier rounds only`() {
    var retries = JobRetries()
    retries.add(includesFinal: true)
    #expect(retries.isOpen(failureOf: 0, isRetryable: false))
    retries.add(includesFinal: false)
    // A permanent failure of a later round was retried already.
    #expect(!retries.isOpen(failureOf: 1, isRetryable: false))
    #expect(retries.isOpen(failureOf: 1, isRetryable: true))
  }
}

@Suite struct ImageJobTests {
  private func status(
    _ state: JobRecord.State, isStarted: Bool = false, isDelayed: Bool = false,
    isCancelling: Bool = false
  ) -> ImageJob.State {
    let record = JobRecord(
      id: JobID(rawValue: 3), options: RequestOptions(variant: .standard), state: state,
      submittedAt: WallTime(rawValue: 0), startedAt: isStarted ? WallTime(rawValue: 1) : nil)
    return ImageJob(record, isDelayed: isDelayed, isCancelling: isCancelling).state
  }

  @Test func `a job has one of seven visible states`() {
    #expect(status(.queued, isDelayed: true) == .scheduled)
    #expect(status(.queued) == .queued)
    #expect(status(.queued, isStarted: true) == .running)
    #expect(status(.paused, isStarted: true, isDelayed: true) == .paused)
    #expect(status(.paused, isStarted: true, isCancelling: true) == .cancelling)
    #expect(status(.queued, isDelayed: true, isCancelling: true) == .cancelling)
    #expect(status(.finished, isStarted: true, isCancelling: true) == .finished)
    #expect(status(.cancelled, isStarted: true, isCancelling: true) == .cancelled)
  }

  @Test func `the numbers add up`() {
    var counts = JobCounts(total: 10)
    counts.done = 3
    counts.failed = 2
    counts.retryable = 1
    let record = JobRecord(
      id: JobID(rawValue: 3), options: RequestOptions(variant: .standard, priority: 1),
      state: .queued, counts: counts, submittedAt: WallTime(rawValue: 0))
    let status = ImageJob(record, running: 4)
    #expect(status.queued == 1)
    #expect(status.retryable == 1)
    #expect(status.priority == .high)
    #expect(
      status.total == status.queued + status.running + status.done + status.failed
        + status.cancelled)
  }
}
