package import ImgWire

/// The jobs of a data directory: their lists, what became of each line, and their numbers.
///
/// An LMDB environment that the coordinator alone opens. Every group of operations is one
/// transaction that is on the disk when ``apply(_:)`` returns, so an accepted job survives a power
/// cut. One thread applies; any thread reads.
package final class Journal: Sendable {
  let environment: Environment
  let tables: JournalTables

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
    var options = Environment.Options(content: .jobs)
    options.mapByteCount = mapByteCount
    environment = try Environment(directory: directory, options: options)
    tables = try Self.write(to: environment) { transaction throws(StoreError) in
      let tables = try JournalTables(transaction)
      var change = JournalChange(tables)
      for job in try tables.allJobs(transaction) where job.state == .submitting {
        try change.remove(job.id, transaction)
      }
      return tables
    }
  }

  /// Applies a group of operations in their order: all of them, durably, or none.
  ///
  /// Operations of jobs that are gone change nothing, nor do those that come too late for the state
  /// of their job. Each call also removes a part of what is left of removed jobs.
  ///
  /// - Throws: ``StoreError/Reason/full`` when the disk is; `MDB_NOTFOUND` for the seal of a job
  ///   that was never created, `MDB_BAD_VALSIZE` for a line longer than a URL can be.
  package func apply(_ operations: [JournalOperation]) throws(StoreError) {
    try Self.write(to: environment) { transaction throws(StoreError) in
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
    try Self.write(to: environment) { transaction throws(StoreError) in
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
    return try environment.read { transaction throws(StoreError) in
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
    try environment.read { transaction throws(StoreError) in
      try tables.allJobs(transaction).filter(\.isActive)
    }
  }

  package func job(_ id: JobID) throws(StoreError) -> JobRecord? {
    try environment.read { transaction throws(StoreError) in
      try tables.job(id, transaction)
    }
  }

  /// A number that no job of this directory has had, removed ones included. It stays the same until
  /// a job is created.
  package func nextJobID() throws(StoreError) -> JobID {
    try environment.read { transaction throws(StoreError) in
      JobID(rawValue: try tables.lastJobNumber(transaction) + 1)
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
