package import ImgWire

/// Lists are read in pages, each on a snapshot of its own that is gone when the call returns.
extension Journal {
  /// Lines that one call looks at, so that a call is short however rare what it looks for.
  private static let examinedMaximum = 1 << 16
  /// Text of lines at which a page of them ends, so that a page of the longest URLs is no burden.
  private static let textMaximumByteCount = 256 << 10

  /// The lines from `index` on that have no outcome. A job that has ended has none.
  ///
  /// - Parameter limit: how many at most; fewer when their text is long.
  package func urls(
    of id: JobID, from index: Int, limit: Int
  ) throws(StoreError) -> URLPage {
    precondition(index >= 0 && limit > 0)
    return try environment.read { transaction throws(StoreError) in
      var page = URLPage()
      guard let job = try tables.job(id, transaction), job.state != .cancelled else { return page }
      let start = max(index, job.lowWater)
      let end = min(job.counts.total, start + Self.examinedMaximum)
      guard start < end else { return page }
      var isOpen = [Bool](repeating: true, count: end - start)
      try tables.scanOutcomes(of: id, from: start, transaction) { found, _ in
        guard found < end else { return false }
        isOpen[found - start] = false
        return true
      }
      var lines = CurrentChunk(job)
      var textByteCount = 0
      for position in start..<end where isOpen[position - start] {
        guard page.entries.count < limit, textByteCount < Self.textMaximumByteCount else {
          page.next = position
          return page
        }
        let url = try lines.line(position, in: tables, transaction)
        page.entries.append(URLPage.Entry(index: position, url: url))
        textByteCount += url.utf8.count
      }
      page.next = end < job.counts.total ? end : nil
      return page
    }
  }

  /// The lines from `index` on with their outcomes, or of them those that have failed.
  ///
  /// - Parameter limit: how many at most.
  package func results(
    of id: JobID, from index: Int, limit: Int, isFailedOnly: Bool
  ) throws(StoreError) -> ResultPage {
    precondition(index >= 0 && limit > 0)
    return try environment.read { transaction throws(StoreError) in
      guard let job = try tables.job(id, transaction), index < job.counts.total else {
        return ResultPage()
      }
      return isFailedOnly
        ? try failures(of: job, from: index, limit: limit, transaction)
        : try allResults(of: job, from: index, limit: limit, transaction)
    }
  }

  private func allResults(
    of job: JobRecord, from index: Int, limit: Int, _ transaction: borrowing Transaction
  ) throws(StoreError) -> ResultPage {
    let end = min(job.counts.total, index + min(limit, Self.examinedMaximum))
    var outcomes: [Int: Outcome] = [:]
    try tables.scanOutcomes(of: job.id, from: index, transaction) {
      found, record throws(StoreError) in
      guard found < end else { return false }
      outcomes[found] = try OutcomeRecord.decode(record)
      return true
    }
    var page = ResultPage()
    var lines = CurrentChunk(job)
    for position in index..<end {
      let url = try lines.line(position, in: tables, transaction)
      page.entries.append(
        ResultPage.Entry(index: position, url: url, outcome: outcomes[position]))
    }
    page.next = end < job.counts.total ? end : nil
    return page
  }

  private func failures(
    of job: JobRecord, from index: Int, limit: Int, _ transaction: borrowing Transaction
  ) throws(StoreError) -> ResultPage {
    var page = ResultPage()
    var lines = CurrentChunk(job)
    var examinedCount = 0
    try tables.scanOutcomes(of: job.id, from: index, transaction) {
      found, record throws(StoreError) in
      guard page.entries.count < limit, examinedCount < Self.examinedMaximum else {
        page.next = found
        return false
      }
      examinedCount += 1
      if OutcomeRecord.isFailure(record) {
        let outcome = try OutcomeRecord.decode(record)
        let url = try lines.line(found, in: tables, transaction)
        page.entries.append(ResultPage.Entry(index: found, url: url, outcome: outcome))
      }
      return true
    }
    return page
  }
}

/// The chunk of a list that was read last: neighbours are mostly asked for one after the other.
private struct CurrentChunk {
  private let job: JobID
  private var start = -1
  private var lines: [String] = []

  init(_ job: JobRecord) {
    self.job = job.id
  }

  mutating func line(
    _ index: Int, in tables: JournalTables, _ transaction: borrowing Transaction
  ) throws(StoreError) -> String {
    let wanted = LineChunk.start(of: index)
    if wanted != start {
      lines = try tables.chunk(of: job, from: wanted, transaction)
      start = wanted
    }
    guard index - start < lines.count else {
      throw StoreError(.corrupted, operation: "reading line \(index) of job \(job)")
    }
    return lines[index - start]
  }
}
