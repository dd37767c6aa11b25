package import ImgModel

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
          : try lines.line(index, in: self, transaction)
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
    var lines = CurrentChunk(job)
    for position in index..<end {
      let url = try lines.line(position, in: self, transaction) ?? ""
      page.entries.append(
        ResultPage.Entry(index: position, url: url, outcome: outcomes[position]))
    }
    page.next = end < job.counts.total ? end : nil
    return page
  }

  fileprivate func failures(
    of job: JobRecord, from index: Int, limit: Int, _ transaction: borrowing Transaction
  ) throws(StoreError) -> ResultPage {
    var page = ResultPage()
    var lines = CurrentChunk(job)
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
        let url = try lines.line(found, in: self, transaction) ?? ""
        page.entries.append(ResultPage.Entry(index: found, url: url, outcome: outcome))
      }
      return true
    }
    return page
  }
}

/// The last chunk that was read, because lines are mostly read in order.
private struct CurrentChunk {
  private let job: JobID
  private var start = -1
  /// Empty if the chunk is damaged.
  private var lines: [String] = []

  init(_ job: JobRecord) {
    self.job = job.id
  }

  /// `nil` if the list is damaged.
  mutating func line(
    _ index: Int, in tables: JournalTables, _ transaction: borrowing Transaction
  ) throws(StoreError) -> String? {
    let wanted = LineChunk.start(of: index)
    if wanted != start {
      lines = try tables.chunk(of: job, from: wanted, transaction) ?? []
      start = wanted
    }
    return index - start < lines.count ? lines[index - start] : nil
  }
}
