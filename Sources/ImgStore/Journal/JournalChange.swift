import ImgModel

/// The changes of a group of operations during its transaction.
///
/// Each job record is read and written once for each group, independent of the number of outcomes.
struct JournalChange {
  /// The record of a job while a group changes it: an object, so that an outcome changes it in its place.
  private final class Draft {
    var record: JobRecord

    init(_ record: JobRecord) { self.record = record }
  }

  private let tables: JournalTables
  /// The changed records of this group.
  private var jobs: [JobID: Draft] = [:]
  /// The removed jobs, whose data outside the environment the caller removes.
  private(set) var goneJobs: Set<JobID> = []

  /// The maximum number of leftovers that a transaction removes from one table, so that commits are
  /// short.
  private static let leftoverMaximum = 2_048

  /// The maximum number of outcomes over which a group moves a job's low-water mark, so that a
  /// group that fills a gap before millions of outcomes is short. Larger than a group, so that the
  /// mark keeps up.
  static let lowWaterStepMaximum = 1 << 14

  init(_ tables: JournalTables) {
    self.tables = tables
  }

  mutating func perform(
    _ operation: JournalOperation, _ transaction: borrowing Transaction
  ) throws(StoreError) {
    switch operation {
    case .createJob(let record):
      try create(record, transaction)
    case .appendURLs(let id, let lines):
      try append(lines, to: id, transaction)
    case .seal(let id):
      guard let job = try draft(of: id, transaction) else {
        throw StoreError(.notFound, operation: "sealing job \(id)")
      }
      if job.record.state == .submitting { job.record.state = .queued }
    case .discard(let id):
      guard let job = try draft(of: id, transaction) else {
        goneJobs.insert(id)
        return
      }
      if job.record.state == .submitting { try remove(id, transaction) }
    case .start(let id, let moment):
      try updateActive(id, transaction) { $0.startedAt = $0.startedAt ?? moment }
    case .record(let id, let index, let outcome):
      try record(outcome, of: id, index: index, transaction)
    case .finish(let id, let moment):
      try updateActive(id, transaction) { $0.finish(at: moment) }
    case .change(let id, let change, let moment):
      try apply(change, to: id, at: moment, transaction)
    }
  }

  /// Writes the job records that have changed.
  mutating func complete(_ transaction: borrowing Transaction) throws(StoreError) {
    for job in jobs.values { try advanceLowWater(of: job, transaction) }
    for job in jobs.values where job.record.state != .damaged {
      try tables.put(job.record, transaction)
    }
  }

  /// Removes a job. Later commits remove its lines and outcomes, which may be millions, see
  /// ``removeLeftovers(_:)``.
  mutating func remove(
    _ id: JobID, _ transaction: borrowing Transaction
  ) throws(StoreError) {
    jobs[id] = nil
    goneJobs.insert(id)
    let key = JournalKey.job(id)
    try transaction.delete(key, from: tables.jobs)
    try transaction.put([], for: key, in: tables.leftovers)
  }

  /// Removes a part of the leftovers of removed jobs.
  ///
  /// - Returns: whether there may be more.
  @discardableResult
  func removeLeftovers(_ transaction: borrowing Transaction) throws(StoreError) -> Bool {
    var first: JobID?
    try transaction.scan(tables.leftovers) { key, _ in
      first = JobID(rawValue: key.bigEndian(at: 0, as: UInt64.self))
      return false
    }
    guard let id = first else { return false }
    for table in [tables.lines, tables.outcomes] {
      var keys: [[UInt8]] = []
      let start = JournalKey.line(id, index: 0)
      try transaction.scan(table, from: start) { key, _ throws(StoreError) in
        guard try JournalKey.index(in: key, of: id) != nil else { return false }
        keys.append(key.copy())
        return keys.count < Self.leftoverMaximum
      }
      for key in keys { try transaction.delete(key, from: table) }
      guard keys.count < Self.leftoverMaximum else { return true }
    }
    try transaction.delete(JournalKey.job(id), from: tables.leftovers)
    return true
  }

  // MARK: - Operations

  private mutating func create(
    _ record: JobRecord, _ transaction: borrowing Transaction
  ) throws(StoreError) {
    let isNew = try transaction.insert(
      StoredJob.encode(record), for: JournalKey.job(record.id), in: tables.jobs)
    guard isNew else { throw StoreError(.keyExists, operation: "creating job \(record.id)") }
    jobs[record.id] = Draft(record)
    let last = try tables.lastJobNumber(transaction)
    if record.id.rawValue > last {
      try tables.setLastJobNumber(record.id.rawValue, transaction)
    }
  }

  private mutating func append(
    _ lines: ListLines, to id: JobID, _ transaction: borrowing Transaction
  ) throws(StoreError) {
    guard let job = try draft(of: id, transaction), job.record.state == .submitting else { return }
    if !lines.columns.isEmpty {
      let key = ColumnRun.key(id, index: job.record.counts.total)
      try transaction.put(ColumnRun.encode(lines.columns, for: key), for: key, in: tables.lines)
    }
    var rest = lines.texts.indices
    while !rest.isEmpty {
      let total = job.record.counts.total
      let start = LineChunk.start(of: total)
      let key = JournalKey.line(id, index: start)
      var chunk: [UInt8] = []
      if total > start {
        let present = try transaction.withValue(of: key, in: tables.lines) {
          record throws(StoreError) in
          try LineChunk.content(of: record, for: key.span)
        }
        chunk = present ?? []
      }
      let added = rest.prefix(start + LineChunk.lineCount - total)
      try LineChunk.append(added, of: lines, to: &chunk)
      try transaction.put(LineChunk.encode(chunk, for: key), for: key, in: tables.lines)
      job.record.counts.total += added.count
      if let count = job.record.counts.localFiles {
        job.record.counts.localFiles =
          count + added.count { ImageURL.isReadByCommand(line: lines.texts[$0]) }
      }
      rest = rest.dropFirst(added.count)
    }
  }

  /// A late outcome of an ended or removed job has no effect, nor has a second one of a line,
  /// unless a retry has reopened the first one.
  private mutating func record(
    _ outcome: Outcome, of id: JobID, index: Int, _ transaction: borrowing Transaction
  ) throws(StoreError) {
    guard let job = try draft(of: id, transaction), job.record.isActive else { return }
    precondition((0..<job.record.counts.total).contains(index), "the list has no line \(index)")
    let key = JournalKey.line(id, index: index)
    let encoded = JournalRecord.encode(
      OutcomeRecord.encode(outcome, round: job.record.retries.round), for: key)
    if try !transaction.insert(encoded, for: key, in: tables.outcomes) {
      var isStanding = false
      try tables.scanOutcomes(of: id, from: index, transaction) { _, present throws(StoreError) in
        isStanding = try OutcomeRecord.isStanding(present, after: job.record.retries)
        return false
      }
      guard !isStanding else { return }
      try transaction.put(encoded, for: key, in: tables.outcomes)
    }
    job.record.count(outcome)
  }

  /// A change that the job's state refuses is too late and has no effect.
  private mutating func apply(
    _ change: ImageJobChange, to id: JobID, at moment: WallTime,
    _ transaction: borrowing Transaction
  ) throws(StoreError) {
    guard let job = try draft(of: id, transaction) else { return }
    var record = job.record
    if case .retry = change, !record.isActive {
      record = try tables.repairOutcomes(of: record, transaction)
    }
    do throws(JobChangeRefusal) {
      try record.apply(change, at: moment)
    } catch {
      return
    }
    job.record = record
    if change == .remove { try remove(id, transaction) }
  }

  // MARK: - Records

  /// - Returns: `nil` if there is no such job.
  private mutating func draft(
    of id: JobID, _ transaction: borrowing Transaction
  ) throws(StoreError) -> Draft? {
    if let job = jobs[id] { return job }
    guard let job = try tables.job(id, transaction).map(Draft.init) else { return nil }
    jobs[id] = job
    return job
  }

  /// Changes an active job. For others, the change is too late.
  private mutating func updateActive(
    _ id: JobID, _ transaction: borrowing Transaction, _ change: (inout JobRecord) -> Void
  ) throws(StoreError) {
    guard let job = try draft(of: id, transaction), job.record.isActive else { return }
    change(&job.record)
  }

  /// Moves the mark over the valid outcomes that follow it without a gap.
  private func advanceLowWater(
    of job: Draft, _ transaction: borrowing Transaction
  ) throws(StoreError) {
    let former = job.record
    guard former.isActive, former.counts.finished > former.lowWater else { return }
    var mark = former.lowWater
    let end = mark + Self.lowWaterStepMaximum
    try tables.scanOutcomes(of: former.id, from: mark, transaction) {
      index, record throws(StoreError) in
      guard index == mark, mark < end,
        try OutcomeRecord.isStanding(record, after: former.retries)
      else { return false }
      mark += 1
      return true
    }
    job.record.lowWater = mark
  }
}

/// The tables of the journal, and reading of single entries.
struct JournalTables: Sendable {
  /// Job → ``StoredJob``.
  let jobs: Database
  /// Job and first index → ``LineChunk``, and ``ColumnRun`` behind them.
  let lines: Database
  /// Job and index → ``OutcomeRecord``.
  let outcomes: Database
  /// Removed jobs whose lines and outcomes are not yet removed.
  let leftovers: Database
  /// Schema version and the last job's number.
  let meta: Database
  let headers: JobHeaders

  private static let version = SchemaVersion(number: 5)
  /// The oldest schema whose records this one reads. It has no places of lines.
  private static let oldestVersion: UInt32 = 4
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
    guard let found, found < oldestVersion else { return }
    throw StoreError(
      .outdated, operation: "reading schema \(found), older than \(oldestVersion)")
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
  ) throws(StoreError) -> [ListLine]? {
    let key = JournalKey.line(id, index: start)
    let lines = try transaction.withValue(of: key, in: lines) { record in
      try? LineChunk.lines(in: record, for: key.span)
    }
    return lines ?? nil
  }

  /// What a line and others around it have in columns.
  ///
  /// - Returns: the index of the first of these lines, and the columns of each; none if they are damaged or missing.
  func columns(
    of id: JobID, around index: Int, _ transaction: borrowing Transaction
  ) throws(StoreError) -> (start: Int, lines: [LineColumns]) {
    var found: (start: Int, lines: [LineColumns]) = (index, [])
    let end = ColumnRun.key(id, index: index + 1)
    try transaction.scanBackwards(lines, before: end) { key, record in
      if let start = ColumnRun.start(in: key, of: id) {
        found = (start, ColumnRun.columns(in: record, for: key) ?? [])
      }
      return false
    }
    return found
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
        let damaged = OutcomeRecord.damaged()
        return try body(index, damaged.span)
      }
      return try body(index, record.extracting(droppingFirst: RecordChecksum.byteCount))
    }
  }

  /// Replaces each damaged outcome of a job by a temporary failure, so that a retry repeats it, and
  /// counts the job's outcomes again, because the kind of the damaged ones is unknown. So it does for a job
  /// of an earlier release, which did not count failures by their codes.
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
    guard !damaged.isEmpty || !job.counts.areFailuresGrouped else { return job }
    for index in damaged {
      let key = JournalKey.line(job.id, index: index)
      let outcome = OutcomeRecord.encode(.failed(.damagedOutcome), round: job.retries.round)
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
