package import ImgModel
import Synchronization

/// The jobs of a data directory: their lists, outcomes and numbers.
///
/// An LMDB environment that only the coordinator opens. Every group of operations is one
/// transaction, which is on the disk when ``apply(_:)`` returns. So an accepted job survives a
/// power cut. One thread applies; any thread reads.
package final class Journal: Sendable {
  /// An environment and its tables, which belong together.
  private struct Opened: Sendable {
    let environment: Environment
    let tables: JournalTables
  }

  private let opened: Mutex<Opened>
  private let headers: JobHeaders
  /// The jobs whose records were damaged when the journal was opened.
  package let damagedJobs: [JobID]

  /// The map starts with 1 GiB and doubles when it is full, up to 16 TiB.
  private static let initialMapByteCount = 1 << 30
  private static let mapLimitByteCount = 1 << 44
  /// A smaller file is not worth a copy.
  private static let compactionMinimumByteCount = 4 << 20

  /// Opens or creates the journal in `directory`. Removes unsealed submissions, which were never
  /// accepted, and repairs damaged outcomes of active jobs.
  ///
  /// - Throws: ``StoreError/Reason/newerVersion`` or ``StoreError/Reason/olderVersion`` when
  ///   another release has written it.
  package convenience init(directory: String) throws(StoreError) {
    try self.init(directory: directory, mapByteCount: Self.initialMapByteCount)
  }

  init(directory: String, mapByteCount: Int) throws(StoreError) {
    headers = JobHeaders(in: directory)
    Environment.removeCopy(in: directory)
    let opened = try Self.open(directory, mapByteCount: mapByteCount, headers: headers)
    let tables = opened.tables
    let jobs = try Self.write(to: opened.environment) { transaction throws(StoreError) in
      var change = JournalChange(tables)
      let jobs = try tables.allJobs(transaction)
      for job in jobs {
        if job.state == .submitting { try change.remove(job.id, transaction) }
        guard job.isActive else { continue }
        let repaired = try tables.repairOutcomes(of: job, transaction)
        if repaired != job { try tables.put(repaired, transaction) }
      }
      return jobs.filter { $0.state != .submitting }
    }
    headers.load(of: Set(jobs.map(\.id)))
    damagedJobs = jobs.filter { $0.state == .damaged }.map(\.id)
    self.opened = Mutex(opened)
  }

  /// Opens the journal only for reading, if no coordinator runs. Creates, repairs and removes
  /// nothing. The caller must not change it.
  ///
  /// - Throws: ``StoreError/Reason/absent`` if there is none, and the errors of
  ///   ``init(directory:)``.
  package init(readingIn directory: String) throws(StoreError) {
    let headers = JobHeaders(in: directory)
    var options = Environment.Options(content: .jobs)
    options.isReadOnly = true
    let environment = try Environment(directory: directory, options: options)
    let tables = try environment.read { transaction throws(StoreError) in
      try JournalTables(reading: transaction, headers: headers)
    }
    headers.loadAll()
    self.headers = headers
    damagedJobs = []
    opened = Mutex(Opened(environment: environment, tables: tables))
  }

  private static func open(
    _ directory: String, mapByteCount: Int, headers: JobHeaders
  ) throws(StoreError) -> Opened {
    var options = Environment.Options(content: .jobs)
    options.mapByteCount = mapByteCount
    let environment = try Environment(directory: directory, options: options)
    let tables = try write(to: environment) { transaction throws(StoreError) in
      try JournalTables(transaction, headers: headers)
    }
    return Opened(environment: environment, tables: tables)
  }

  var environment: Environment { opened.withLock(\.environment) }
  var tables: JournalTables { opened.withLock(\.tables) }

  /// Applies a group of operations in order: all of them, durably, or none.
  ///
  /// Operations of removed jobs have no effect, nor do those that are too late for the state of
  /// their job. Each call also removes a part of the leftovers of removed jobs.
  ///
  /// - Throws: ``StoreError/Reason/full`` if the disk is full; `MDB_NOTFOUND` for sealing an
  ///   unknown job; `MDB_BAD_VALSIZE` for a line longer than a URL.
  package func apply(_ operations: [JournalOperation]) throws(StoreError) {
    for case .createJob(let job) in operations where !job.secrets.isEmpty {
      try headers.add(job.secrets, of: job.id)
    }
    let goneJobs: Set<JobID>
    do throws(StoreError) {
      goneJobs = try write(operations, removingLeftovers: true)
    } catch {
      // The leftovers of a removed job may be damaged. They must not prevent other changes.
      guard error.reason == .damaged else { throw error }
      goneJobs = try write(operations, removingLeftovers: false)
    }
    for id in goneJobs { headers.erase(id) }
  }

  /// - Returns: the removed jobs.
  private func write(
    _ operations: [JournalOperation], removingLeftovers: Bool
  ) throws(StoreError) -> Set<JobID> {
    try write { transaction, tables throws(StoreError) in
      var change = JournalChange(tables)
      for operation in operations { try change.perform(operation, transaction) }
      try change.complete(transaction)
      if removingLeftovers { try change.removeLeftovers(transaction) }
      return change.goneJobs
    }
  }

  /// The disk space reserved for outcomes and changes of accepted jobs: enough for some 20,000
  /// URLs.
  private static let reservedByteCount = 4 << 20

  /// Reserves disk space for outcomes and changes of accepted jobs, so that they can be written to
  /// a full disk. For the thread that applies.
  ///
  /// - Parameter listByteCount: the size of the lists that are written next.
  /// - Throws: ``StoreError/Reason/full`` if the disk does not have this space in addition to the
  ///   lists.
  package func reserveRoom(besideLists listByteCount: Int = 0) throws(StoreError) {
    try environment.reserveRoom(byteCount: Self.reservedByteCount, beside: listByteCount)
  }

  /// Removes a part of the leftovers of removed jobs.
  ///
  /// - Returns: whether there may be more.
  package func removeLeftovers() throws(StoreError) -> Bool {
    try write { transaction, tables throws(StoreError) in
      try JournalChange(tables).removeLeftovers(transaction)
    }
  }

  /// The accepted jobs, newest first.
  ///
  /// - Parameters:
  ///   - id: only older jobs than this one; `nil` for the newest.
  ///   - limit: the maximum number of jobs. Fewer mean that there are no older ones.
  package func jobs(
    before id: JobID? = nil, limit: Int
  ) throws(StoreError) -> [JobRecord] {
    precondition(limit > 0)
    return try read { transaction, tables throws(StoreError) in
      var found: [JobRecord] = []
      try transaction.scanBackwards(tables.jobs, before: id.map(JournalKey.job)) {
        key, encoded throws(StoreError) in
        let record = try tables.job(in: encoded, at: key)
        if record.state != .submitting { found.append(record) }
        return found.count < limit
      }
      return found
    }
  }

  /// Jobs of all states in the order of submission.
  ///
  /// - Parameters:
  ///   - id: only newer jobs than this one; `nil` for the oldest.
  ///   - limit: the maximum number of jobs. Fewer mean that there are no newer ones.
  package func jobs(after id: JobID?, limit: Int) throws(StoreError) -> [JobRecord] {
    precondition(limit > 0)
    let start = id.map { JournalKey.job(JobID(rawValue: $0.rawValue + 1)) } ?? []
    return try read { transaction, tables throws(StoreError) in
      var found: [JobRecord] = []
      try transaction.scan(tables.jobs, from: start) { key, record throws(StoreError) in
        found.append(try tables.job(in: record, at: key))
        return found.count < limit
      }
      return found
    }
  }

  /// The accepted jobs that have not ended, including paused ones, in the order of submission.
  /// Reads all jobs, so use it only at the start.
  package func unfinishedJobs() throws(StoreError) -> [JobRecord] {
    try read { transaction, tables throws(StoreError) in
      try tables.allJobs(transaction).filter(\.isActive)
    }
  }

  package func job(_ id: JobID) throws(StoreError) -> JobRecord? {
    try read { transaction, tables throws(StoreError) in
      try tables.job(id, transaction)
    }
  }

  /// A number that no job of this directory has had, including removed ones. It stays the same
  /// until a job is created.
  package func nextJobID() throws(StoreError) -> JobID {
    try read { transaction, tables throws(StoreError) in
      JobID(rawValue: try tables.lastJobNumber(transaction) + 1)
    }
  }

  // MARK: - The files

  /// Whether another process has removed or replaced the files. What is applied from then on is
  /// lost when this process ends.
  package var isDetached: Bool { environment.isDetached }

  /// Whether more than half of the file is free pages and it is large enough for a compaction.
  package func isMostlyFree() throws(StoreError) -> Bool {
    let (all, free) = try environment.pageUse()
    return all > Self.compactionMinimumByteCount && free > all / 2
  }

  /// Frees the disk space of free pages: replaces the file by a copy without them, and continues
  /// with the copy. Takes the time to write the used pages.
  ///
  /// - Throws: ``StoreError/Reason/full`` if the disk has no space for the copy. After any error,
  ///   the journal is unchanged.
  package func compact() throws(StoreError) {
    let large = environment
    let small = try large.compactFiles { () throws(StoreError) in
      try Self.open(large.directory, mapByteCount: large.mapByteCount, headers: headers)
    }
    opened.withLock { $0 = small }
  }

  // MARK: - Transactions

  func read<Result>(
    _ body: (borrowing Transaction, JournalTables) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let opened = opened.withLock { $0 }
    return try opened.environment.read { transaction throws(StoreError) in
      try body(transaction, opened.tables)
    }
  }

  private func write<Result>(
    _ body: (borrowing Transaction, JournalTables) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let opened = opened.withLock { $0 }
    return try Self.write(to: opened.environment) { transaction throws(StoreError) in
      try body(transaction, opened.tables)
    }
  }

  /// Runs a transaction. Repeats it with a larger map while it does not fit.
  private static func write<Result>(
    to environment: Environment,
    _ body: (borrowing Transaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    while true {
      do throws(StoreError) {
        return try environment.write(body)
      } catch {
        guard error.code == .mapFull else { throw error }
        try environment.growMap(limitByteCount: mapLimitByteCount)
      }
    }
  }
}
