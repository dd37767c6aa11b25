import FoundationEssentials
import ImgWire

/// How an outcome lies in the table `outcomes`. There is one a line, so the frequent one is small.
///
/// | outcome | bytes |
/// |---|---|
/// | done | 1, from cache (0 or 1), format number, 0, then little-endian: width (4), height (4), bytes of thumbnail (4), bytes fetched (8) |
/// | failed | 2, may pass (0 or 1), 0, 0, round (4, little-endian), then the failure in JSON |
/// | cancelled | 3, 0, 0, 0, round (4, little-endian) |
///
/// Whether an outcome still stands after a retry is read from the fixed bytes alone, because pages
/// ask it of every line they pass.
enum OutcomeRecord {
  private static let done: UInt8 = 1
  private static let failed: UInt8 = 2
  private static let cancelled: UInt8 = 3
  private static let doneByteCount = 24
  /// What a failure and a cancellation begin with.
  private static let headByteCount = 8

  /// - Parameter round: the job's ``JobRetries/round`` in which the outcome is made.
  static func encode(_ outcome: Outcome, round: Int) throws(StoreError) -> [UInt8] {
    switch outcome {
    case .done(let thumbnail, let fromCache, let bytesFetched):
      var record = [done, fromCache ? 1 : 0, thumbnail.format.storedNumber, 0]
      record.reserveCapacity(doneByteCount)
      record.append(littleEndian: UInt32(clamping: thumbnail.width))
      record.append(littleEndian: UInt32(clamping: thumbnail.height))
      record.append(littleEndian: UInt32(clamping: thumbnail.byteCount))
      record.append(littleEndian: Int64(bytesFetched))
      return record
    case .failed(let failure):
      return encode(
        failure: try JSONRecord.encode(failure), isRetryable: failure.isRetryable, round: round)
    case .cancelled:
      return head(cancelled, flag: false, round: round)
    }
  }

  /// The record of a failure that is in JSON already.
  static func encode(failure: [UInt8], isRetryable: Bool, round: Int) -> [UInt8] {
    head(failed, flag: isRetryable, round: round) + failure
  }

  private static func head(_ kind: UInt8, flag: Bool, round: Int) -> [UInt8] {
    var head: [UInt8] = [kind, flag ? 1 : 0, 0, 0]
    head.append(littleEndian: UInt32(clamping: round))
    return head
  }

  static func isFailure(_ record: Span<UInt8>) -> Bool {
    record.count > 0 && record[0] == failed
  }

  /// Whether the line has this outcome, or none any more because a retry has reopened it. A retry
  /// reopens every line that was cancelled, as it takes all of them out of the job's counts.
  ///
  /// - Throws: ``StoreError/Reason/damaged`` for what no release has written.
  static func isStanding(
    _ record: Span<UInt8>, after retries: JobRetries
  ) throws(StoreError) -> Bool {
    guard record.count >= headByteCount else { throw damaged }
    if record[0] == done { return true }
    let round = Int(record.littleEndian(at: 4, as: UInt32.self))
    switch (record[0], record[1]) {
    case (failed, 0...1): return !retries.isOpen(failureOf: round, isRetryable: record[1] == 1)
    case (cancelled, 0): return round >= retries.round
    default: throw damaged
    }
  }

  /// - Throws: ``StoreError/Reason/damaged`` for what no release has written.
  static func decode(_ record: Span<UInt8>) throws(StoreError) -> Outcome {
    guard record.count >= headByteCount else { throw damaged }
    switch record[0] {
    case done:
      guard record.count == doneByteCount, let format = ImageFormat(storedNumber: record[2]) else {
        throw damaged
      }
      return .done(
        Thumbnail(
          format: format,
          width: Int(record.littleEndian(at: 4, as: UInt32.self)),
          height: Int(record.littleEndian(at: 8, as: UInt32.self)),
          byteCount: Int(record.littleEndian(at: 12, as: UInt32.self))),
        fromCache: record[1] != 0,
        bytesFetched: Int(record.littleEndian(at: 16, as: Int64.self)))
    case failed:
      return .failed(
        try JSONRecord.decode(
          Failure.self, from: record.extracting(droppingFirst: headByteCount)))
    case cancelled:
      return .cancelled
    default:
      throw damaged
    }
  }

  private static var damaged: StoreError {
    StoreError(.corrupted, operation: "reading an outcome")
  }
}
