import ImgWire

/// The tables of the journal and how single entries are read from them.
struct JournalTables: Sendable {
  /// Job → ``JobRecord`` in JSON.
  let jobs: Database
  /// Job and first index → ``LineChunk``.
  let lines: Database
  /// Job and index → ``OutcomeRecord``.
  let outcomes: Database
  /// Jobs that are gone but whose lines and outcomes are not yet.
  let leftovers: Database
  /// Schema version and the last job's number.
  let meta: Database

  private static let version = SchemaVersion(number: 2)
  private static let lastJobKey = Array("last_job".utf8)

  /// Opens the tables, creates what does not exist yet, and upgrades what an older release wrote.
  init(_ transaction: borrowing Transaction) throws(StoreError) {
    meta = try transaction.openDatabase("meta", isCreated: true)
    let found = try Self.version.establish(in: meta, transaction)
    jobs = try transaction.openDatabase("jobs", isCreated: true)
    lines = try transaction.openDatabase("lines", isCreated: true)
    outcomes = try transaction.openDatabase("outcomes", isCreated: true)
    leftovers = try transaction.openDatabase("leftovers", isCreated: true)
    if found == JournalUpgrade.sourceVersion { try JournalUpgrade(self).run(transaction) }
  }

  func job(_ id: JobID, _ transaction: borrowing Transaction) throws(StoreError) -> JobRecord? {
    try transaction.withValue(of: JournalKey.job(id), in: jobs) { record throws(StoreError) in
      try JSONRecord.decode(JobRecord.self, from: record)
    }
  }

  func allJobs(_ transaction: borrowing Transaction) throws(StoreError) -> [JobRecord] {
    var found: [JobRecord] = []
    try transaction.scan(jobs) { _, record throws(StoreError) in
      found.append(try JSONRecord.decode(JobRecord.self, from: record))
      return true
    }
    return found
  }

  /// The number of the job created last, whether or not it still exists; 0 before the first.
  func lastJobNumber(_ transaction: borrowing Transaction) throws(StoreError) -> UInt64 {
    try transaction.withValue(of: Self.lastJobKey, in: meta) { value throws(StoreError) in
      guard value.count == MemoryLayout<UInt64>.size else {
        throw StoreError(.corrupted, operation: "reading the last job's number")
      }
      return value.littleEndian(at: 0, as: UInt64.self)
    } ?? 0
  }

  func setLastJobNumber(
    _ number: UInt64, _ transaction: borrowing Transaction
  ) throws(StoreError) {
    var value: [UInt8] = []
    value.append(littleEndian: number)
    try transaction.put(value, for: Self.lastJobKey, in: meta)
  }

  /// The lines of the chunk that begins at `start`; none when there is no such chunk.
  func chunk(
    of id: JobID, from start: Int, _ transaction: borrowing Transaction
  ) throws(StoreError) -> [String] {
    let key = JournalKey.line(id, index: start)
    return try transaction.withValue(of: key, in: lines) { chunk throws(StoreError) in
      try LineChunk.lines(in: chunk)
    } ?? []
  }

  /// One line of a list.
  func line(
    _ index: Int, of id: JobID, _ transaction: borrowing Transaction
  ) throws(StoreError) -> String {
    let start = LineChunk.start(of: index)
    let key = JournalKey.line(id, index: start)
    let line = try transaction.withValue(of: key, in: lines) { chunk throws(StoreError) in
      try LineChunk.line(index - start, in: chunk)
    }
    guard let line = line ?? nil else {
      throw StoreError(.corrupted, operation: "reading line \(index) of job \(id)")
    }
    return line
  }

  /// Lends the outcomes of a job from a line on, in the order of the lines, until `body` says
  /// `false`.
  func scanOutcomes(
    of id: JobID, from index: Int, _ transaction: borrowing Transaction,
    _ body: (_ index: Int, _ record: Span<UInt8>) throws(StoreError) -> Bool
  ) throws(StoreError) {
    let start = JournalKey.line(id, index: index)
    try transaction.scan(outcomes, from: start) { key, record throws(StoreError) in
      guard let index = try JournalKey.index(in: key, of: id) else { return false }
      return try body(index, record)
    }
  }
}
