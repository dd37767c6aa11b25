import FoundationEssentials
@_spi(Coding) import ImgModel
import ImgSystem
import Synchronization

/// The head of every record of the journal, so that damage affects only one record:
///
/// | bytes | content |
/// |---|---|
/// | 8 | XXH3-64 of all that follows, seeded with that of the record's key, little-endian |
/// | 1 | the number of its ``Layout`` |
///
/// The checksum includes the key, so a record under another key counts as damaged.
enum JournalRecord {
  /// The kind and layout of a record. The numbers are unique over all tables, so that a record is
  /// recognised anywhere. A new layout takes a new number.
  enum Layout: UInt8 {
    case done = 1
    case failed = 2
    case cancelled = 3
    case lines = 4
    case job = 5
    case lastJob = 6
    case headers = 7
    case placedLines = 8
    case columns = 9
  }

  /// Checksum and layout.
  static let headByteCount = RecordChecksum.byteCount + 1

  /// - Parameter body: the number of the layout and the content.
  static func encode(_ body: [UInt8], for key: [UInt8]) -> [UInt8] {
    var record: [UInt8] = []
    record.reserveCapacity(RecordChecksum.byteCount + body.count)
    record.append(littleEndian: UInt64(0))
    record.append(contentsOf: body)
    var bytes = record.mutableSpan
    bytes.write(littleEndian: checksum(of: bytes.span, for: key.span), at: 0)
    return record
  }

  /// The layout of a record; `nil` if the record is damaged or of a newer release.
  static func layout(of record: Span<UInt8>, for key: Span<UInt8>) -> Layout? {
    guard record.count >= headByteCount,
      record.littleEndian(at: 0, as: UInt64.self) == checksum(of: record, for: key)
    else { return nil }
    return Layout(rawValue: record[RecordChecksum.byteCount])
  }

  private static func checksum(of record: Span<UInt8>, for key: Span<UInt8>) -> UInt64 {
    RecordChecksum.of(
      record.extracting(droppingFirst: RecordChecksum.byteCount), seed: RecordChecksum.of(key))
  }
}

/// The keys of the journal: numbers in big-endian order, so that a job's entries are adjacent and
/// in the order of their lines.
enum JournalKey {
  static let jobByteCount = 8
  static let lineByteCount = 16

  static func job(_ id: JobID) -> [UInt8] {
    var key: [UInt8] = []
    key.append(bigEndian: id.rawValue)
    return key
  }

  /// The job of a key.
  ///
  /// - Throws: ``StoreError/Reason/damaged`` for an invalid key.
  static func job(in key: Span<UInt8>) throws(StoreError) -> JobID {
    guard key.count == jobByteCount else {
      throw StoreError(.corrupted, operation: "reading a key of the journal")
    }
    return JobID(rawValue: key.bigEndian(at: 0, as: UInt64.self))
  }

  static func line(_ id: JobID, index: Int) -> [UInt8] {
    var key: [UInt8] = []
    key.reserveCapacity(lineByteCount)
    key.append(bigEndian: id.rawValue)
    key.append(bigEndian: UInt64(index))
    return key
  }

  /// The line of a key of job `id`; `nil` behind the job's last line.
  ///
  /// - Throws: ``StoreError/Reason/damaged`` for an invalid key.
  static func index(
    in key: Span<UInt8>, of id: JobID
  ) throws(StoreError) -> Int? {
    guard key.count == lineByteCount,
      let index = Int(exactly: key.bigEndian(at: 8, as: UInt64.self))
    else { throw StoreError(.corrupted, operation: "reading a key of the journal") }
    return key.bigEndian(at: 0, as: UInt64.self) == id.rawValue ? index : nil
  }
}

/// Reads records in JSON, which is for those that are few and may gain fields.
enum JSONRecord {
  /// - Throws: ``StoreError/Reason/damaged`` for invalid JSON.
  static func decode<Value: FieldValue>(
    _ type: Value.Type, from record: Span<UInt8>
  ) throws(StoreError) -> Value {
    do throws(FieldError) {
      return try Fields.value(type, of: record.copy()[...])
    } catch {
      throw StoreError(.corrupted, operation: "reading JSON")
    }
  }
}

/// The header values and cookies that jobs send to origins. They may be secrets, so each job has a file for
/// them beside the journal, which is overwritten when the job is removed.
///
/// LMDB never overwrites a page in place, so a removed record would stay in free pages of its file.
/// All values are also in memory.
final class JobHeaders: Sendable {
  private let directory: String
  private let held = Mutex<[JobID: RequestSecrets]>([:])

  /// Headers and cookies in JSON, where a byte takes at most six.
  private static let maximumFileByteCount =
    8 * (HeaderFields.maximumByteCount + Cookies.maximumByteCount)

  /// - Parameter journalDirectory: the parent of the files' directory.
  init(in journalDirectory: String) {
    directory = journalDirectory + "/headers"
  }

  /// Those of a job; `nil` if it has none, or if its file is missing or damaged.
  subscript(id: JobID) -> RequestSecrets? { held.withLock { $0[id] } }

  /// Reads the files of `jobs`, and erases others, which a crash has left between the removal of
  /// their job and the erasure.
  func load(of jobs: Set<JobID>) {
    for id in foundJobs where !jobs.contains(id) {
      // The next start tries again.
      try? FileIO.erase(path(of: id))
    }
    loadAll()
  }

  /// Reads all files and changes none.
  func loadAll() {
    for id in foundJobs {
      if let secrets = read(id) { held.withLock { $0[id] = secrets } }
    }
  }

  private var foundJobs: [JobID] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    return names.compactMap { UInt64($0) }.map(JobID.init(rawValue:))
  }

  /// Stores those of a new job durably.
  func add(_ secrets: RequestSecrets, of id: JobID) throws(StoreError) {
    held.withLock { $0[id] = secrets }
    try create()
    try write(secrets, of: id)
    try StoreError.wrapping { () throws(SystemError) in try Directory.sync(directory) }
  }

  /// Stores those of all jobs again, because their files may have been removed.
  func restore() throws(StoreError) {
    for (id, secrets) in held.withLock(\.self) { try add(secrets, of: id) }
  }

  /// Overwrites and removes the file of a removed job. If that fails, the next start erases it.
  func erase(_ id: JobID) {
    guard held.withLock({ $0.removeValue(forKey: id) }) != nil else { return }
    try? FileIO.erase(path(of: id))
  }

  private func path(of id: JobID) -> String { "\(directory)/\(id.rawValue)" }

  private func create() throws(StoreError) {
    try StoreError.wrapping { () throws(SystemError) in
      try Directory.create(directory, mode: 0o700)
    }
  }

  private func read(_ id: JobID) -> RequestSecrets? {
    guard
      let record = try? FileIO.contents(of: path(of: id), upTo: Self.maximumFileByteCount),
      JournalRecord.layout(of: record.span, for: JournalKey.job(id).span) == .headers
    else { return nil }
    let content = record.span.extracting(droppingFirst: JournalRecord.headByteCount)
    if let secrets = try? JSONRecord.decode(RequestSecrets.self, from: content) { return secrets }
    // Before jobs had cookies, the file held the header fields alone.
    let headers = try? JSONRecord.decode(HeaderFields.self, from: content)
    return headers.map { RequestSecrets(headers: $0, cookies: .none) }
  }

  private func write(_ secrets: RequestSecrets, of id: JobID) throws(StoreError) {
    let body = [JournalRecord.Layout.headers.rawValue] + Fields.json(of: secrets)
    let record = JournalRecord.encode(body, for: JournalKey.job(id))
    try StoreError.wrapping { () throws(SystemError) in
      try FileIO.writeDurably(record.span, to: path(of: id))
    }
  }
}

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
  static func encode(_ outcome: Outcome, round: Int) -> [UInt8] {
    switch outcome {
    case .done(let thumbnail, let fromCache, let bytesFetched):
      var record: [UInt8] = []
      record.reserveCapacity(doneByteCount)
      record.append(done)
      record.append(fromCache ? 1 : 0)
      record.append(thumbnail.format.storedNumber)
      record.append(thumbnail.isDamaged ? 1 : 0)
      record.append(littleEndian: UInt32(clamping: thumbnail.width))
      record.append(littleEndian: UInt32(clamping: thumbnail.height))
      record.append(littleEndian: UInt32(clamping: thumbnail.byteCount))
      record.append(littleEndian: Int64(bytesFetched))
      return record
    case .failed(let failure, let bytesFetched):
      return head(failed, flag: failure.isRetryable, round: round)
        + Fields.json(of: StoredFailure(failure, bytesFetched: bytesFetched))
    case .cancelled:
      return head(cancelled, flag: false, round: round)
    }
  }

  /// The replacement of a damaged outcome: a failure that no retry reopens, because the job has
  /// counted an outcome of the line.
  static func damaged() -> [UInt8] {
    encode(.failed(.damagedOutcome), round: .max)
  }

  /// Whether the checksum of a record is valid.
  static func isIntact(_ record: Span<UInt8>, for key: Span<UInt8>) -> Bool {
    switch JournalRecord.layout(of: record, for: key) {
    case .done, .failed, .cancelled: true
    case .lines, .placedLines, .columns, .job, .lastJob, .headers, nil: false
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
private struct StoredFailure: Fielded {
  let failure: Failure
  let bytesFetched: Int

  init(_ failure: Failure, bytesFetched: Int) {
    self.failure = failure
    self.bytesFetched = bytesFetched
  }

  init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    bytesFetched = try f.field("bytes_fetched", value?.bytesFetched, default: 0)
    failure = try Failure(&f, value?.failure)
  }
}

extension Failure {
  /// The failure of a line whose outcome is damaged in the journal.
  static let damagedOutcome = Failure(
    stage: .queue, code: .internal, detail: "the outcome in the journal is damaged")
}

/// The layout of a job in the table `jobs`: JSON without header values and cookies, see ``JobHeaders``.
struct StoredJob: Fielded {
  let record: JobRecord
  private let hasHeaders: Bool

  init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    hasHeaders = try f.field("has_headers", value?.hasHeaders)
    record = try f.field("job", value?.record)
  }

  private init(_ job: JobRecord) {
    hasHeaders = job.lacksHeaders || !job.secrets.isEmpty
    var record = job
    record.secrets = .none
    self.record = record
  }

  static func encode(_ job: JobRecord) -> [UInt8] {
    let body = [JournalRecord.Layout.job.rawValue] + Fields.json(of: StoredJob(job))
    return JournalRecord.encode(body, for: JournalKey.job(job.id))
  }

  /// The job of a record; with the state `damaged` if the record is damaged.
  static func decode(_ record: Span<UInt8>, of id: JobID, headers: JobHeaders) -> JobRecord {
    guard let stored = decode(record, of: id) else { return .damaged(id) }
    var job = stored.record
    guard stored.hasHeaders else { return job }
    if let secrets = headers[id] { job.secrets = secrets } else { job.lacksHeaders = true }
    return job
  }

  /// The job without its headers and cookies; `nil` for a damaged record or another kind.
  static func decode(_ record: Span<UInt8>, of id: JobID) -> StoredJob? {
    guard JournalRecord.layout(of: record, for: JournalKey.job(id).span) == .job else { return nil }
    return try? JSONRecord.decode(
      StoredJob.self, from: record.extracting(droppingFirst: JournalRecord.headByteCount))
  }
}
