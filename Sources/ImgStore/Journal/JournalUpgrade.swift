import ImgWire

/// Brings a journal of schema 1 to schema 2, within the transaction that opens it.
///
/// Schema 1 knew neither orders, delays, pauses nor retries. Its failures were 2 and their JSON,
/// its cancellations 3 alone. Of removed jobs nothing is upgraded: what is left of them is only
/// ever removed.
struct JournalUpgrade {
  static let sourceVersion: UInt32 = 1

  private let tables: JournalTables

  private static let failed: UInt8 = 2
  private static let cancelled: UInt8 = 3
  /// Outcomes held in memory at once: a table cannot change while it is scanned.
  private static let groupMaximum = 4_096

  init(_ tables: JournalTables) {
    self.tables = tables
  }

  func run(_ transaction: borrowing Transaction) throws(StoreError) {
    var jobs: [OldJobRecord] = []
    try transaction.scan(tables.jobs) { _, record throws(StoreError) in
      jobs.append(try JSONRecord.decode(OldJobRecord.self, from: record))
      return true
    }
    for job in jobs {
      let retryableCount = try upgradeOutcomes(of: job.id, transaction)
      let record = job.upgraded(retryableCount: retryableCount)
      try transaction.put(JSONRecord.encode(record), for: JournalKey.job(job.id), in: tables.jobs)
    }
  }

  /// - Returns: how many of the job's failures may pass; schema 1 did not count them.
  private func upgradeOutcomes(
    of id: JobID, _ transaction: borrowing Transaction
  ) throws(StoreError) -> Int {
    var retryableCount = 0
    var next: Int? = 0
    while let start = next {
      next = nil
      var group: [(index: Int, record: [UInt8])] = []
      try tables.scanOutcomes(of: id, from: start, transaction) { index, old throws(StoreError) in
        guard group.count < Self.groupMaximum else {
          next = index
          return false
        }
        guard let (record, isRetryable) = try Self.upgraded(old) else { return true }
        if isRetryable { retryableCount += 1 }
        group.append((index, record))
        return true
      }
      for (index, record) in group {
        let key = JournalKey.line(id, index: index)
        try transaction.put(record, for: key, in: tables.outcomes)
      }
    }
    return retryableCount
  }

  /// - Returns: the record in its new layout; `nil` for one whose layout has stayed.
  private static func upgraded(
    _ old: Span<UInt8>
  ) throws(StoreError) -> (record: [UInt8], isRetryable: Bool)? {
    guard old.count > 0 else { throw StoreError(.corrupted, operation: "upgrading an outcome") }
    switch old[0] {
    case failed:
      let json = old.extracting(droppingFirst: 1)
      let isRetryable = try JSONRecord.decode(Failure.self, from: json).isRetryable
      return (
        OutcomeRecord.encode(failure: json.copy(), isRetryable: isRetryable, round: 0), isRetryable
      )
    case cancelled:
      return (try OutcomeRecord.encode(.cancelled, round: 0), false)
    default:
      return nil
    }
  }
}

/// A job as schema 1 kept it.
private struct OldJobRecord: Decodable {
  let id: JobID
  private let name: String?
  private let options: Options
  private let state: State
  private let counts: Counts
  private let submittedAt: WallTime
  private let startedAt: WallTime?
  private let finishedAt: WallTime?
  private let lowWater: Int

  private enum State: String, Decodable {
    case submitting, queued, finished, cancelled
  }

  private struct Options: Decodable {
    let variant: Variant
    let expireAfterMilliseconds: Int64?
    let priority: Int

    enum CodingKeys: String, CodingKey {
      case variant, priority
      case expireAfterMilliseconds = "expire_after_ms"
    }
  }

  private struct Counts: Decodable {
    let total, done, failed, cancelled, fromCache: Int
    let bytesFetched, bytesStored: Int64

    enum CodingKeys: String, CodingKey {
      case total, done, failed, cancelled
      case fromCache = "from_cache"
      case bytesFetched = "bytes_fetched"
      case bytesStored = "bytes_stored"
    }
  }

  private enum CodingKeys: String, CodingKey {
    case id = "job"
    case name, options, state, counts
    case submittedAt = "submitted_at"
    case startedAt = "started_at"
    case finishedAt = "finished_at"
    case lowWater = "low_water"
  }

  func upgraded(retryableCount: Int) -> JobRecord {
    JobRecord(
      id: id, name: name,
      options: RequestOptions(
        variant: options.variant,
        expiry: Expiry(
          options.expireAfterMilliseconds.map { .after(milliseconds: $0) } ?? .standard),
        priority: options.priority),
      state: newState, counts: newCounts(retryableCount: retryableCount), submittedAt: submittedAt,
      startedAt: startedAt, finishedAt: finishedAt, lowWater: lowWater)
  }

  private var newState: JobRecord.State {
    switch state {
    case .submitting: .submitting
    case .queued: .queued
    case .finished: .finished
    case .cancelled: .cancelled
    }
  }

  private func newCounts(retryableCount: Int) -> JobCounts {
    var new = JobCounts(total: counts.total)
    new.done = counts.done
    new.failed = counts.failed
    new.retryable = retryableCount
    new.cancelled = counts.cancelled
    new.fromCache = counts.fromCache
    new.bytesFetched = counts.bytesFetched
    new.bytesStored = counts.bytesStored
    return new
  }
}
