package import ImgModel
import Synchronization

/// The jobs of a data directory: their lists, what became of each line, and their numbers.
///
/// An LMDB environment that the coordinator alone opens. Every group of operations is one
/// transaction that is on the disk when ``apply(_:)`` returns, so an accepted job survives a power
/// cut. One thread applies; any thread reads.
package final class Journal: Sendable {
  /// An environment and its tables, which are of no use for another.
  private struct Opened: Sendable {
    let environment: Environment
    let tables: JournalTables
  }

  private let opened: Mutex<Opened>
  private let headers: JobHeaders
  /// Jobs whose records were found damaged when the journal was opened.
  package let damagedJobs: [JobID]

  /// The map begins at 1 GiB and doubles when it is full, up to 16 TiB.
  private static let initialMapByteCount = 1 << 30
  private static let mapLimitByteCount = 1 << 44
  /// A smaller file is not worth a copy.
  private static let compactionMinimumByteCount = 4 << 20

  /// Opens the journal in `directory`, creates it when there is none, and removes the submissions
  /// that were never sealed: nobody was told that they are accepted. Damaged outcomes of jobs that
  /// go on are repaired.
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

  /// Opens the journal for reading alone, where no coordinator runs: creates, repairs and removes
  /// nothing. What changes it is not called then.
  ///
  /// - Throws: ``StoreError/Reason/absent`` when there is none, and as ``init(directory:)`` does.
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

  /// Applies a group of operations in their order: all of them, durably, or none.
  ///
  /// Operations of jobs that are gone change nothing, nor do those that come too late for the state
  /// of their job. Each call also removes a part of what is left of removed jobs.
  ///
  /// - Throws: ``StoreError/Reason/full`` when the disk is; `MDB_NOTFOUND` for the seal of a job
  ///   that was never created, `MDB_BAD_VALSIZE` for a line longer than a URL can be.
  package func apply(_ operations: [JournalOperation]) throws(StoreError) {
    for case .createJob(let job) in operations where !job.headers.isEmpty {
      try headers.add(job.headers, of: job.id)
    }
    let goneJobs: Set<JobID>
    do throws(StoreError) {
      goneJobs = try write(operations, removingLeftovers: true)
    } catch {
      // It may be the leftovers of a removed job that are damaged, which must not keep everything
      // else from being written.
      guard error.reason == .damaged else { throw error }
      goneJobs = try write(operations, removingLeftovers: false)
    }
    for id in goneJobs { headers.erase(id) }
  }

  /// - Returns: the jobs that are removed.
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

  /// What is reserved on the disk for the outcomes and the changes of accepted jobs: those of some
  /// 20,000 URLs.
  private static let reservedByteCount = 4 << 20

  /// Reserves room on the disk for the outcomes and the changes of accepted jobs, so that a disk
  /// that other files have filled takes them. For the thread that applies.
  ///
  /// - Parameter listByteCount: what the lists take that are written next.
  /// - Throws: ``StoreError/Reason/full`` when the disk has no such room beside the lists.
  package func reserveRoom(besideLists listByteCount: Int = 0) throws(StoreError) {
    try environment.reserveRoom(byteCount: Self.reservedByteCount, beside: listByteCount)
  }

  /// Removes a part of what is left of removed jobs.
  ///
  /// - Returns: whether there may be more.
  package func removeLeftovers() throws(StoreError) -> Bool {
    try write { transaction, tables throws(StoreError) in
      try JournalChange(tables).removeLeftovers(transaction)
    }
  }

  /// The accepted jobs, the newest first.
  ///
  /// - Parameters:
  ///   - id: only jobs older than this one; `nil` for the newest.
  ///   - limit: how many at most; fewer mean that there are no older ones.
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

  /// Jobs in the order of submission, whatever their state.
  ///
  /// - Parameters:
  ///   - id: only jobs newer than this one; `nil` for the oldest.
  ///   - limit: how many at most; fewer mean that there are no newer ones.
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

  /// The accepted jobs that have not ended, paused ones included, in the order of submission. Reads
  /// every job there ever was, so it is for the start.
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

  /// A number that no job of this directory has had, removed ones included. It stays the same until
  /// a job is created.
  package func nextJobID() throws(StoreError) -> JobID {
    try read { transaction, tables throws(StoreError) in
      JobID(rawValue: try tables.lastJobNumber(transaction) + 1)
    }
  }

  // MARK: - The files

  /// Whether another process has removed or replaced the files. What is applied from then on is
  /// lost when this process ends.
  package var isDetached: Bool { environment.isDetached }

  /// Whether more than half of the file is free pages, and it is large enough to care.
  package func isMostlyFree() throws(StoreError) -> Bool {
    let (all, free) = try environment.pageUse()
    return all > Self.compactionMinimumByteCount && free > all / 2
  }

  /// Gives the room of free pages back to the disk: puts a copy without them in the place of the
  /// file, and goes on there. Takes as long as it takes to write what is not free.
  ///
  /// - Throws: ``StoreError/Reason/full`` when the disk has no room for the copy; then, as after
  ///   any other failure, the journal is as it was.
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

  /// Runs a transaction, again with a larger map each time it does not fit.
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
