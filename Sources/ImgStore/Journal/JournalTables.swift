import ImgModel

/// The tables of the journal, and reading of single entries.
struct JournalTables: Sendable {
  /// Job → ``StoredJob``.
  let jobs: Database
  /// Job and first index → ``LineChunk``.
  let lines: Database
  /// Job and index → ``OutcomeRecord``.
  let outcomes: Database
  /// Removed jobs whose lines and outcomes are not yet removed.
  let leftovers: Database
  /// Schema version and the last job's number.
  let meta: Database
  let headers: JobHeaders

  private static let version = SchemaVersion(number: 4)
  private static let lastJobKey = Array("last_job".utf8)

  /// Opens the tables, and creates what does not exist yet.
  ///
  /// - Throws: ``StoreError/Reason/olderVersion`` or ``StoreError/Reason/newerVersion`` when
  ///   another release has written them, whose records this one would misread.
  init(_ transaction: borrowing Transaction, headers: JobHeaders) throws(StoreError) {
    self.headers = headers
    meta = try transaction.openDatabase("meta", isCreated: true)
    try Self.requireCurrent(try Self.version.establish(in: meta, transaction))
    jobs = try transaction.openDatabase("jobs", isCreated: true)
    lines = try transaction.openDatabase("lines", isCreated: true)
    outcomes = try transaction.openDatabase("outcomes", isCreated: true)
    leftovers = try transaction.openDatabase("leftovers", isCreated: true)
  }

  /// Opens the existing tables without writing.
  ///
  /// - Throws: the errors of ``init(_:headers:)``.
  init(reading transaction: borrowing Transaction, headers: JobHeaders) throws(StoreError) {
    self.headers = headers
    meta = try transaction.openDatabase("meta", isCreated: false)
    try Self.requireCurrent(try Self.version.verify(in: meta, transaction))
    jobs = try transaction.openDatabase("jobs", isCreated: false)
    lines = try transaction.openDatabase("lines", isCreated: false)
    outcomes = try transaction.openDatabase("outcomes", isCreated: false)
    leftovers = try transaction.openDatabase("leftovers", isCreated: false)
  }

  private static func requireCurrent(_ found: UInt32?) throws(StoreError) {
    guard let found, found < version.number else { return }
    throw StoreError(
      .outdated, operation: "reading schema \(found), older than \(version.number)")
  }

  func job(_ id: JobID, _ transaction: borrowing Transaction) throws(StoreError) -> JobRecord? {
    try transaction.withValue(of: JournalKey.job(id), in: jobs) { record in
      StoredJob.decode(record, of: id, headers: headers)
    }
  }

  func put(_ job: JobRecord, _ transaction: borrowing Transaction) throws(StoreError) {
    try transaction.put(StoredJob.encode(job), for: JournalKey.job(job.id), in: jobs)
  }

  func allJobs(_ transaction: borrowing Transaction) throws(StoreError) -> [JobRecord] {
    var found: [JobRecord] = []
    try transaction.scan(jobs) { key, record throws(StoreError) in
      found.append(try job(in: record, at: key))
      return true
    }
    return found
  }

  /// The job of an entry.
  func job(in record: Span<UInt8>, at key: Span<UInt8>) throws(StoreError) -> JobRecord {
    StoredJob.decode(record, of: try JournalKey.job(in: key), headers: headers)
  }

  /// The number of the last created job, even if it was removed; 0 before the first. If the entry
  /// is damaged, the highest number in the tables.
  func lastJobNumber(_ transaction: borrowing Transaction) throws(StoreError) -> UInt64 {
    let isThere: Void? = try transaction.withValue(of: Self.lastJobKey, in: meta) { _ in }
    guard isThere != nil else { return 0 }
    let number = try transaction.withValue(of: Self.lastJobKey, in: meta) { record -> UInt64? in
      guard JournalRecord.layout(of: record, for: Self.lastJobKey.span) == .lastJob,
        record.count == JournalRecord.headByteCount + MemoryLayout<UInt64>.size
      else { return nil }
      return record.littleEndian(at: JournalRecord.headByteCount, as: UInt64.self)
    }
    if let number = number ?? nil { return number }
    var last: UInt64 = 0
    for table in [jobs, leftovers] {
      try transaction.scanBackwards(table, before: nil) { key, _ throws(StoreError) in
        last = max(last, try JournalKey.job(in: key).rawValue)
        return false
      }
    }
    return last
  }

  func setLastJobNumber(
    _ number: UInt64, _ transaction: borrowing Transaction
  ) throws(StoreError) {
    var body = [JournalRecord.Layout.lastJob.rawValue]
    body.append(littleEndian: number)
    let record = JournalRecord.encode(body, for: Self.lastJobKey)
    try transaction.put(record, for: Self.lastJobKey, in: meta)
  }

  /// The lines of the chunk at `start`; `nil` if it is damaged or missing.
  func chunk(
    of id: JobID, from start: Int, _ transaction: borrowing Transaction
  ) throws(StoreError) -> [String]? {
    let key = JournalKey.line(id, index: start)
    let lines = try transaction.withValue(of: key, in: lines) { record in
      try? LineChunk.lines(in: record, for: key.span)
    }
    return lines ?? nil
  }

  /// One line of a list; `nil` if the list is damaged.
  func line(
    _ index: Int, of id: JobID, _ transaction: borrowing Transaction
  ) throws(StoreError) -> String? {
    let start = LineChunk.start(of: index)
    let key = JournalKey.line(id, index: start)
    let line = try transaction.withValue(of: key, in: lines) { record in
      try? LineChunk.line(index - start, in: record, for: key.span)
    }
    return line ?? nil
  }

  /// Calls `body` with the outcomes of a job from a line on, in order, until it returns `false`.
  /// Passes ``OutcomeRecord/damaged()`` for a damaged outcome.
  func scanOutcomes(
    of id: JobID, from index: Int, _ transaction: borrowing Transaction,
    _ body: (_ index: Int, _ outcome: Span<UInt8>) throws(StoreError) -> Bool
  ) throws(StoreError) {
    let start = JournalKey.line(id, index: index)
    try transaction.scan(outcomes, from: start) { key, record throws(StoreError) in
      guard let index = try JournalKey.index(in: key, of: id) else { return false }
      guard OutcomeRecord.isIntact(record, for: key) else {
        let damaged = try OutcomeRecord.damaged()
        return try body(index, damaged.span)
      }
      return try body(index, record.extracting(droppingFirst: RecordChecksum.byteCount))
    }
  }

  /// Replaces each damaged outcome of a job by a temporary failure, so that a retry repeats it, and
  /// counts the job's outcomes again, because the kind of the damaged ones is unknown.
  ///
  /// - Returns: the job with its new counts; unchanged if nothing is damaged.
  func repairOutcomes(
    of job: JobRecord, _ transaction: borrowing Transaction
  ) throws(StoreError) -> JobRecord {
    var damaged: [Int] = []
    let start = JournalKey.line(job.id, index: 0)
    try transaction.scan(outcomes, from: start) { key, record throws(StoreError) in
      guard let index = try JournalKey.index(in: key, of: job.id) else { return false }
      if !OutcomeRecord.isIntact(record, for: key) { damaged.append(index) }
      return true
    }
    guard !damaged.isEmpty else { return job }
    for index in damaged {
      let key = JournalKey.line(job.id, index: index)
      let outcome = try OutcomeRecord.encode(.failed(.damagedOutcome), round: job.retries.round)
      try transaction.put(JournalRecord.encode(outcome, for: key), for: key, in: outcomes)
    }
    var repaired = job
    repaired.counts = JobCounts(total: job.counts.total)
    try scanOutcomes(of: job.id, from: 0, transaction) { _, outcome throws(StoreError) in
      if try OutcomeRecord.isStanding(outcome, after: job.retries) {
        repaired.count(try OutcomeRecord.decode(outcome))
      }
      return true
    }
    if job.state == .cancelled {
      repaired.counts.cancelled += repaired.counts.total - repaired.counts.finished
    }
    return repaired
  }
}
