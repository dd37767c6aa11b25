import FoundationEssentials
import ImgModel

/// The layout of an outcome in the table `outcomes`, behind a checksum, see ``JournalRecord``. Each
/// line has one, so the most frequent kind is small.
///
/// | outcome | bytes |
/// |---|---|
/// | done | 1, from cache (0 or 1), format number, damaged (0 or 1), then little-endian: width (4), height (4), bytes of thumbnail (4), bytes fetched (8) |
/// | failed | 2, retryable (0 or 1), 0, 0, round (4, little-endian), then the failure in JSON, with the bytes fetched if any |
/// | cancelled | 3, 0, 0, 0, round (4, little-endian) |
///
/// The fixed bytes show whether an outcome is still valid after a retry, because pages check this
/// for every line.
enum OutcomeRecord {
  private static let done = JournalRecord.Layout.done.rawValue
  private static let failed = JournalRecord.Layout.failed.rawValue
  private static let cancelled = JournalRecord.Layout.cancelled.rawValue
  private static let doneByteCount = 24
  /// The length of the fixed bytes of a failure and a cancellation.
  private static let headByteCount = 8

  /// - Parameter round: the job's `JobRetries.round` of the outcome.
  static func encode(_ outcome: Outcome, round: Int) throws(StoreError) -> [UInt8] {
    switch outcome {
    case .done(let thumbnail, let fromCache, let bytesFetched):
      var record = [
        done, fromCache ? 1 : 0, thumbnail.format.storedNumber, thumbnail.isDamaged ? 1 : 0,
      ]
      record.reserveCapacity(doneByteCount)
      record.append(littleEndian: UInt32(clamping: thumbnail.width))
      record.append(littleEndian: UInt32(clamping: thumbnail.height))
      record.append(littleEndian: UInt32(clamping: thumbnail.byteCount))
      record.append(littleEndian: Int64(bytesFetched))
      return record
    case .failed(let failure, let bytesFetched):
      return head(failed, flag: failure.isRetryable, round: round)
        + (try JSONRecord.encode(StoredFailure(failure, bytesFetched: bytesFetched)))
    case .cancelled:
      return head(cancelled, flag: false, round: round)
    }
  }

  /// The replacement of a damaged outcome: a failure that no retry reopens, because the job has
  /// counted an outcome of the line.
  static func damaged() throws(StoreError) -> [UInt8] {
    try encode(.failed(.damagedOutcome), round: .max)
  }

  /// Whether the checksum of a record is valid.
  static func isIntact(_ record: Span<UInt8>, for key: Span<UInt8>) -> Bool {
    switch JournalRecord.layout(of: record, for: key) {
    case .done, .failed, .cancelled: true
    case .lines, .job, .lastJob, .headers, nil: false
    }
  }

  private static func head(_ kind: UInt8, flag: Bool, round: Int) -> [UInt8] {
    var head: [UInt8] = [kind, flag ? 1 : 0, 0, 0]
    head.append(littleEndian: UInt32(clamping: round))
    return head
  }

  /// The rank of an outcome among those of its line: done is final, and other outcomes are replaced
  /// by those of a later round. The record includes its checksum. `nil` for an invalid record.
  static func rank(of record: Span<UInt8>) -> Int? {
    guard record.count >= RecordChecksum.byteCount + headByteCount else { return nil }
    let outcome = record.extracting(droppingFirst: RecordChecksum.byteCount)
    return outcome[0] == done ? .max : Int(outcome.littleEndian(at: 4, as: UInt32.self))
  }

  static func isFailure(_ record: Span<UInt8>) -> Bool {
    record.count > 0 && record[0] == failed
  }

  /// Whether the outcome is valid; `false` if a retry has reopened it. A retry reopens every
  /// cancelled line, because it removes all of them from the job's counts.
  ///
  /// - Throws: ``StoreError/Reason/damaged`` for an invalid record.
  static func isStanding(
    _ record: Span<UInt8>, after retries: JobRetries
  ) throws(StoreError) -> Bool {
    guard record.count >= headByteCount else { throw notWritten }
    if record[0] == done { return true }
    let round = Int(record.littleEndian(at: 4, as: UInt32.self))
    switch (record[0], record[1]) {
    case (failed, 0...1): return !retries.isOpen(failureOf: round, isRetryable: record[1] == 1)
    case (cancelled, 0): return round >= retries.round
    default: throw notWritten
    }
  }

  /// - Throws: ``StoreError/Reason/damaged`` for an invalid record.
  static func decode(_ record: Span<UInt8>) throws(StoreError) -> Outcome {
    guard record.count >= headByteCount else { throw notWritten }
    switch record[0] {
    case done:
      guard record.count == doneByteCount, let format = ImageFormat(storedNumber: record[2]) else {
        throw notWritten
      }
      return .done(
        Thumbnail(
          format: format,
          width: Int(record.littleEndian(at: 4, as: UInt32.self)),
          height: Int(record.littleEndian(at: 8, as: UInt32.self)),
          byteCount: Int(record.littleEndian(at: 12, as: UInt32.self)),
          isDamaged: record[3] != 0),
        fromCache: record[1] != 0,
        bytesFetched: Int(record.littleEndian(at: 16, as: Int64.self)))
    case failed:
      let stored = try JSONRecord.decode(
        StoredFailure.self, from: record.extracting(droppingFirst: headByteCount))
      return .failed(stored.failure, bytesFetched: stored.bytesFetched)
    case cancelled:
      return .cancelled
    default:
      throw notWritten
    }
  }

  private static var notWritten: StoreError {
    StoreError(.corrupted, operation: "reading an outcome")
  }
}

/// A failure and the bytes fetched for it. The JSON lacks the number when it is 0.
private struct StoredFailure: Codable {
  let failure: Failure
  let bytesFetched: Int

  private enum CodingKeys: String, CodingKey {
    case bytesFetched = "bytes_fetched"
  }

  init(_ failure: Failure, bytesFetched: Int) {
    self.failure = failure
    self.bytesFetched = bytesFetched
  }

  init(from decoder: any Decoder) throws {
    failure = try Failure(from: decoder)
    let container = try decoder.container(keyedBy: CodingKeys.self)
    bytesFetched = try container.decodeIfPresent(Int.self, forKey: .bytesFetched) ?? 0
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    if bytesFetched > 0 { try container.encode(bytesFetched, forKey: .bytesFetched) }
    try failure.encode(to: encoder)
  }
}

extension Failure {
  /// The failure of a line whose outcome is damaged in the journal.
  static let damagedOutcome = Failure(
    stage: .queue, code: .internal, detail: "the outcome in the journal is damaged")
}
