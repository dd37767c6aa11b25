package import ImgWire
import Synchronization

/// The jobs of a data directory: their lists, what became of each line, and their numbers.
///
/// An LMDB environment that the coordinator alone opens. Every group of operations is one
/// transaction that is on the disk when ``apply(_:)`` returns, so an accepted job survives a power
/// cut. One thread applies and restores; any thread reads.
package final class Journal: Sendable {
  /// An environment and its tables, which are of no use for another.
  private struct Opened: Sendable {
    let environment: Environment
    let tables: JournalTables
  }

  private let opened: Mutex<Opened>

  /// The map begins at 1 GiB and doubles when it is full, up to 16 TiB.
  private static let initialMapByteCount = 1 << 30
  private static let mapLimitByteCount = 1 << 44

  /// Opens the journal in `directory`, creates it when there is none, and removes the submissions
  /// that were never sealed: nobody was told that they are accepted. A journal that an older
  /// release has written is upgraded: all of it, durably, or nothing.
  ///
  /// - Throws: ``StoreError/Reason/newerVersion`` when a newer release has written it.
  package convenience init(directory: String) throws(StoreError) {
    try self.init(directory: directory, mapByteCount: Self.initialMapByteCount)
  }

  init(directory: String, mapByteCount: Int) throws(StoreError) {
    let opened = try Self.open(directory, mapByteCount: mapByteCount)
    let tables = opened.tables
    try Self.write(to: opened.environment) { transaction throws(StoreError) in
      var change = JournalChange(tables)
      for job in try tables.allJobs(transaction) where job.state == .submitting {
        try change.remove(job.id, transaction)
      }
    }
    self.opened = Mutex(opened)
  }

  private static func open(
    _ directory: String, mapByteCount: Int
  ) throws(StoreError) -> Opened {
    var options = Environment.Options(content: .jobs)
    options.mapByteCount = mapByteCount
    let environment = try Environment(directory: directory, options: options)
    let tables = try write(to: environment) { transaction throws(StoreError) in
      try JournalTables(transaction)
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
    try write { transaction, tables throws(StoreError) in
      var change = JournalChange(tables)
      for operation in operations { try change.perform(operation, transaction) }
      try change.complete(transaction)
      try change.removeLeftovers(transaction)
    }
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
        _, encoded throws(StoreError) in
        let record = try JSONRecord.decode(JobRecord.self, from: encoded)
        if record.state != .submitting { found.append(record) }
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

  /// Whether somebody has removed or replaced the files. What is applied from then on is lost when
  /// the process ends, unless ``restore()`` comes first.
  package var isDetached: Bool { environment.isDetached }

  /// Writes the journal into its directory anew, after the files there were removed, and goes on in
  /// the new ones: nothing that was applied is lost. Submissions that are not sealed stay as well.
  ///
  /// - Throws: ``StoreError/Reason/replaced`` when there is another journal in the directory by now.
  ///   After every error the journal still works, on files that nobody else sees.
  package func restore() throws(StoreError) {
    let removed = environment
    try removed.restoreFiles()
    let restored: Opened
    do throws(StoreError) {
      restored = try Self.open(removed.directory, mapByteCount: removed.mapByteCount)
    } catch {
      removed.withdrawRestoredFiles()
      throw error
    }
    opened.withLock { $0 = restored }
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
