import ImgModel

/// The changes of a group of operations during its transaction.
///
/// Each job record is read and written once for each group, independent of the number of outcomes.
struct JournalChange {
  private let tables: JournalTables
  /// The changed records of this group.
  private var jobs: [JobID: JobRecord] = [:]
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
      guard try load(id, transaction) else {
        throw StoreError(.notFound, operation: "sealing job \(id)")
      }
      if jobs[id]?.state == .submitting { jobs[id]?.state = .queued }
    case .discard(let id):
      guard try load(id, transaction) else {
        goneJobs.insert(id)
        return
      }
      if jobs[id]?.state == .submitting { try remove(id, transaction) }
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
    for id in jobs.keys { try advanceLowWater(of: id, transaction) }
    for job in jobs.values where job.state != .damaged { try tables.put(job, transaction) }
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
    jobs[record.id] = record
    let last = try tables.lastJobNumber(transaction)
    if record.id.rawValue > last {
      try tables.setLastJobNumber(record.id.rawValue, transaction)
    }
  }

  private mutating func append(
    _ lines: [String], to id: JobID, _ transaction: borrowing Transaction
  ) throws(StoreError) {
    guard try load(id, transaction), var record = jobs[id], record.state == .submitting else {
      return
    }
    var rest = lines[...]
    while !rest.isEmpty {
      let total = record.counts.total
      let start = LineChunk.start(of: total)
      let key = JournalKey.line(id, index: start)
      var chunk: [UInt8] = []
      if total > start {
        let present = try transaction.withValue(of: key, in: tables.lines) {
          record throws(StoreError) in
          try LineChunk.verify(record, for: key.span)
          return record.extracting(droppingFirst: JournalRecord.headByteCount).copy()
        }
        chunk = present ?? []
      }
      let added = rest.prefix(start + LineChunk.lineCount - total)
      for line in added { try LineChunk.append(line, to: &chunk) }
      try transaction.put(LineChunk.encode(chunk, for: key), for: key, in: tables.lines)
      record.counts.total += added.count
      rest = rest.dropFirst(added.count)
    }
    jobs[id] = record
  }

  /// A late outcome of an ended or removed job has no effect, nor has a second one of a line,
  /// unless a retry has reopened the first one.
  private mutating func record(
    _ outcome: Outcome, of id: JobID, index: Int, _ transaction: borrowing Transaction
  ) throws(StoreError) {
    guard try load(id, transaction), let job = jobs[id], job.isActive else { return }
    precondition((0..<job.counts.total).contains(index), "the list has no line \(index)")
    let key = JournalKey.line(id, index: index)
    let encoded = JournalRecord.encode(
      try OutcomeRecord.encode(outcome, round: job.retries.round), for: key)
    if try !transaction.insert(encoded, for: key, in: tables.outcomes) {
      var isStanding = false
      try tables.scanOutcomes(of: id, from: index, transaction) { _, present throws(StoreError) in
        isStanding = try OutcomeRecord.isStanding(present, after: job.retries)
        return false
      }
      guard !isStanding else { return }
      try transaction.put(encoded, for: key, in: tables.outcomes)
    }
    jobs[id]?.count(outcome)
  }

  /// A change that the job's state refuses is too late and has no effect.
  private mutating func apply(
    _ change: JobChange, to id: JobID, at moment: WallTime, _ transaction: borrowing Transaction
  ) throws(StoreError) {
    guard try load(id, transaction), var record = jobs[id] else { return }
    if case .retry = change, !record.isActive {
      record = try tables.repairOutcomes(of: record, transaction)
    }
    do throws(JobChangeRefusal) {
      try record.apply(change, at: moment)
    } catch {
      return
    }
    jobs[id] = record
    if change == .remove { try remove(id, transaction) }
  }

  // MARK: - Records

  /// - Returns: whether the job exists. It is then in `jobs`.
  private mutating func load(
    _ id: JobID, _ transaction: borrowing Transaction
  ) throws(StoreError) -> Bool {
    if jobs[id] == nil { jobs[id] = try tables.job(id, transaction) }
    return jobs[id] != nil
  }

  /// Changes an active job. For others, the change is too late.
  private mutating func updateActive(
    _ id: JobID, _ transaction: borrowing Transaction, _ change: (inout JobRecord) -> Void
  ) throws(StoreError) {
    guard try load(id, transaction), var record = jobs[id], record.isActive else { return }
    change(&record)
    jobs[id] = record
  }

  /// Moves the mark over the valid outcomes that follow it without a gap.
  private mutating func advanceLowWater(
    of id: JobID, _ transaction: borrowing Transaction
  ) throws(StoreError) {
    guard let job = jobs[id], job.isActive, job.counts.finished > job.lowWater else { return }
    var mark = job.lowWater
    let end = mark + Self.lowWaterStepMaximum
    try tables.scanOutcomes(of: id, from: mark, transaction) { index, record throws(StoreError) in
      guard index == mark, mark < end,
        try OutcomeRecord.isStanding(record, after: job.retries)
      else { return false }
      mark += 1
      return true
    }
    jobs[id]?.lowWater = mark
  }
}
