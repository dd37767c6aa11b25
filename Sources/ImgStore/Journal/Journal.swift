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
  package static let reservedByteCount = 4 << 20

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

  /// Makes removed files again, with all jobs and their secrets. For the thread that applies.
  ///
  /// - Throws: ``StoreError/Reason/replaced`` if another journal is in the directory. After any error, this
  ///   can be called again.
  package func restore() throws(StoreError) {
    let gone = environment
    try gone.restoreDirectory()
    try headers.restore()
    let restored = try gone.restoreFiles { () throws(StoreError) in
      try Self.open(gone.directory, mapByteCount: gone.mapByteCount, headers: headers)
    }
    opened.withLock { $0 = restored }
  }

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

/// Reads lists in pages, each on its own snapshot, which ends when the call returns.
extension Journal {
  /// The lines at `positions` without an outcome. A job that is not active has none.
  ///
  /// Position 0 is the first line in `order`. Positions behind the end of the list are empty.
  ///
  /// - Parameters:
  ///   - positions: at least one range, in ascending order.
  ///   - limit: the maximum number of lines; fewer if their text is long.
  package func urls(
    of id: JobID, positions: [Range<Int>], order: LineOrder, limit: Int
  ) throws(StoreError) -> URLPage {
    guard let first = positions.first, let last = positions.last else {
      preconditionFailure("a page of no positions")
    }
    precondition(first.lowerBound >= 0 && limit > 0)
    return try read { transaction, tables throws(StoreError) in
      guard let job = try tables.job(id, transaction), job.isActive else {
        return URLPage(next: last.upperBound)
      }
      let waiting = order.lines(at: job.lowWater..<job.counts.total, of: job.counts.total)
      var page = URLPage(next: first.lowerBound)
      var lines = CurrentChunk(job)
      var textByteCount = 0
      for range in positions where page.entries.count < limit {
        let sought = range.clamped(to: waiting)
        page.next = sought.lowerBound
        try tables.addOpenLines(
          of: job, positions: sought, order: order, limit, to: &page, &textByteCount, &lines,
          transaction)
        guard page.next == sought.upperBound else { return page }
        page.next = range.upperBound
      }
      return page
    }
  }

  /// The lines from `index` on with their outcomes, or only those with a failure that no retry has
  /// reopened.
  ///
  /// - Parameter limit: the maximum number of lines.
  package func results(
    of id: JobID, from index: Int, limit: Int, isFailedOnly: Bool
  ) throws(StoreError) -> ResultPage {
    precondition(index >= 0 && limit > 0)
    return try read { transaction, tables throws(StoreError) in
      guard let job = try tables.job(id, transaction), index < job.counts.total else {
        return ResultPage()
      }
      return isFailedOnly
        ? try tables.failures(of: job, from: index, limit: limit, transaction)
        : try tables.allResults(of: job, from: index, limit: limit, transaction)
    }
  }
}

/// Reads the parts of pages.
extension JournalTables {
  /// The maximum number of lines that one call examines, which bounds its time.
  private static let examinedMaximum = 1 << 16
  /// The text size at which a page ends, which bounds pages of long URLs.
  private static let textMaximumByteCount = 256 << 10

  /// The number of lines whose outcomes are looked up together. It is small, so that little is read
  /// behind the end of a full page.
  private static let spanLineCount = 1_024

  /// - Parameter sought: consecutive positions of the list, from the page's next on.
  fileprivate func addOpenLines(
    of job: JobRecord, positions sought: Range<Int>, order: LineOrder, _ limit: Int,
    to page: inout URLPage, _ textByteCount: inout Int, _ lines: inout CurrentChunk,
    _ transaction: borrowing Transaction
  ) throws(StoreError) {
    let total = job.counts.total
    let end = min(sought.upperBound, sought.lowerBound + Self.examinedMaximum)
    while page.next < end {
      let span = page.next..<min(end, page.next + Self.spanLineCount)
      let spanLines = order.lines(at: span, of: total)
      let isOpen = try openness(of: spanLines, in: job, transaction)
      for position in span {
        let index = order.line(at: position, of: total)
        guard isOpen[index - spanLines.lowerBound] else { continue }
        let url =
          sought.count == 1
          ? try line(index, of: job.id, transaction)
          : try lines.line(index, in: self, transaction)?.text
        page.entries.append(URLPage.Entry(index: index, url: url))
        textByteCount += url?.utf8.count ?? 0
        if page.entries.count == limit || textByteCount >= Self.textMaximumByteCount {
          page.next = position + 1
          return
        }
      }
      page.next = span.upperBound
    }
  }

  /// Which of consecutive lines have no valid outcome.
  private func openness(
    of lines: Range<Int>, in job: JobRecord, _ transaction: borrowing Transaction
  ) throws(StoreError) -> [Bool] {
    var isOpen = [Bool](repeating: true, count: lines.count)
    try scanOutcomes(of: job.id, from: lines.lowerBound, transaction) {
      index, record throws(StoreError) in
      guard index < lines.upperBound else { return false }
      isOpen[index - lines.lowerBound] =
        try !OutcomeRecord.isStanding(record, after: job.retries)
      return true
    }
    return isOpen
  }

  fileprivate func allResults(
    of job: JobRecord, from index: Int, limit: Int, _ transaction: borrowing Transaction
  ) throws(StoreError) -> ResultPage {
    let end = min(job.counts.total, index + min(limit, Self.examinedMaximum))
    var outcomes: [Int: Outcome] = [:]
    try scanOutcomes(of: job.id, from: index, transaction) {
      found, record throws(StoreError) in
      guard found < end else { return false }
      if try OutcomeRecord.isStanding(record, after: job.retries) {
        outcomes[found] = try OutcomeRecord.decode(record)
      }
      return true
    }
    var page = ResultPage()
    var lines = CurrentChunk(job, includesColumns: true)
    for position in index..<end {
      let line = try lines.line(position, in: self, transaction)
      page.entries.append(LineResult(index: position, line ?? .lost, outcomes[position]))
    }
    page.next = end < job.counts.total ? end : nil
    return page
  }

  fileprivate func failures(
    of job: JobRecord, from index: Int, limit: Int, _ transaction: borrowing Transaction
  ) throws(StoreError) -> ResultPage {
    var page = ResultPage()
    var lines = CurrentChunk(job, includesColumns: true)
    var examinedCount = 0
    try scanOutcomes(of: job.id, from: index, transaction) {
      found, record throws(StoreError) in
      guard page.entries.count < limit, examinedCount < Self.examinedMaximum else {
        page.next = found
        return false
      }
      examinedCount += 1
      if OutcomeRecord.isFailure(record),
        try OutcomeRecord.isStanding(record, after: job.retries)
      {
        let outcome = try OutcomeRecord.decode(record)
        let line = try lines.line(found, in: self, transaction)
        page.entries.append(LineResult(index: found, line ?? .lost, outcome))
      }
      return true
    }
    return page
  }
}

/// Lines of a job without an outcome, in the job's order.
package struct URLPage: Hashable, Sendable {
  package struct Entry: Hashable, Sendable {
    package let index: Int
    /// The line as submitted; `nil` if the list is damaged.
    package let url: String?
  }

  package var entries: [Entry] = []
  /// The position of the next page; the end of the requested positions after the last page. A page
  /// may be empty without being the last one.
  package var next: Int
}

/// Lines of a job with their outcomes.
package struct ResultPage: Hashable, Sendable {
  /// A line whose list is damaged has an empty text. The outcome is `nil` if there is none yet, if the job was cancelled
  /// before, or if a retry has reopened the failure.
  package var entries: [LineResult] = []
  /// The index of the next page; `nil` at the end of the list. A page may be empty without being
  /// the last one.
  package var next: Int?
}

extension ListLine {
  /// A line whose list is damaged.
  fileprivate static let lost = ListLine("")
}
